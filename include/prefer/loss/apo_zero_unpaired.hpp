// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::loss {

/// Anchored preference optimization, "zero", on labelled single responses.
///
/// With d = log π(y) - log π_ref(y) of summed log-probs:
///
///     loss = w_d·(1 - σ(β·d))   where the label is 1 (desirable)
///     loss = w_u·σ(β·d)         where it is 0 (undesirable)
///
/// It is `kto` anchored at the reference policy (z0 = 0), so it needs no statistic of the batch; on
/// the two responses of a pair its sum is `apo_zero`.
///
/// Inputs: summed log-probs, with reference; labels, each 0 or 1. Ranges: β > 0 finite; weights >=
/// 0 finite. Invariants: w/2 at d = 0, between 0 and w everywhere; slope in d -s·w·β·σ(βd)·σ(-βd)
/// with s = +1, -1; not convex. Errors: `validate()` throws `value_error`. One sigmoid an example.
/// Source: K. D'Oosterlinck et al., "Anchored preference optimization and contrastive revisions",
/// 2024, APO-zero; unpaired as in TRL's KTO trainer, with the class weights of `kto`.
struct apo_zero_unpaired {
    double beta = 0.1;
    double desirable_weight = 1.0;
    double undesirable_weight = 1.0;

    static constexpr pair_inputs inputs() { return {.reference = true, .labels = true}; }

    static constexpr bool binary_labels = true;

    static constexpr auto parameters() {
        return ::std::tuple{
            parameter{"beta", &apo_zero_unpaired::beta},
            parameter{"desirable_weight", &apo_zero_unpaired::desirable_weight},
            parameter{"undesirable_weight", &apo_zero_unpaired::undesirable_weight}};
    }

    void validate() const {
        char const* const name = "loss::apo_zero_unpaired";
        require_positive(name, "beta", beta);
        require_not_negative(name, "desirable_weight", desirable_weight);
        require_not_negative(name, "undesirable_weight", undesirable_weight);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        using math::select;
        using math::sigmoid;
        using real = math::primal_t<S>;
        real const sign = real(2) * x.label - real(1);
        real const weight =
            select(x.label > real(0.5), real(desirable_weight), real(undesirable_weight));
        S const z = real(beta) * x.completion.log_ratio();
        return weight * sigmoid(-sign * z);
    }
};

}  // namespace prefer::loss
