// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// The best against the worst: one pair, or a tie where all are equal. Of equal rewards the first
/// is the best, and the first is the worst; all others are unpaired.
///
/// For a best of shaped rewards (a length penalty) that is judged by the raw ones, as RLHFlow does
/// it, follow with `oriented_by`. For errors see `pair_list`. O(n), nothing is drawn.
/// Source: arXiv:2405.07863, section 3.2 (best-of-n against worst-of-n).
template <class Indices, class Rewards>
pair_list best_worst(Indices const& indices, Rewards const& rewards) {
    auto const r = detail::indexed_rewards("sampler::best_worst", indices, rewards);
    auto const list = detail::index_list(indices);
    pair_list out;
    out.unpaired = list.size() < 2 ? list.size() : list.size() - 2;
    if (list.size() < 2) return out;
    ::std::size_t best = list[0];
    ::std::size_t worst = list[0];
    for (::std::size_t const i : list) {
        if (r[i] > r[best]) best = i;
        if (r[i] < r[worst]) worst = i;
    }
    detail::add_match(out, r, best, worst);
    return out;
}

}  // namespace prefer::sampler
