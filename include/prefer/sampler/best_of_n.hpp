// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <prefer/errors.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// Best-of-N: the index of the largest reward; of equal ones, the first.
///
/// `rewards [N]`, any element type. Errors: `value_error` for none, or one that is not finite.
/// O(N), no allocation, nothing is drawn.
template <class Rewards>
::std::size_t best_of_n(Rewards const& rewards) {
    auto const r = detail::finite_rewards("sampler::best_of_n", rewards);
    detail::require(r.size() > 0, "sampler::best_of_n", "the number of rewards", r.size(),
                    "at least 1");
    ::std::size_t best = 0;
    for (::std::size_t i = 1; i < r.size(); ++i) {
        if (r[i] > r[best]) best = i;
    }
    return best;
}

/// An upper bound of KL(best-of-n policy ‖ policy), in nats: log n - (n - 1) / n.
///
/// 0 for n = 1. Equality where no two responses have the same reward and none has a probability
/// that matters by itself. Errors: `value_error` for n = 0.
/// Source: arXiv:2405.07863, section 3; the bound is older (Stiennon et al. 2020, appendix G.3).
inline double best_of_n_kl_bound(::std::size_t n) {
    detail::require(n > 0, "sampler::best_of_n_kl_bound", "n", n, "at least 1");
    auto const count = static_cast<double>(n);
    return ::std::log(count) - (count - 1) / count;
}

}  // namespace prefer::sampler
