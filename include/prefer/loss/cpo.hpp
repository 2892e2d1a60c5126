// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Contrastive preference optimization: DPO with a uniform reference, plus a likelihood term.
///
/// With z = β·(log π(y_w) - log π(y_l)), of summed log-probs, and smoothing ε:
///
///     loss = -(1 - ε)·log σ(z) - ε·log σ(-z) - λ·log π(y_w)
///          = softplus(-z) + ε·z - λ·log π(y_w)
///
/// λ is `nll_weight`, on the summed log-prob of the chosen response (the paper's form, the default)
/// or on its per-token average, by `nll_of`. The first gives a mean of sums over the batch, the
/// second a mean of sequence means. TRL and Liger have a third, the mean over all chosen tokens of
/// the batch: that is `summed` with λ·B/N for B pairs and N chosen tokens, since the rest is
/// divided by B; the normalizer of a batch belongs to the batch and not to this formula. TRL's
/// `hinge` and `ipo` without a reference are other losses (see `slic`).
/// Inputs: summed log-probs, no reference; lengths for an averaged likelihood term. Ranges: β > 0,
/// λ >= 0, finite; 0 <= ε < 1/2. Invariants: log 2 - λ·log π(y_w) at equal log-probs; slope in z
/// -σ(-z) + ε, and a further slope of -λ in log π(y_w); convex. Errors: `validate()` throws
/// `value_error`. One softplus a pair.
/// Source: H. Xu et al., "Contrastive preference optimization: pushing the boundaries of LLM
/// performance in machine translation", 2024 (2401.08417). Smoothing as in `dpo`.
struct cpo {
    double beta = 0.1;
    double label_smoothing = 0.0;
    double nll_weight = 1.0;
    log_probs nll_of = log_probs::summed;

    constexpr pair_inputs inputs() const {
        return {.reference = false, .lengths = nll_of == log_probs::averaged};
    }

    static constexpr auto parameters() {
        return ::std::tuple{
            parameter{"beta", &cpo::beta}, parameter{"label_smoothing", &cpo::label_smoothing},
            parameter{"nll_weight", &cpo::nll_weight}, parameter{"nll_of", &cpo::nll_of}};
    }

    void validate() const {
        require_positive("loss::cpo", "beta", beta);
        require_flip_rate("loss::cpo", "label_smoothing", label_smoothing);
        require_not_negative("loss::cpo", "nll_weight", nll_weight);
        require_enumerator("loss::cpo", "nll_of", static_cast<int>(nll_of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const z = real(beta) * (p.chosen.policy - p.rejected.policy);
        S const log_likelihood =
            nll_of == log_probs::averaged ? p.chosen.mean_policy() : p.chosen.policy;
        return softplus(-z) + real(label_smoothing) * z - real(nll_weight) * log_likelihood;
    }
};

}  // namespace prefer::loss
