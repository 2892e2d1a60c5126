// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/sampler/rewards.hpp>
#include <prefer/sampler/top_k.hpp>

namespace prefer::sampler {

/// The Gumbel top-k trick: `count` draws without replacement from p_i ∝ exp(r_i / β), which are
/// the largest, in descending order, of
///
///     r_i / β - log E_i,      E_i = -log(1 - u_i), u_i uniform in [0, 1)
///
/// (-log E is a standard Gumbel number). The order is that of drawing one after the other
/// (Plackett-Luce), so the first is a draw from the softmax.
/// `rewards [M]`, any element type, computed in double. β = 0 is the exact top `count`, equals in
/// order; β = ∞ any `count` of them alike. Errors: `value_error` for a β that is negative or NaN, a
/// reward that is not finite, or a count above M; before anything is drawn.
/// O(M log count). Determinism: one `uniform01<double>` for each candidate, in order, for every β.
/// Source: W. Kool, H. van Hoof, M. Welling, "Stochastic beams and where to find them", 2019.
struct gumbel_top_k {
    double beta = 1;
    ::std::size_t count = 8;

    template <class Rewards, bit_generator G>
    ::std::vector<::std::size_t> operator()(Rewards const& rewards, G& rng) const {
        char const* const name = "sampler::gumbel_top_k";
        auto const r = detail::finite_rewards(name, rewards);
        detail::require(beta >= 0, name, "beta", beta, "at least 0");
        detail::require(count <= r.size(), name, "count", count, "at most the number of rewards");
        ::std::vector<double> keys(r.size());
        double best = r.size() > 0 ? r[0] : 0;
        for (::std::size_t i = 1; i < r.size(); ++i) best = ::std::max(best, r[i]);
        for (::std::size_t i = 0; i < r.size(); ++i) {
            double const gumbel = -::std::log(-::std::log1p(-uniform01<double>(rng)));
            double const below = r[i] - best;  // -∞ where it overflows
            if (beta > math::largest<double>) {
                keys[i] = gumbel;
            } else {
                keys[i] = beta > 0 ? (below < 0 ? below / beta : 0) + gumbel : r[i];
            }
        }
        return detail::largest_places(keys, keys.size(), count);
    }
};

}  // namespace prefer::sampler
