// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// The hinge on normalised log-ratios ("hinge-norm", the loss that trainers call RSO or hinge).
///
///     loss = max(0, 1 - β·h),   h the log-ratio margin of summed log-probs
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite (the paper's γ); 1/β is the
/// margin asked for, in nats. Invariants: 1 at h = 0; 0 from h = 1/β on; slope in z = β·h is -1
/// before the corner and 0 at and behind it; convex. Errors: `validate()` throws `value_error`.
/// `slic` is the reference-free hinge, which is another loss.
/// Source: 2309.06657 (RSO), the hinge-norm loss; 2411.01493, eq. (12), where it is called SLiC.
struct hinge_norm {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true, .lengths = false}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &hinge_norm::beta}};
    }

    void validate() const { require_positive("loss::hinge_norm", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::max;
        using real = math::primal_t<S>;
        return max(S(real(0)), real(1) - real(beta) * p.margin());
    }
};

}  // namespace prefer::loss
