// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// The loss of a pairwise preference model, symmetrised over the order of presentation.
///
/// Such a model is shown a prompt and both responses, and gives the probability ρ(x, y1, y2) that
/// the one shown first is the better one. With its logits for both orders,
///
///     a = logit ρ(x, y_w, y_l),   b = logit ρ(x, y_l, y_w)
///     loss = -½·log ρ(x, y_w, y_l) - ½·log(1 - ρ(x, y_l, y_w)) = ½·softplus(-a) + ½·softplus(b)
///
/// `chosen.policy` is a and `rejected.policy` is b: of both the logit that the response *shown
/// first* wins, so b is to fall. There is no reference. A bias towards the first place adds to a
/// and to b; the loss punishes it, and `debiased_preference` subtracts what is left of it.
/// Invariants: log 2 at a = b = 0; slope -σ(-a)/2 in a and σ(b)/2 in b; convex. For a model without
/// such a bias, b = -a, and then it is the plain likelihood, softplus(-a). No hyper-parameters.
/// Reported rewards are the two logits, so the accuracy is that of `debiased_preference`, with ties
/// at one half. Two softplus a pair.
/// Source: 2405.08448, eq. (5) and appendix A.2.
struct preference_model {
    static constexpr pair_inputs inputs() { return {}; }

    static constexpr auto parameters() { return ::std::tuple<>{}; }

    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        return real(0.5) * (softplus(-p.chosen.policy) + softplus(p.rejected.policy));
    }
};

/// Which of two responses a preference model prefers, freed of its bias towards a place: the sign
/// of ρ(x, y1, y2) - ρ(x, y2, y1).
///
/// `forward` is the model's number with y1 shown first, `backward` with y2 shown first, both for
/// the win of the one shown first: logits, or probabilities, which have the same order but round to
/// equal ones where the model is certain. Returns 1 where y1 is preferred, 0 where y2 is, and 1/2
/// for a tie, which is equality and nothing near it (the paper leaves it open); NaN for a NaN. That
/// is the `label` of a pair with y1 as its chosen response. Exchanging the responses gives one
/// minus it.
/// Source: 2405.08448, appendix A.2.
template <class T>
PREFER_HOST_DEVICE T debiased_preference(T const& forward, T const& backward) {
    using math::is_nan;
    using math::quiet_nan;
    using math::select;
    T const decided = select(forward > backward, T(1), select(forward < backward, T(0), T(0.5L)));
    auto const unknown = is_nan(forward) || is_nan(backward);
    return select(unknown, T(quiet_nan<math::lane_t<T>>), decided);
}

}  // namespace prefer::loss
