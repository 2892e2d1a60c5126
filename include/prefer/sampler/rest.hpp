// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// ReST's filter: the indices of the responses whose reward is above the threshold, in order; a
/// reward equal to it is not above. `loss::rest_weights` is the same as weights.
///
/// `rewards [N]`, any element type. Errors: `value_error` for a reward that is not finite, or a
/// threshold that is NaN. O(N), nothing is drawn.
/// Source: C. Gulcehre et al., "Reinforced self-training (ReST) for language modeling", 2023, the
/// improve step, whose threshold grows from step to step.
template <class Rewards>
::std::vector<::std::size_t> rest(Rewards const& rewards, double threshold) {
    auto const r = detail::finite_rewards("sampler::rest", rewards);
    detail::require(!math::is_nan(threshold), "sampler::rest", "threshold", threshold, "a number");
    ::std::vector<::std::size_t> out;
    for (::std::size_t i = 0; i < r.size(); ++i) {
        if (r[i] > threshold) out.push_back(i);
    }
    return out;
}

}  // namespace prefer::sampler
