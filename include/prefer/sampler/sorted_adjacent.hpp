// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <prefer/sampler/first_round.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// Neighbours in the order of rewards: the best with the second, the third with the fourth, and so
/// on: floor(n / 2) disjoint pairs of small margins. Of an odd number the worst is unpaired.
///
/// Equal rewards are sorted as in `indices`. For errors and ties see `pair_list`. O(n log n),
/// nothing is drawn. Trainers call this "tournament"; see `tournament` for what the paper means.
template <class Indices, class Rewards>
pair_list sorted_adjacent(Indices const& indices, Rewards const& rewards) {
    auto const r = detail::indexed_rewards("sampler::sorted_adjacent", indices, rewards);
    auto order = detail::index_list(indices);
    ::std::stable_sort(order.begin(), order.end(),
                       [&](::std::size_t a, ::std::size_t b) { return r[a] > r[b]; });
    return first_round(order, rewards);
}

}  // namespace prefer::sampler
