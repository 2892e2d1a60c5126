// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include <prefer/errors.hpp>

namespace prefer::reference {

/// A soft update whose rate is a function of the optimiser step, counted from 1: a schedule of α
/// where it is above 0, and of τ by where that is.
///
///     scheduled{[](std::uint64_t step) { return step % 8 == 0 ? 8.0 / step : 0.0; }}
///
/// A rate outside [0, 1] is a `value_error` of the step in which it comes, and nothing moves. The
/// function is not saved with a tracker, only that there was one.
template <::std::invocable<::std::uint64_t> F>
class scheduled {
public:
    explicit scheduled(F rate) : rate_(::std::move(rate)) {}

    void validate() const {}
    double rate(::std::uint64_t step) const {
        double const rate = rate_(step);
        detail::require(rate >= 0 && rate <= 1, "reference::scheduled", "the rate", rate,
                        "in [0, 1]");
        return rate;
    }
    ::std::vector<double> options() const { return {3}; }

private:
    F rate_;
};

}  // namespace prefer::reference
