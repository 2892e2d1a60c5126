// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::loss {

/// Anchored preference optimization, "down": both responses down, the rejected one further. For
/// data whose chosen responses are worse than what the policy writes.
///
/// With the reward r_w = β·(log π - log π_ref)(y_w) and z = β·h, h the log-ratio margin, of summed
/// log-probs:
///
///     loss = σ(r_w) + 1 - σ(z) = σ(r_w) + σ(-z)
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: 1 where policy and
/// reference agree; between 0 and 2; slopes σ'(r_w) - σ'(z) in r_w, of either sign, and σ'(z) in
/// r_l, so rising with the rejected; not convex. No function of the margin.
/// One and the same log-ratio is in both terms; a peer mixed a raw and a transformed one (trl
/// #6441).
/// Errors: `validate()` throws `value_error`. Five exponentials a pair.
/// Source: K. D'Oosterlinck et al., "Anchored preference optimization and contrastive revisions",
/// 2024.
struct apo_down {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &apo_down::beta}}; }

    void validate() const { require_positive("loss::apo_down", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::abs;
        using math::expm1;
        using math::select;
        using math::sigmoid;
        using real = math::primal_t<S>;
        S const chosen = real(beta) * p.chosen.log_ratio();
        S const rejected = real(beta) * p.rejected.log_ratio();
        S const z = real(beta) * p.margin();
        S const apart = sigmoid(chosen) + sigmoid(-z);
        // Close to z = 0 the two slopes in r_w cancel. The same as a product, by
        // σ(a) - σ(b) = σ(a)·σ(-b)·(1 - e^(b-a)), with a - b = r_l:
        auto const upwards = rejected >= real(0);
        S const difference = -expm1(-abs(rejected)) * sigmoid(select(upwards, chosen, -chosen)) *
                             sigmoid(select(upwards, -z, z));
        S const close = real(1) + select(upwards, difference, -difference);
        return select(abs(z) < real(1), close, apart);
    }
};

}  // namespace prefer::loss
