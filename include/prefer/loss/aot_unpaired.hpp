// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Alignment via optimal transport on labelled single responses: the distribution of the desirable
/// log-ratios is told to lie above that of the undesirable ones.
///
/// Sorted apart, the i-th smallest desirable log-ratio d = log π(y) - log π_ref(y) of a batch is
/// matched with the i-th smallest undesirable one. Of the couple, with z = β·(d_w - d_l):
///
///     loss of the couple = -(1 - ε)·log σ(z) - ε·log σ(-z)
///
/// This is the formula of one example, its partner being a constant: `score` is the partner's
/// log-ratio (from `aot_partners`, over micro-batches and ranks). An example has half of its
/// couple's loss for a value, and the whole derivative of it with respect to its own log-prob; so
/// the losses of a batch add up to those of the couples, each counted once, and so do the
/// gradients. The mean over couples is had by `normalizer` = the number of couples.
///
/// Inputs: summed log-probs, with reference; labels, each 0 or 1; scores. Ranges: β > 0 finite; 0
/// <= ε < 1/2. Invariants: log(2)/2 at d = score, with slope ±β(ε - 1/2); the derivative is that of
/// `dpo` at the couple, so on one desirable and one undesirable response this is `dpo`. Errors:
/// `validate()` throws `value_error`. One softplus an example.
/// Source: I. Melnyk et al., "Distributional preference alignment of LLMs via optimal transport",
/// 2024, the unpaired setting.
struct aot_unpaired {
    double beta = 0.1;
    double label_smoothing = 0.0;

    static constexpr pair_inputs inputs() {
        return {.reference = true, .scores = true, .labels = true};
    }

    static constexpr bool binary_labels = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &aot_unpaired::beta},
                            parameter{"label_smoothing", &aot_unpaired::label_smoothing}};
    }

    void validate() const {
        require_positive("loss::aot_unpaired", "beta", beta);
        require_flip_rate("loss::aot_unpaired", "label_smoothing", label_smoothing);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        using math::detach;
        using math::softplus;
        using real = math::primal_t<S>;
        real const sign = real(2) * x.label - real(1);
        S const z = real(beta) * sign * (x.completion.log_ratio() - x.completion.score);
        S const couple = softplus(-z) + real(label_smoothing) * z;
        return couple - real(0.5) * detach(couple);
    }
};

}  // namespace prefer::loss
