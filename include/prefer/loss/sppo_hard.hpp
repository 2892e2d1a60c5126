// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// Self-play preference optimization with hard labels (SPPO): each log-ratio is told its own value.
///
/// With the log-ratios d_w = (log π - log π_ref)(y_w) and d_l likewise, of summed log-probs:
///
///     loss = (d_w - 1/(2β))² + (d_l + 1/(2β))²
///
/// The paper's targets are η·(P - 1/2), with P the probability that a response beats the policy;
/// hard labels are P = 1 for the chosen, 0 for the rejected, and η is written 1/β here as trainers
/// do: a larger β asks for less.
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: 1/(2β²) at d_w = d_l
/// = 0; never negative, 0 at d_w = 1/(2β) = -d_l alone; slopes 2·(d_w - 1/(2β)) and 2·(d_l +
/// 1/(2β)), so both log-ratios are pulled back beyond their targets; convex, curvature 2 in each.
/// No function of the margin.
/// Errors: `validate()` throws `value_error`.
/// Source: Y. Wu et al., "Self-play preference optimization for language model alignment", 2024.
struct sppo_hard {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &sppo_hard::beta}}; }

    void validate() const { require_positive("loss::sppo_hard", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        real const target = real(1 / (2 * beta));
        S const chosen = p.chosen.log_ratio() - target;
        S const rejected = p.rejected.log_ratio() + target;
        return chosen * chosen + rejected * rejected;
    }
};

}  // namespace prefer::loss
