// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// Online IPO: `ipo` with the probability that a preference model gives instead of a certain
/// winner.
///
///     loss = (h - (p - 1/2)/β)²
///
/// h is the log-ratio margin, of the per-token averages or of the sums, as in `ipo`; p is the
/// pair's label, P(chosen beats rejected), from 0 to 1. Label 1, the default of a pair, is `ipo`
/// with the target 1/(2β); label 1/2 pulls the margin to 0. The gradient is the mean of that of
/// `ipo` over hard labels drawn with probability p, without the noise of the draw; the values
/// differ by p·(1 - p)/β², which does not depend on the policy. Exchanging the responses, and p
/// with 1 - p, changes nothing.
/// Inputs: with reference, and labels; averages need the responses' lengths. Ranges: β > 0 finite.
/// Invariants: ((p - 1/2)/β)² at h = 0; never negative; slope 2·(h - (p - 1/2)/β), curvature 2.
/// TRL's online trainers are `summed` and have hard labels.
/// Errors: `validate()` throws `value_error`.
/// Source: D. Calandriello et al., "Human alignment of large language models through online
/// preference optimisation", 2024: IPO on pairs drawn from the policy and annotated by a preference
/// model; its expectation over the annotation is the regression above. 2405.08448 annotates with
/// the sign of its proxy model and has β/2 for a target, eq. (1): that is `ipo` with `half_beta`,
/// on pairs in the proxy's order.
struct online_ipo {
    double beta = 0.1;
    log_probs margin_of = log_probs::averaged;

    constexpr pair_inputs inputs() const {
        return {.reference = true, .lengths = margin_of == log_probs::averaged, .labels = true};
    }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &online_ipo::beta},
                            parameter{"margin_of", &online_ipo::margin_of}};
    }

    void validate() const {
        require_positive("loss::online_ipo", "beta", beta);
        require_enumerator("loss::online_ipo", "margin_of", static_cast<int>(margin_of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        S const h = margin_of == log_probs::averaged ? p.mean_margin() : p.margin();
        S const gap = h - (p.label - real(0.5)) / real(beta);
        return gap * gap;
    }
};

}  // namespace prefer::loss
