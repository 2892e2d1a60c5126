// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// Every pair whose rewards are more than `margin` apart, in the order of `indices`: the first with
/// each later one, the second with each later one, and so on. The others are counted as ties.
///
/// Errors: those of `pair_list`; `value_error` for a margin that is negative, NaN or infinite.
/// O(n²), nothing is drawn.
template <class Indices, class Rewards>
pair_list all_pairs(Indices const& indices, Rewards const& rewards, double margin = 0) {
    char const* const name = "sampler::all_pairs";
    auto const r = detail::indexed_rewards(name, indices, rewards);
    detail::require(math::is_finite(margin) && margin >= 0, name, "margin", margin,
                    "finite and at least 0");
    auto const list = detail::index_list(indices);
    pair_list out;
    out.unpaired = list.size() == 1 ? 1 : 0;
    for (::std::size_t a = 0; a < list.size(); ++a) {
        for (::std::size_t b = a + 1; b < list.size(); ++b) {
            double const difference = r[list[a]] - r[list[b]];
            if (difference > margin || difference < -margin) {
                detail::add_match(out, r, list[a], list[b]);
            } else {
                ++out.ties;
            }
        }
    }
    return out;
}

}  // namespace prefer::sampler
