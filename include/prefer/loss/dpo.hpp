// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Direct preference optimization, with optional label smoothing ("conservative DPO").
///
/// With z = β·h, h the log-ratio margin of summed log-probs, and smoothing ε:
///
///     loss = -(1 - ε)·log σ(z) - ε·log σ(-z) = softplus(-z) + ε·z
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite; 0 <= ε < 1/2 (the probability
/// that the label is flipped). Invariants: log 2 at h = 0, whatever β and ε; slope in z -σ(-z) + ε,
/// so falling for every z when ε = 0, and with its minimum at z = logit(1 - ε) otherwise; convex.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: R. Rafailov et al. 2023, eq. (7); 2404.09656, eq. (2); 2411.01493, eq. (10). Smoothing:
/// E. Mitchell, "A note on DPO with noisy preferences and relationship to IPO", 2023. `robust_dpo`
/// is the de-biased form, which is another loss.
struct dpo {
    double beta = 0.1;
    double label_smoothing = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = true, .lengths = false}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &dpo::beta},
                            parameter{"label_smoothing", &dpo::label_smoothing}};
    }

    void validate() const {
        require_positive("loss::dpo", "beta", beta);
        require_flip_rate("loss::dpo", "label_smoothing", label_smoothing);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const z = real(beta) * p.margin();
        return softplus(-z) + real(label_smoothing) * z;
    }
};

}  // namespace prefer::loss
