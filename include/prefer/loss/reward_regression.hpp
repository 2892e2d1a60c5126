// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// Regression of a reward model's score to a given one; a loss of single responses.
///
///     loss = (r - score)²
///
/// The response's `policy` is here the score r that the model gives it, `score` the target. There
/// is no factor 1/2. A model with several attributes has one example for each of them; an attribute
/// that was not annotated is an example of weight 0 (NeMo-Aligner marks it by -100, which is an
/// ordinary target here).
/// Inputs: scores. Invariants: never negative, 0 at the target; slope 2(r - score), curvature 2. No
/// hyper-parameters. Reported rewards are the scores r.
/// Source: Z. Wang et al., "HelpSteer2", 2024, the regression reward model.
struct reward_regression {
    static constexpr pair_inputs inputs() { return {.scores = true}; }

    static constexpr auto parameters() { return ::std::tuple<>{}; }

    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        S const gap = x.completion.policy - x.completion.score;
        return gap * gap;
    }
};

}  // namespace prefer::loss
