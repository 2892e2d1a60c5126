// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// Nash mirror descent: policy gradient against a preference model, with a KL pull to the
/// reference.
///
/// With d = log π(y) - log π_ref(y), constant (no derivative runs through it), and P the
/// probability that y is preferred over the opponent's response:
///
///     loss = [β·d - (P - 1/2)]·log π(y)
///
/// P is the label. The value means little; its derivative β·d - (P - 1/2) is an unbiased estimate
/// of the gradient of β·KL(π‖π_ref) - P(π preferred), with 1/2 as control variate, when y is drawn
/// from π. The opponent samples from the geometric mixture of reference and policy.
///
/// The formula is used on whole responses, or on tokens: an example a token, each with its own
/// log-probs and the label of its response, and the sum over them. On tokens the KL part has no
/// cross terms between tokens; this is the form of TRL. The derivative of a token is then β times
/// its own log-ratio, of a whole response β times the sum of all of them.
///
/// Inputs: log-probs, with reference; labels P in [0, 1]. Ranges: β >= 0 finite. Invariants: at d =
/// 0 and P = 1/2 no gradient; the second derivative is 0, since d is constant. Errors: `validate()`
/// throws `value_error`.
/// Source: R. Munos et al., "Nash learning from human feedback", 2023 (Nash-MD-PG).
struct nash_md {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true, .labels = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &nash_md::beta}}; }

    void validate() const { require_not_negative("loss::nash_md", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        using math::detach;
        using real = math::primal_t<S>;
        S const pull = real(beta) * detach(x.completion.log_ratio());
        return (pull - (x.label - real(0.5))) * x.completion.policy;
    }
};

}  // namespace prefer::loss
