// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Alignment via optimal transport (AOT) on pairs: the distribution of the policy's margins over a
/// batch is told to lie above that of the reference's margins.
///
///     z = β·(log π(y_w) - log π(y_l) - offset),   loss = -(1 - ε)·log σ(z) - ε·log σ(-z)
///
/// This is the formula of one pair. `offset` of the i-th largest policy margin log π(y_w) - log
/// π(y_l) of a batch is the i-th largest reference margin of that batch, whichever pair that
/// belongs to; the offsets are statistics of the batch, constants here. With a pair's own reference
/// margin for an offset, and so in a batch of one, this is `dpo`.
/// Inputs: summed log-probs, and offsets. The reference enters by them; it is asked for all the
/// same, so that rewards are reported as log-ratios. Ranges: β > 0 finite; 0 <= ε < 1/2.
/// Invariants: those of `dpo` in z: log 2 at z = 0, slope in z ε - σ(-z), convex.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: I. Melnyk et al., "Distributional preference alignment of LLMs via optimal transport",
/// 2024.
struct aot {
    double beta = 0.1;
    double label_smoothing = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = true, .offsets = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &aot::beta},
                            parameter{"label_smoothing", &aot::label_smoothing}};
    }

    void validate() const {
        require_positive("loss::aot", "beta", beta);
        require_flip_rate("loss::aot", "label_smoothing", label_smoothing);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const z = real(beta) * (p.chosen.policy - p.rejected.policy - p.offset);
        return softplus(-z) + real(label_smoothing) * z;
    }
};

}  // namespace prefer::loss
