// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/bernoulli_kl.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// Efficient exact optimization on pairs (EXO): the reverse divergence from the model's preference
/// to a smoothed label.
///
/// With z = β·h, h the log-ratio margin of summed log-probs, and smoothing ε:
///
///     loss = KL(σ(z), σ(-z) ‖ 1 - ε, ε)
///          = σ(z)·(log σ(z) - log(1 - ε)) + σ(-z)·(log σ(-z) - log ε)
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite; 0 < ε < 1/2. ε = 0 is refused:
/// the divergence from a certain label is infinite (peers give NaN there, or ask for 1e-3).
/// Invariants: never negative, 0 at z = logit(1 - ε) alone; slope in z σ'(z)·(z - logit(1 - ε)), so
/// it pulls the margin back beyond that point, and lets go of pairs that are far off: bounded by
/// log(1/ε) for z → -∞ and log(1/(1 - ε)) for z → +∞; not convex. At h = 0 it is -log 2 -
/// log(ε·(1 - ε))/2.
/// Errors: `validate()` throws `value_error`.
/// Source: H. Ji et al., "Towards efficient exact optimization of language model alignment", 2024;
/// trainers call it exo_pair.
struct exo {
    double beta = 0.1;
    double label_smoothing = 1e-3;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &exo::beta},
                            parameter{"label_smoothing", &exo::label_smoothing}};
    }

    void validate() const {
        require_positive("loss::exo", "beta", beta);
        detail::require(label_smoothing > 0 && label_smoothing < 0.5, "loss::exo",
                        "label_smoothing", label_smoothing, "in (0, 0.5)");
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::log;
        using math::log1p;
        using real = math::primal_t<S>;
        S const z = real(beta) * p.margin();
        real const log_right = log1p(-real(label_smoothing));
        real const log_flipped = log(real(label_smoothing));
        return detail::bernoulli_kl(z, real(log_right - log_flipped), log_right, log_flipped);
    }
};

}  // namespace prefer::loss
