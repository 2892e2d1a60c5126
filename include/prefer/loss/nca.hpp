// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Noise contrastive alignment on pairs (NCA): absolute rewards instead of their difference.
///
/// With the rewards r_w = β·(log π - log π_ref)(y_w) and r_l likewise, of summed log-probs:
///
///     loss = -log σ(r_w) - log σ(-r_w)/2 - log σ(-r_l)/2
///          = softplus(-r_w) + softplus(r_w)/2 + softplus(r_l)/2
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: 2·log 2 at r_w = r_l
/// = 0; slopes (3/2)·σ(r_w) - 1 in r_w, which changes sign at r_w = log 2, and σ(r_l)/2 in r_l; so
/// the rejected always falls and the chosen is held at a finite reward; convex. It is no function
/// of the margin: what both responses share counts.
/// Errors: `validate()` throws `value_error`. Two softplus a pair.
/// Source: H. Chen et al., "Noise contrastive alignment of language models with explicit rewards",
/// 2024; trainers call it nca_pair.
struct nca {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &nca::beta}}; }

    void validate() const { require_positive("loss::nca", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const chosen = real(beta) * p.chosen.log_ratio();
        S const rejected = real(beta) * p.rejected.log_ratio();
        // softplus(r_w) is r_w + softplus(-r_w)
        return real(1.5) * softplus(-chosen) + real(0.5) * (chosen + softplus(rejected));
    }
};

}  // namespace prefer::loss
