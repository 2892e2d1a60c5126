// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/random.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// Tournament ranking: rounds of matches two by two, of which the winners go on to the next, until
/// one is left: n - 1 matches, each of which is a pair.
///
/// The first round is in the order of `indices`, the others in that of the matches; of an odd
/// number the last goes on without a match. Of equal rewards the first goes on, and the match is a
/// tie, no pair; so n - 1 = pairs + ties, and the last winner is chosen in every match it had.
/// For errors see `pair_list`. O(n). Source: arXiv:2309.06657, section 3.3.
template <class Indices, class Rewards>
pair_list tournament(Indices const& indices, Rewards const& rewards) {
    auto const r = detail::indexed_rewards("sampler::tournament", indices, rewards);
    auto round = detail::index_list(indices);
    pair_list out;
    while (round.size() > 1) {
        ::std::size_t winners = 0;
        for (::std::size_t k = 0; k < round.size(); k += 2) {
            ::std::size_t winner = round[k];
            if (k + 1 < round.size()) {
                detail::add_match(out, r, round[k], round[k + 1]);
                if (r[round[k + 1]] > r[winner]) winner = round[k + 1];
            }
            round[winners++] = winner;
        }
        round.resize(winners);
    }
    out.unpaired = round.size() == 1 && as_vector(indices).size() == 1 ? 1 : 0;
    return out;
}

/// The same of a random order. The generator is asked for n - 1 indices.
template <class Indices, class Rewards, bit_generator G>
pair_list tournament(Indices const& indices, Rewards const& rewards, G& rng) {
    detail::indexed_rewards("sampler::tournament", indices, rewards);
    auto order = detail::index_list(indices);
    detail::shuffle(order, rng);
    return tournament(order, rewards);
}

}  // namespace prefer::sampler
