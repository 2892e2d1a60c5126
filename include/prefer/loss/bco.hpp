// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Binary classifier optimization: the implicit reward as the logit of "desirable".
///
/// With d = log π(y) - log π_ref(y) of summed log-probs and z = β·d - δ:
///
///     loss = -log σ(z)    where the label is 1 (desirable)
///     loss = -log σ(-z)   where it is 0 (undesirable)
///
/// δ is `shift`: the mean reward of both kinds of examples, a constant of the formula. It is a
/// statistic of the run: set it to `bco_running_mean::mean()` before each step. Where prompts of
/// the two kinds differ, the undesirable examples are weighted by density ratios: give the batch
/// the weights that `bco_density_weights` writes.
///
/// Inputs: summed log-probs, with reference; labels, each 0 or 1. Ranges: β > 0 finite; δ finite.
/// Invariants: log 2 at β·d = δ; slope in z -σ(-z), σ(z); convex. Errors: `validate()` throws
/// `value_error`. One softplus an example.
/// Source: S. Jung et al., "Binary classifier optimization for large language model alignment",
/// 2024. `bco_pair` is the paired form, without a shift.
struct bco {
    double beta = 0.1;
    double shift = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = true, .labels = true}; }

    static constexpr bool binary_labels = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &bco::beta}, parameter{"shift", &bco::shift}};
    }

    void validate() const {
        require_positive("loss::bco", "beta", beta);
        detail::require(math::is_finite(shift), "loss::bco", "shift", shift, "finite");
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        using math::softplus;
        using real = math::primal_t<S>;
        real const sign = real(2) * x.label - real(1);
        S const z = real(beta) * x.completion.log_ratio() - real(shift);
        return softplus(-sign * z);
    }
};

}  // namespace prefer::loss
