// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Binary classifier optimization on pairs (BCO): the chosen response's reward is told to be above,
/// the rejected one's below a shift.
///
/// With the rewards r_w = β·(log π - log π_ref)(y_w) and r_l likewise, of summed log-probs, and the
/// shift δ:
///
///     loss = -log σ(r_w - δ) - log σ(-(r_l - δ)) = softplus(δ - r_w) + softplus(r_l - δ)
///
/// δ is `shift`, a constant in the unit of rewards (nats times β). The paper takes the mean of the
/// rewards seen so far; who wants that sets the member from a running mean before each batch. 0,
/// the default, is what TRL (from 0.29) and Liger-Kernel have; older TRL, ms-swift and
/// LLaMA-Factory shift by a running mean.
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite; δ finite. Invariants: 2·log 2 at
/// r_w = r_l = δ; slopes -σ(δ - r_w) in r_w and σ(r_l - δ) in r_l, so falling with the chosen and
/// rising with the rejected everywhere; convex. No function of the margin.
/// Errors: `validate()` throws `value_error`. Two softplus a pair.
/// Source: S. Jung et al., "Binary classifier optimization for large language model alignment",
/// 2024.
struct bco_pair {
    double beta = 0.1;
    double shift = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &bco_pair::beta},
                            parameter{"shift", &bco_pair::shift}};
    }

    void validate() const {
        require_positive("loss::bco_pair", "beta", beta);
        detail::require(math::is_finite(shift), "loss::bco_pair", "shift", shift, "finite");
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const chosen = real(beta) * p.chosen.log_ratio();
        S const rejected = real(beta) * p.rejected.log_ratio();
        return softplus(real(shift) - chosen) + softplus(rejected - real(shift));
    }
};

}  // namespace prefer::loss
