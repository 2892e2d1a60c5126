// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Rao and Kupper's model of comparisons with ties, as the loss of a reward model.
///
/// A response's `policy` is here the score r that the model gives it; there is no reference. With
/// m = r_w - r_l and the threshold η = log θ, below which two responses are not told apart:
///
///     P(win) = σ(m - η),   P(loss) = σ(-m - η),   P(tie) = (θ² - 1)·P(win)·P(loss)
///     loss   = -log P(outcome);   label 1: win, 1/2: tie, 0: loss of the "chosen" response
///
/// A label between two of these is a mixture of the two (3/4: win or tie with probability 1/2 each)
/// and gives the cross-entropy. At equal scores a tie has the probability (θ - 1)/(θ + 1).
/// Inputs: labels. Ranges: θ > 1 finite; 0 <= label <= 1. Invariants: at m = 0 log(1 + θ) for a
/// win, and log((θ + 1)/(θ - 1)) for a tie, where its slope is 0; without ties (θ towards 1) a win
/// is `bradley_terry`; a win is `bradley_terry` with the offset log θ; convex; exchanging the
/// responses and taking 1 - label changes nothing. Reported rewards are the scores.
/// Errors: `validate()` throws `value_error`. Two softplus a pair.
/// Source: P. V. Rao, L. L. Kupper, "Ties in paired-comparison experiments: a generalization of the
/// Bradley-Terry model", 1967. `davidson` is the other model of ties.
struct rao_kupper {
    double theta = 2.0;

    static constexpr pair_inputs inputs() { return {.labels = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"theta", &rao_kupper::theta}};
    }

    void validate() const {
        detail::require(math::is_finite(theta) && theta > 1, "loss::rao_kupper", "theta", theta,
                        "finite and > 1");
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::log;
        using math::min;
        using math::softplus;
        using real = math::primal_t<S>;
        real const threshold = log(real(theta));
        real const ties = log(real((theta - 1) * (theta + 1)));
        S const m = p.chosen.policy - p.rejected.policy;
        // A tie is as likely as a win and a loss together, so it counts on both sides.
        real const win = min(real(1), real(2) * p.label);
        real const loss = min(real(1), real(2) * (real(1) - p.label));
        S const both = win * softplus(threshold - m) + loss * softplus(threshold + m);
        return both - (win + loss - real(1)) * ties;
    }
};

}  // namespace prefer::loss
