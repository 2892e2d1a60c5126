// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/random.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// Max-random: the best against one of the others at random, all of them alike; a tie where that
/// one's reward is the same. Of equal rewards the first is the best.
///
/// For errors see `pair_list`. O(n). One `uniform_index` for two candidates or more. RLHFlow's
/// "max_random" takes index 0, or 1 where 0 is the best, and draws nothing.
template <class Indices, class Rewards, bit_generator G>
pair_list max_random(Indices const& indices, Rewards const& rewards, G& rng) {
    auto const r = detail::indexed_rewards("sampler::max_random", indices, rewards);
    auto const list = detail::index_list(indices);
    pair_list out;
    out.unpaired = list.size() < 2 ? list.size() : list.size() - 2;
    if (list.size() < 2) return out;
    ::std::size_t best = 0;
    for (::std::size_t k = 1; k < list.size(); ++k) {
        if (r[list[k]] > r[list[best]]) best = k;
    }
    ::std::size_t const other = uniform_index(rng, list.size() - 1);
    detail::add_match(out, r, list[best], list[other < best ? other : other + 1]);
    return out;
}

}  // namespace prefer::sampler
