// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <prefer/sampler/first_round.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>
#include <prefer/sampler/top_k.hpp>

namespace prefer::sampler {

/// Neighbours in the order of rewards: the best with the second, the third with the fourth, and so
/// on: floor(n / 2) disjoint pairs of small margins. Of an odd number the worst is unpaired.
///
/// Equal rewards are sorted as in `indices`. For errors and ties see `pair_list`. O(n log n),
/// nothing is drawn. Trainers call this "tournament"; see `tournament` for what the paper means.
template <class Indices, class Rewards>
pair_list sorted_adjacent(Indices const& indices, Rewards const& rewards) {
    auto const r = detail::indexed_rewards("sampler::sorted_adjacent", indices, rewards);
    auto const list = detail::index_list(indices);
    ::std::vector<double> keys;
    for (::std::size_t const i : list) keys.push_back(r[i]);
    ::std::vector<::std::size_t> order;
    for (::std::size_t const place : detail::largest_places(keys, keys.size(), keys.size())) {
        order.push_back(list[place]);
    }
    return first_round(order, rewards);
}

}  // namespace prefer::sampler
