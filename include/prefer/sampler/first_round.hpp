// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// First-round ranking: the candidates two by two, in the order of `indices`, which is that in
/// which they were drawn: floor(n / 2) disjoint pairs. Of an odd number the last is unpaired.
///
/// For errors and ties see `pair_list`. O(n). Source: arXiv:2309.06657, section 3.3. Trainers that
/// took this over shuffle first (below) and give a tie to the second.
template <class Indices, class Rewards>
pair_list first_round(Indices const& indices, Rewards const& rewards) {
    auto const r = detail::indexed_rewards("sampler::first_round", indices, rewards);
    auto const order = detail::index_list(indices);
    pair_list out;
    for (::std::size_t k = 0; k + 1 < order.size(); k += 2) {
        detail::add_match(out, r, order[k], order[k + 1]);
    }
    out.unpaired = order.size() % 2;
    return out;
}

/// The same of a random order. The generator is asked for n - 1 indices.
template <class Indices, class Rewards, bit_generator G>
pair_list first_round(Indices const& indices, Rewards const& rewards, G& rng) {
    detail::indexed_rewards("sampler::first_round", indices, rewards);
    auto order = detail::index_list(indices);
    detail::shuffle(order, rng);
    return first_round(order, rewards);
}

}  // namespace prefer::sampler
