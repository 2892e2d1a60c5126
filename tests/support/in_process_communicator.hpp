// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Ranks on threads of one process: a communicator for tests.
///
/// Sums run in rank order, so results are the same each time. What would hang or corrupt a real
/// program is an exception on every rank that waits: ranks that call different functions or pass
/// different sizes, a NaN in a maximum, and a rank that has left (returned or thrown) while others
/// still reduce.

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <prefer/core/communicator.hpp>

namespace prefer::test {

/// What the ranks share.
class in_process_group {
public:
    explicit in_process_group(std::size_t size)
        : posts_(size), arrived_(static_cast<std::ptrdiff_t>(size)) {}

    enum class operation { nothing, sum, max };

    void reduce(std::size_t rank, operation what, std::span<double> numbers) {
        posts_[rank] = {what, numbers};
        arrived_.arrive_and_wait();  // all have posted, or have left
        std::string const wrong = mismatch();
        std::vector<double> result;
        if (wrong.empty()) {
            result.assign(numbers.begin(), numbers.end());
            for (std::size_t i = 0; i < result.size(); ++i) {
                result[i] = posts_[0].numbers[i];
                for (std::size_t r = 1; r < posts_.size(); ++r) {
                    double const x = posts_[r].numbers[i];
                    result[i] = what == operation::sum ? result[i] + x : std::max(result[i], x);
                }
            }
        }
        arrived_.arrive_and_wait();  // all have read
        if (!wrong.empty()) throw std::logic_error(wrong);
        std::copy(result.begin(), result.end(), numbers.begin());
    }

    void leave(std::size_t rank) {
        posts_[rank] = {};
        arrived_.arrive_and_drop();
    }

    std::size_t size() const { return posts_.size(); }

private:
    struct post {
        operation what = operation::nothing;
        std::span<double> numbers;
    };

    /// The same words on every rank.
    std::string mismatch() const {
        auto const active = std::find_if(posts_.begin(), posts_.end(), [](post const& p) {
            return p.what != operation::nothing;
        });
        for (std::size_t r = 0; r < posts_.size(); ++r) {
            std::string const who = "in-process communicator: rank " + std::to_string(r);
            if (posts_[r].what == operation::nothing) return who + " has left";
            if (posts_[r].what != active->what) return who + " does another reduction";
            if (posts_[r].numbers.size() != active->numbers.size()) {
                return who + " passes " + std::to_string(posts_[r].numbers.size()) +
                       " numbers, another " + std::to_string(active->numbers.size());
            }
            bool const nan = std::any_of(posts_[r].numbers.begin(), posts_[r].numbers.end(),
                                         [](double x) { return std::isnan(x); });
            if (active->what == operation::max && nan) return who + " passes NaN to a maximum";
        }
        return {};
    }

    std::vector<post> posts_;
    std::barrier<> arrived_;
};

/// One rank's handle.
class in_process_communicator {
public:
    using communicator_concept = communicator_tag;

    in_process_communicator(in_process_group& group, std::size_t rank)
        : group_(&group), rank_(rank) {}

    std::size_t size() const { return group_->size(); }
    std::size_t rank() const { return rank_; }
    void all_reduce_sum(std::span<double> numbers) const {
        ++calls_;
        group_->reduce(rank_, in_process_group::operation::sum, numbers);
    }
    void all_reduce_max(std::span<double> numbers) const {
        ++calls_;
        group_->reduce(rank_, in_process_group::operation::max, numbers);
    }

    /// Reductions that this rank has started.
    std::size_t calls() const { return calls_; }

private:
    in_process_group* group_;
    std::size_t rank_;
    mutable std::size_t calls_ = 0;
};

/// Runs `work(communicator)` on `size` ranks, each a thread, and returns what each has thrown (null
/// where it returned). Assertions belong outside `work`: Catch2's are for one thread.
template <class Work>
std::vector<std::exception_ptr> try_on_ranks(std::size_t size, Work const& work) {
    in_process_group group(size);
    std::vector<std::exception_ptr> thrown(size);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                work(in_process_communicator(group, rank));
            } catch (...) {
                thrown[rank] = std::current_exception();
            }
            group.leave(rank);
        });
    }
    for (std::thread& t : threads) t.join();
    return thrown;
}

/// The same where no rank is to throw; the first that does, in rank order, has its exception
/// rethrown here.
template <class Work>
void on_ranks(std::size_t size, Work const& work) {
    for (std::exception_ptr const& e : try_on_ranks(size, work)) {
        if (e) std::rethrow_exception(e);
    }
}

}  // namespace prefer::test
