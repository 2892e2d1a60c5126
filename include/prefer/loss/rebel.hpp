// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// REBEL: regression of the policy's relative reward to the given one.
///
/// With h the log-ratio margin of summed log-probs, and the responses' scores:
///
///     loss = (h/η - (score_w - score_l))²
///
/// The reference is the policy that wrote the responses, π_t of the paper; η is its step size.
/// Which response is called chosen does not matter: exchanging the two changes nothing.
/// Inputs: summed log-probs, with reference, and scores. Ranges: η > 0 finite. Invariants: the
/// squared score difference at h = 0; never negative, 0 at h = η·(score_w - score_l); slope in h
/// 2·(h/η - score_w + score_l)/η; convex, curvature 2/η².
/// Reported rewards are bare log-ratios (there is no member `beta`): η times what is regressed to
/// the scores.
/// Errors: `validate()` throws `value_error`.
/// Source: Z. Gao et al., "REBEL: reinforcement learning via regressing relative rewards", 2024.
struct rebel {
    double eta = 1.0;

    static constexpr pair_inputs inputs() { return {.reference = true, .scores = true}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() { return ::std::tuple{parameter{"eta", &rebel::eta}}; }

    void validate() const { require_positive("loss::rebel", "eta", eta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        S const gap = p.margin() / real(eta) - (p.chosen.score - p.rejected.score);
        return gap * gap;
    }
};

}  // namespace prefer::loss
