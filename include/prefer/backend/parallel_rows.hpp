// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
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

/// Calls `work(first, last)` for ranges that together are the rows of a matrix, on at most
/// `threads` threads with the caller's as one of them. The ranges depend on the arguments alone. No
/// thread is started for a share of less than 2^15 elements, and none for `threads` = 1; where the
/// system refuses one, the caller does its share. `work` must not throw.
template <class Work>
void parallel_rows(int threads, ::std::size_t rows, ::std::size_t columns, Work const& work) {
    ::std::size_t const least_rows = (1U << 15U) / (columns == 0 ? 1 : columns) + 1;
    ::std::size_t const parts = ::std::min(static_cast<::std::size_t>(threads), rows / least_rows);
    if (parts <= 1) {
        work(::std::size_t{0}, rows);
        return;
    }
    ::std::size_t const share = rows / parts;
    ::std::size_t const longer = rows % parts;  // the first parts have one row more
    auto const run = [&](::std::size_t part) {
        ::std::size_t const first = part * share + ::std::min(part, longer);
        work(first, first + share + (part < longer ? 1 : 0));
    };
    thread_team team;
    ::std::size_t part = 1;
    while (part < parts && team.start([&run, part] { run(part); })) ++part;
    run(0);
    for (; part < parts; ++part) run(part);
}

}  // namespace prefer::detail
