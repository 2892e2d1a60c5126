// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::loss {

/// Anchored preference optimization, "zero": the chosen response up, the rejected one down, each by
/// itself. For data whose chosen responses are better than what the policy writes.
///
/// With the rewards r_w = β·(log π - log π_ref)(y_w) and r_l likewise, of summed log-probs:
///
///     loss = 1 - σ(r_w) + σ(r_l) = σ(-r_w) + σ(r_l)
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: 1 at r_w = r_l = 0;
/// between 0 and 2; slopes -σ'(r_w) and σ'(r_l), so falling with the chosen and rising with the
/// rejected everywhere, and flat where a reward is far from 0; not convex. No function of the
/// margin.
/// Errors: `validate()` throws `value_error`. Two exponentials a pair.
/// Source: K. D'Oosterlinck et al., "Anchored preference optimization and contrastive revisions",
/// 2024.
struct apo_zero {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &apo_zero::beta}}; }

    void validate() const { require_positive("loss::apo_zero", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::sigmoid;
        using real = math::primal_t<S>;
        return sigmoid(-(real(beta) * p.chosen.log_ratio())) +
               sigmoid(real(beta) * p.rejected.log_ratio());
    }
};

}  // namespace prefer::loss
