// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// R-DPO: DPO with a length regularizer in the logit, so that length alone wins nothing.
///
/// With h the log-ratio margin of summed log-probs, and |y| the number of tokens:
///
///     z = β·h + α·(|y_w| - |y_l|),   loss = -log σ(z) = softplus(-z)
///
/// α is `length_penalty`, per token. The sign is the paper's and oat's: a longer chosen response
/// counts as partly explained by its length, and is pushed less.
/// Inputs: summed log-probs, with reference, and lengths. Ranges: β > 0, α >= 0, finite.
/// Invariants: `dpo` for responses of equal length, and everywhere for α = 0; log(1 + e^(α·(|y_l| -
/// |y_w|))) at h = 0; slope in h -β·σ(-z), so falling everywhere; convex.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: R. Park et al., "Disentangling length from quality in direct preference optimization",
/// 2024. Not the "length-normalized" DPO, which is `dpo` with averaged log-probs.
struct r_dpo {
    double beta = 0.1;
    double length_penalty = 0.01;

    static constexpr pair_inputs inputs() { return {.reference = true, .lengths = true}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &r_dpo::beta},
                            parameter{"length_penalty", &r_dpo::length_penalty}};
    }

    void validate() const {
        require_positive("loss::r_dpo", "beta", beta);
        require_not_negative("loss::r_dpo", "length_penalty", length_penalty);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        auto const longer = real(length_penalty) * (p.chosen.length - p.rejected.length);
        S const z = real(beta) * p.margin() + longer;
        return softplus(-z);
    }
};

}  // namespace prefer::loss
