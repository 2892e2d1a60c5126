// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::reference {

/// Which side of the limit moves the reference.
enum class signal_side : ::std::uint8_t { below, above };

/// An update when a number that the trainer measures says so: the mean gradient scale falls below
/// a limit (the reference holds the policy no more), or the KL divergence to the reference rises
/// above a budget.
///
/// `tracker::after_step(policy, reference, signal)` takes the number. α in [0, 1] is the update
/// rate of `soft`; no sooner than `every` steps after the last move. A signal equal to the limit
/// moves nothing; a NaN is an error.
/// Ours: arXiv:2404.09656 argues that the gradient vanishes as the policy moves away (section 3.1),
/// and leaves a rule that measures it open.
struct on_signal {
    double limit = 0;
    signal_side side = signal_side::below;
    double alpha = 1;
    ::std::uint64_t every = 1;

    void validate() const {
        char const* const name = "reference::on_signal";
        detail::require(math::is_finite(limit), name, "limit", limit, "finite");
        detail::require(alpha >= 0 && alpha <= 1, name, "alpha", alpha, "in [0, 1]");
        detail::require(every > 0, name, "every", every, "at least 1");
    }

    double rate(::std::uint64_t since, double signal) const {
        detail::require(!math::is_nan(signal), "reference::on_signal", "signal", signal,
                        "a number");
        bool const yes = side == signal_side::below ? signal < limit : signal > limit;
        return yes && since >= every ? alpha : 0;
    }

    ::std::vector<double> options() const {
        return {4, limit, side == signal_side::below ? 0.0 : 1.0, alpha,
                static_cast<double>(every)};
    }
};

}  // namespace prefer::reference
