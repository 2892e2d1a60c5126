// SPDX-License-Identifier: MIT
#include <prefer/backend/parallel_rows.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <support/catch.hpp>

namespace {

struct record {
    std::set<std::pair<std::size_t, std::size_t>> ranges;
    std::set<std::thread::id> threads;
};

record run(int threads, std::size_t rows, std::size_t columns) {
    record r;
    std::mutex lock;
    prefer::detail::parallel_rows(threads, rows, columns, [&](std::size_t first, std::size_t last) {
        std::scoped_lock const hold(lock);
        r.ranges.emplace(first, last);
        r.threads.insert(std::this_thread::get_id());
    });
    return r;
}

TEST_CASE("ranges cover the rows once, in even shares") {
    for (int const threads : {1, 2, 3, 8, 1000}) {
        for (std::size_t const rows : {1U, 2U, 3U, 7U, 64U, 65U}) {
            CAPTURE(threads, rows);
            record const r = run(threads, rows, 1U << 20U);
            std::size_t next = 0;
            std::size_t shortest = rows;
            std::size_t longest = 0;
            for (auto const& [first, last] : r.ranges) {
                CHECK(first == next);
                next = last;
                shortest = std::min(shortest, last - first);
                longest = std::max(longest, last - first);
            }
            CHECK(next == rows);
            CHECK(longest - shortest <= 1);
            CHECK(r.ranges.size() <= static_cast<std::size_t>(threads));
            CHECK(r.threads.size() == r.ranges.size());
        }
    }
}

TEST_CASE("the caller's thread works alone for one thread, and for little work") {
    std::thread::id const here = std::this_thread::get_id();
    for (record const& r :
         {run(1, 1000, 1000000), run(8, 10, 100), run(8, 1, 1000000), run(8, 0, 5), run(8, 5, 0)}) {
        CHECK(r.ranges.size() == 1);
        CHECK(r.threads == std::set{here});
    }
    record const two = run(2, 1000, 1000);
    CHECK(two.threads.count(here) == 1);
    CHECK(two.ranges == std::set<std::pair<std::size_t, std::size_t>>{{0, 500}, {500, 1000}});
}

}  // namespace
