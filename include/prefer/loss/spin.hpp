// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// Self-play fine-tuning (SPIN): the logistic loss of `dpo`, where the chosen response is the one
/// of the data and the rejected one was written by the reference, the policy of the round before.
///
///     loss = -log σ(z),   z = β·h
///
/// What differs from `dpo` is where the pairs come from, and the default of β (NeMo-Aligner's; the
/// paper calls it λ and has other losses beside the logistic one).
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: those of `dpo`
/// without smoothing. Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: Z. Chen et al., "Self-play fine-tuning converts weak language models to strong language
/// models", 2024.
struct spin {
    double beta = 0.2;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &spin::beta}}; }

    void validate() const { require_positive("loss::spin", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        return dpo{.beta = beta}(p);
    }
};

}  // namespace prefer::loss
