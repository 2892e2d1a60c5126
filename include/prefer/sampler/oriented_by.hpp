// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// The same pairs, chosen and rejected by other rewards: builders orient by the rewards they choose
/// by. With shaped rewards (a length penalty) there, and the raw ones here, a pair may turn round;
/// one that is a tie in these is counted and leaves.
///
/// Errors: `value_error` for an index that is not below M, or a reward of a pair that is not
/// finite. O(pairs). Source: RLHFlow/Online-RLHF orients by raw rewards in every mode, so the
/// winner of its penalised mode may be the rejected one; arXiv:2405.07863 does not say.
template <class Rewards>
pair_list oriented_by(pair_list const& list, Rewards const& rewards) {
    ::std::vector<::std::size_t> named;
    for (auto const& pair : list.pairs) {
        named.push_back(pair.chosen);
        named.push_back(pair.rejected);
    }
    auto const r = detail::indexed_rewards("sampler::oriented_by", named, rewards);
    pair_list out{.pairs = {}, .ties = list.ties, .unpaired = list.unpaired};
    for (auto const& pair : list.pairs) detail::add_match(out, r, pair.chosen, pair.rejected);
    return out;
}

}  // namespace prefer::sampler
