// SPDX-License-Identifier: MIT
#include <prefer/backend/parallel_tasks.hpp>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <support/catch.hpp>

namespace {

struct record {
    std::vector<int> calls;  // of each task
    std::set<std::size_t> workers;
    std::set<std::thread::id> threads;
    bool overlapped = false;  // a worker in two tasks at a time
};

record run(std::size_t workers, std::size_t tasks) {
    record r;
    r.calls.resize(tasks);
    std::mutex lock;
    std::vector<std::atomic<int>> busy(workers);
    prefer::detail::parallel_tasks(workers, tasks, [&](std::size_t task, std::size_t worker) {
        bool const twice = busy.at(worker)++ != 0;
        {
            std::scoped_lock const hold(lock);
            ++r.calls.at(task);
            r.workers.insert(worker);
            r.threads.insert(std::this_thread::get_id());
            r.overlapped = r.overlapped || twice;
        }
        std::this_thread::yield();
        --busy.at(worker);
    });
    return r;
}

TEST_CASE("each task runs once, a worker in one task at a time") {
    for (std::size_t const workers : {1U, 2U, 3U, 16U}) {
        for (std::size_t const tasks : {0U, 1U, 2U, 7U, 500U}) {
            CAPTURE(workers, tasks);
            record const r = run(workers, tasks);
            CHECK(r.calls == std::vector<int>(tasks, 1));
            CHECK(r.threads.size() <= workers);
            CHECK(r.workers.size() == r.threads.size());
            CHECK_FALSE(r.overlapped);
        }
    }
}

TEST_CASE("the caller's thread works alone for one worker, and for one task") {
    std::thread::id const here = std::this_thread::get_id();
    for (record const& r : {run(1, 100), run(8, 1)}) {
        CHECK(r.threads == std::set{here});
        CHECK(r.workers == std::set<std::size_t>{0});
    }
}

TEST_CASE("two workers share the tasks") {
    std::mutex lock;
    std::set<std::thread::id> threads;
    std::atomic<int> arrived{0};
    prefer::detail::parallel_tasks(2, 2, [&](std::size_t, std::size_t) {
        ++arrived;
        while (arrived < 2) std::this_thread::yield();  // neither ends before both have begun
        std::scoped_lock const hold(lock);
        threads.insert(std::this_thread::get_id());
    });
    CHECK(threads.size() == 2);
    CHECK(threads.count(std::this_thread::get_id()) == 1);
}

}  // namespace
