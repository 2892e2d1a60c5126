// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// Davidson's model of comparisons with ties, as the loss of a reward model.
///
/// A response's `policy` is here the score r that the model gives it; there is no reference. With
/// Z = e^r_w + e^r_l + ν·e^((r_w + r_l)/2):
///
///     P(win) = e^r_w/Z,   P(tie) = ν·e^((r_w + r_l)/2)/Z,   P(loss) = e^r_l/Z
///     loss   = -log P(outcome);   label 1: win, 1/2: tie, 0: loss of the "chosen" response
///
/// A label between two of these is a mixture of the two (3/4: win or tie with probability 1/2 each)
/// and gives the cross-entropy. ν >= 0 grows with the share of ties: at equal scores a tie has the
/// probability ν/(2 + ν), and the odds of a tie are ν times the geometric mean of the other two.
/// Inputs: labels. Ranges: ν > 0 finite; 0 <= label <= 1. Invariants, with m = r_w - r_l: at m = 0
/// log(2 + ν) for a win, and log(2 + ν) - log ν for a tie, where its slope is 0; without ties (ν
/// towards 0) a win is `bradley_terry`; convex; exchanging the responses and taking 1 - label
/// changes nothing. Reported rewards are the scores.
/// Errors: `validate()` throws `value_error`. One exp and one log1p a pair.
/// Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired
/// comparison experiments", 1970. `rao_kupper` is the other model of ties.
struct davidson {
    double nu = 1.0;

    static constexpr pair_inputs inputs() { return {.labels = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"nu", &davidson::nu}}; }

    void validate() const { require_positive("loss::davidson", "nu", nu); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::abs;
        using math::exp;
        using math::log;
        using math::log1p;
        using real = math::primal_t<S>;
        // log Z - (r_w + r_l)/2 = |x| + log1p(e^-2|x| + ν·e^-|x|), x half of the score difference.
        S const x = (p.chosen.policy - p.rejected.policy) / real(2);
        S const size = abs(x);
        S const e = exp(-size);
        real const win_or_loss = real(2) * p.label - real(1);
        real const tie = real(1) - abs(win_or_loss);
        S const against = (size - win_or_loss * x) + log1p(e * (e + real(nu)));
        return against - tie * log(real(nu));
    }
};

}  // namespace prefer::loss
