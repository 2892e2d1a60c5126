// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/bernoulli_kl.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// How `reward_aware_rpo` compares the policy's reward gap z with the given one g.
enum class rpo_divergence {
    backward_kl,  ///< KL(σ(g) ‖ σ(z)): cross-entropy with a soft label; convex
    forward_kl,   ///< KL(σ(z) ‖ σ(g)): bounded
    squared,      ///< (z - g)²
};

/// Reward-aware preference optimization: the reward gap of the policy is matched with the gap of
/// given scores, instead of being made as large as it can be.
///
/// With z = β·h, h the log-ratio margin of summed log-probs, and g = scale·(score_w - score_l):
///
///     loss = KL(σ(g) ‖ σ(z)),  KL(σ(z) ‖ σ(g))  or  (z - g)²
///
/// Inputs: summed log-probs, with reference; the responses' scores (`scale`, η in the paper, turns
/// their unit into that of β·h; NeMo-Aligner's gt_reward_scale). Ranges: β > 0, scale > 0, finite.
/// Invariants: never negative, and 0 at z = g alone, for all three; slope in z σ(z) - σ(g),
/// σ'(z)·(z - g), 2·(z - g); the first and the third are convex. The names of the two divergences
/// are NeMo-Aligner's. A chosen response with the lower score has a negative target.
/// "RPO" is also the name of DPO plus a likelihood term, which is another loss, and with `squared`
/// and 1/β as the step size this is `rebel` up to a factor.
/// Errors: `validate()` throws `value_error`.
/// Source: NVIDIA, "Nemotron-4 340B technical report", 2024; S. Sun et al., "Reward-aware
/// preference optimization", 2025.
struct reward_aware_rpo {
    double beta = 0.1;
    double scale = 1.0;
    rpo_divergence divergence = rpo_divergence::backward_kl;

    static constexpr pair_inputs inputs() { return {.reference = true, .scores = true}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &reward_aware_rpo::beta},
                            parameter{"scale", &reward_aware_rpo::scale},
                            parameter{"divergence", &reward_aware_rpo::divergence}};
    }

    void validate() const {
        require_positive("loss::reward_aware_rpo", "beta", beta);
        require_positive("loss::reward_aware_rpo", "scale", scale);
        require_enumerator("loss::reward_aware_rpo", "divergence", static_cast<int>(divergence), 3);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        S const z = real(beta) * p.margin();
        real const g = real(scale) * (p.chosen.score - p.rejected.score);
        if (divergence == rpo_divergence::backward_kl) return bernoulli_kl(g, z);
        if (divergence == rpo_divergence::forward_kl) return bernoulli_kl(z, g);
        return (z - g) * (z - g);
    }
};

}  // namespace prefer::loss
