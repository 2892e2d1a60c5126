// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::reward {

/// Moves rewards into [least, most], in place, and returns how many were outside.
///
/// `rewards [M]`, any element type. ±∞ is moved like any other reward. Errors, before anything is
/// written: `value_error` for a NaN reward, or limits that are NaN or out of order. O(M).
template <class Rewards>
::std::size_t clip_rewards(Rewards&& rewards, double least, double most) {
    char const* const name = "reward::clip_rewards";
    auto const out = as_vector(rewards);
    using R = typename decltype(out)::value_type;
    auto const at = [&](::std::size_t i) {
        return static_cast<double>(static_cast<compute_t<R>>(out[i]));
    };
    detail::require(!math::is_nan(least), name, "least", least, "a number");
    detail::require(most >= least, name, "most", most, "at least the least");
    for (::std::size_t i = 0; i < out.size(); ++i) {
        if (math::is_nan(at(i))) detail::throw_bad_element(name, "rewards", i, at(i), "a number");
    }
    ::std::size_t moved = 0;
    for (::std::size_t i = 0; i < out.size(); ++i) {
        double const reward = at(i);
        if (reward >= least && reward <= most) continue;
        out[i] = static_cast<R>(static_cast<compute_t<R>>(reward < least ? least : most));
        ++moved;
    }
    return moved;
}

}  // namespace prefer::reward
