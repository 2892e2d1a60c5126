// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// The Bradley-Terry loss of a reward model, with margins, soft labels and centring.
///
/// A response's `policy` is here the score r that the model gives it; there is no reference. With
/// m = r_w - r_l - offset, and q the probability that the chosen response is the better one:
///
///     loss = -q·log σ(m) - (1 - q)·log σ(-m) + c·(r_w + r_l)²
///     q    = (1 - ε)·label + ε·(1 - label)
///
/// The pair's `label` is that probability as annotated (default 1), ε `label_smoothing`, the pair's
/// `offset` the margin asked for (default 0, which is also what a missing margin means), c
/// `center`. The centring term takes away the freedom to add a constant to all rewards of a prompt.
/// A loss *scaled* by a margin (NeMo-Aligner's "scaled") is this one with the margin as the pair's
/// weight.
/// Inputs: labels and offsets. Ranges: 0 <= label <= 1, offset finite; 0 <= ε < 1/2; c >= 0 finite.
/// Invariants: log 2 at m = 0 without centring; slope in m σ(m) - q, and 2c·(r_w + r_l) more in
/// either score; convex; exchanging the responses and taking 1 - label and -offset changes nothing.
/// Scores of 16 bits are widened before the difference. Reported rewards are the scores.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: R. A. Bradley, M. E. Terry 1952; 2405.07863, the reward model's loss; margin: H. Touvron
/// et al., "Llama 2", 2023, eq. (2); centring: J. Eisenstein et al. 2023, 0.01 in TRL's advice.
struct bradley_terry {
    double label_smoothing = 0.0;
    double center = 0.0;

    static constexpr pair_inputs inputs() { return {.labels = true, .offsets = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"label_smoothing", &bradley_terry::label_smoothing},
                            parameter{"center", &bradley_terry::center}};
    }

    void validate() const {
        require_flip_rate("loss::bradley_terry", "label_smoothing", label_smoothing);
        require_not_negative("loss::bradley_terry", "center", center);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::min;
        using math::select;
        using math::softplus;
        using real = math::primal_t<S>;
        real const flip = real(label_smoothing);
        real const other = real(1) - p.label;
        real const right = (real(1) - flip) * p.label + flip * other;
        real const wrong = (real(1) - flip) * other + flip * p.label;
        // For the likelier outcome, so that nothing cancels: the other's weight is at most 1/2.
        S const m = p.chosen.policy - p.rejected.policy - p.offset;
        S const ahead = select(right >= wrong, m, -m);
        S const loss = softplus(-ahead) + min(right, wrong) * ahead;
        if (center <= 0) return loss;
        S const sum = p.chosen.policy + p.rejected.policy;
        return loss + real(center) * (sum * sum);
    }
};

}  // namespace prefer::loss
