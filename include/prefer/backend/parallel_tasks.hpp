// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace prefer::detail {

/// Threads that are joined when the scope ends, however it ends.
class thread_team {
public:
    thread_team() = default;
    thread_team(thread_team const&) = delete;
    thread_team& operator=(thread_team const&) = delete;

    ~thread_team() {
        for (::std::thread& member : members_) member.join();
    }

    /// Whether a thread for `work` could be started.
    template <class Work>
    bool start(Work const& work) {
        try {
            members_.emplace_back(work);
            return true;
        } catch (::std::system_error const&) {
            return false;
        }
    }

private:
    ::std::vector<::std::thread> members_;
};

/// Calls `work(task, worker)` once for every task below `tasks`, on at most `workers` threads with
/// the caller's (worker 0) as one of them; each takes the next task when it is done with one. No
/// thread is started for a single task; where the system refuses one, the others do its share.
/// `work` must not throw.
template <class Work>
void parallel_tasks(::std::size_t workers, ::std::size_t tasks, Work const& work) {
    ::std::atomic<::std::size_t> next{0};
    auto const run = [&](::std::size_t worker) {
        for (::std::size_t task = next++; task < tasks; task = next++) work(task, worker);
    };
    thread_team team;
    for (::std::size_t worker = 1; worker < ::std::min(workers, tasks); ++worker) {
        if (!team.start([&run, worker] { run(worker); })) break;
    }
    run(0);
}

}  // namespace prefer::detail
