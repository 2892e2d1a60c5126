// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/random.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// One pair of two different places of `indices`, all of them alike; or a tie.
///
/// For errors see `pair_list`. O(n) for the checks. Two `uniform_index` for two candidates or more.
/// Many disjoint random pairs are a `first_round` of a random order. RLHFlow's "random" takes
/// indices 0 and 1.
template <class Indices, class Rewards, bit_generator G>
pair_list random_pair(Indices const& indices, Rewards const& rewards, G& rng) {
    auto const r = detail::indexed_rewards("sampler::random_pair", indices, rewards);
    auto const list = detail::index_list(indices);
    pair_list out;
    out.unpaired = list.size() < 2 ? list.size() : list.size() - 2;
    if (list.size() < 2) return out;
    ::std::size_t const a = uniform_index(rng, list.size());
    ::std::size_t const b = uniform_index(rng, list.size() - 1);
    detail::add_match(out, r, list[a], list[b < a ? b : b + 1]);
    return out;
}

}  // namespace prefer::sampler
