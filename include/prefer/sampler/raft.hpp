// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <prefer/core/layout.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// RAFT's choice: the best response of each prompt, to be learned from by `loss::sft`; of equal
/// ones, the first. `loss::raft_weights` is the same as weights.
///
/// `rewards [N]` of the responses of P prompts, prompt after prompt; `offsets [P + 1]` as in
/// `packed`. A prompt without responses gives none, so there may be fewer than P indices.
/// Errors: `shape_error` for offsets that do not fit, `value_error` for a reward that is not
/// finite. O(N), nothing is drawn.
/// Source: H. Dong et al., "RAFT: reward ranked finetuning for generative foundation model
/// alignment", 2023, algorithm 1.
template <class Rewards, class Offsets>
::std::vector<::std::size_t> raft(Rewards const& rewards, Offsets const& offsets) {
    char const* const name = "sampler::raft";
    packed const prompts(offsets);
    prompts.check(name);
    auto const r = detail::finite_rewards(name, rewards);
    detail::require_size(name, "rewards", r.size(), "offsets' last entry", prompts.tokens());
    ::std::vector<::std::size_t> out;
    for (::std::size_t p = 0; p < prompts.sequences(); ++p) {
        if (prompts.first(p) == prompts.last(p)) continue;
        ::std::size_t best = prompts.first(p);
        for (::std::size_t i = best + 1; i < prompts.last(p); ++i) {
            if (r[i] > r[best]) best = i;
        }
        out.push_back(best);
    }
    return out;
}

}  // namespace prefer::sampler
