// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::loss {

/// Kahneman-Tversky optimization: labelled single responses, valued against a reference point.
///
/// With d = log π(y) - log π_ref(y) of summed log-probs and the reference point z0:
///
///     loss = w_d·(1 - σ(β·(d - z0)))   where the label is 1 (desirable)
///     loss = w_u·(1 - σ(β·(z0 - d)))   where it is 0 (undesirable)
///
/// z0 estimates KL(π‖π_ref); it is a statistic of *mismatched* completions, a constant here, and
/// never negative: set `reference_point` to `kto_reference_point::value()` before each step. The
/// default 0 is the choice of the offline form without an estimate. 1 - σ(x) is computed as σ(-x),
/// which keeps its digits.
///
/// Inputs: summed log-probs, with reference; labels, each 0 or 1. Ranges: β > 0 finite; weights >=
/// 0 finite (the paper asks for w_d·n_d / (w_u·n_u) in [1, 4/3] with n the numbers of either kind);
/// z0 >= 0 finite. Invariants: w/2 at d = z0, between 0 and w everywhere; slope in d -s·w·β·σ(z)·
/// σ(-z) with s = +1, -1 and z = β·(d - z0), so it vanishes on both far sides; not convex; a batch
/// of one kind only is fine. Errors: `validate()` throws `value_error`. One sigmoid an example.
///
/// Peers agree on this formula, and differ in z0: clamped after the mean over all ranks (TRL,
/// OpenRLHF; here), clamped on each rank before it (NeMo-Aligner), or a mean over non-zero
/// log-ratios only (HALOs). The mean of the loss runs over all examples, whatever the weights.
/// Source: K. Ethayarajh et al., "KTO: model alignment as prospect theoretic optimization", 2024,
/// where the loss is λ_y - v(x, y) with the value v, and λ_y is w here.
struct kto {
    double beta = 0.1;
    double desirable_weight = 1.0;
    double undesirable_weight = 1.0;
    double reference_point = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = true, .labels = true}; }

    static constexpr bool binary_labels = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &kto::beta},
                            parameter{"desirable_weight", &kto::desirable_weight},
                            parameter{"undesirable_weight", &kto::undesirable_weight},
                            parameter{"reference_point", &kto::reference_point}};
    }

    void validate() const {
        require_positive("loss::kto", "beta", beta);
        require_not_negative("loss::kto", "desirable_weight", desirable_weight);
        require_not_negative("loss::kto", "undesirable_weight", undesirable_weight);
        require_not_negative("loss::kto", "reference_point", reference_point);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        using math::select;
        using math::sigmoid;
        using real = math::primal_t<S>;
        real const sign = real(2) * x.label - real(1);
        real const weight =
            select(x.label > real(0.5), real(desirable_weight), real(undesirable_weight));
        S const z = real(beta) * (x.completion.log_ratio() - real(reference_point));
        return weight * sigmoid(-sign * z);
    }
};

}  // namespace prefer::loss
