// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// Sequence likelihood calibration (SLiC-HF): a reference-free hinge plus a likelihood term.
///
///     loss = max(0, δ - log π(y_w) + log π(y_l)) - λ·log π(y_w)
///
/// δ is `margin` in nats; λ is `nll_weight`, on the summed log-prob (the paper's form) or on the
/// per-token average, by `nll_of`. The paper regularises on a separate target y_ref; with
/// preference pairs the chosen response is that target. Inputs: summed log-probs, no reference;
/// lengths for an averaged likelihood term. Ranges: δ >= 0, λ >= 0, finite. Invariants: with λ = 0,
/// value δ at equal log-probs and 0 once the chosen is ahead by δ; slope in the difference -1
/// before the corner and 0 at and behind it; the likelihood term adds a slope of -λ in log π(y_w)
/// everywhere.
/// Errors: `validate()` throws `value_error`.
/// Source: Y. Zhao et al., "SLiC-HF", 2023; 2309.06657, eq. (1). Trainers that call `hinge_norm`
/// SLiC mean another loss; HALOs has this one.
struct slic {
    double margin = 1.0;
    double nll_weight = 0.1;
    log_probs nll_of = log_probs::summed;

    constexpr pair_inputs inputs() const {
        return {.reference = false, .lengths = nll_of == log_probs::averaged};
    }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"margin", &slic::margin},
                            parameter{"nll_weight", &slic::nll_weight},
                            parameter{"nll_of", &slic::nll_of}};
    }

    void validate() const {
        require_not_negative("loss::slic", "margin", margin);
        require_not_negative("loss::slic", "nll_weight", nll_weight);
        require_enumerator("loss::slic", "nll_of", static_cast<int>(nll_of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::max;
        using real = math::primal_t<S>;
        S const hinge = max(S(real(0)), real(margin) - (p.chosen.policy - p.rejected.policy));
        S const log_likelihood =
            nll_of == log_probs::averaged ? p.chosen.mean_policy() : p.chosen.policy;
        return hinge - real(nll_weight) * log_likelihood;
    }
};

}  // namespace prefer::loss
