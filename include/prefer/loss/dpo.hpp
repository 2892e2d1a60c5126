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
/// With z = β·h, h the log-ratio margin, and smoothing ε:
///
///     loss = -(1 - ε)·log σ(z) - ε·log σ(-z) = softplus(-z) + ε·z
///
/// h is of summed log-probs, the paper's loss and the default, or of per-token averages:
/// length-normalized DPO (Tulu 3 and OLMo, with β = 5; TRL's sigmoid_norm). These are two losses,
/// with β of different sizes.
/// Inputs: with reference; averages need the responses' lengths. Ranges: β > 0 finite; 0 <= ε < 1/2
/// (the probability that the label is flipped). Invariants: log 2 at h = 0, whatever β and ε; slope
/// in z -σ(-z) + ε, so falling for every z when ε = 0, and with its minimum at z = logit(1 - ε)
/// otherwise; convex. An empty response has average 0 and gradient 0.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: R. Rafailov et al. 2023, eq. (7); 2404.09656, eq. (2); 2411.01493, eq. (10). Smoothing:
/// E. Mitchell, "A note on DPO with noisy preferences and relationship to IPO", 2023. `robust_dpo`
/// is the de-biased form, which is another loss.
struct dpo {
    double beta = 0.1;
    double label_smoothing = 0.0;
    log_probs margin_of = log_probs::summed;

    constexpr pair_inputs inputs() const {
        return {.reference = true, .lengths = margin_of == log_probs::averaged};
    }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &dpo::beta},
                            parameter{"label_smoothing", &dpo::label_smoothing},
                            parameter{"margin_of", &dpo::margin_of}};
    }

    void validate() const {
        require_positive("loss::dpo", "beta", beta);
        require_flip_rate("loss::dpo", "label_smoothing", label_smoothing);
        require_enumerator("loss::dpo", "margin_of", static_cast<int>(margin_of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const h = margin_of == log_probs::averaged ? p.mean_margin() : p.margin();
        S const z = real(beta) * h;
        return softplus(-z) + real(label_smoothing) * z;
    }
};

}  // namespace prefer::loss
