// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace align {

/// Runs independent pieces of work on a few threads. What the pieces are never depends on the
/// number of threads, so neither do the results.
class workers {
public:
    explicit workers(std::size_t threads) : threads_(std::max<std::size_t>(1, threads)) {}

    std::size_t threads() const { return threads_; }

    /// f(0), …, f(count - 1), in any order. The first exception is thrown again here.
    template <class F>
    void for_each(std::size_t count, F const& f) const {
        std::atomic<std::size_t> next{0};
        std::exception_ptr failure;
        std::mutex failure_lock;
        auto const work = [&] {
            try {
                for (std::size_t i = next++; i < count; i = next++) f(i);
            } catch (...) {
                next = count;
                std::lock_guard const hold(failure_lock);
                if (!failure) failure = std::current_exception();
            }
        };
        std::vector<std::thread> helpers;
        for (std::size_t t = 1; t < std::min(threads_, count); ++t) helpers.emplace_back(work);
        work();
        for (auto& helper : helpers) helper.join();
        if (failure) std::rethrow_exception(failure);
    }

private:
    std::size_t threads_;
};

}  // namespace align
