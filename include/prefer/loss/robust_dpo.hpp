// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Robust DPO: an unbiased estimate of the clean-label DPO loss when labels are flipped at rate ε.
///
/// With z = β·h, h the log-ratio margin of summed log-probs:
///
///     loss = [-(1 - ε)·log σ(z) + ε·log σ(-z)] / (1 - 2ε) = softplus(-z) - ε/(1 - 2ε)·z
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite; 0 <= ε < 1/2 (the weights blow
/// up towards 1/2, where the labels say nothing). Invariants: log 2 at h = 0; slope in z -σ(-z) -
/// ε/(1 - 2ε), negative everywhere; convex; not bounded below when ε > 0. With ε = 0 it is `dpo`.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: S. R. Chowdhury et al., "Provably robust DPO: aligning language models with noisy
/// feedback", 2024.
struct robust_dpo {
    double beta = 0.1;
    double label_smoothing = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true, .lengths = false}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &robust_dpo::beta},
                            parameter{"label_smoothing", &robust_dpo::label_smoothing}};
    }

    void validate() const {
        require_positive("loss::robust_dpo", "beta", beta);
        require_flip_rate("loss::robust_dpo", "label_smoothing", label_smoothing);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const z = real(beta) * p.margin();
        return softplus(-z) - real(label_smoothing / (1 - 2 * label_smoothing)) * z;
    }
};

}  // namespace prefer::loss
