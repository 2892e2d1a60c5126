// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/modifier.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// A loss plus the negative log-likelihood of the chosen response ("RPO" of the DPO + NLL kind).
///
///     loss + w·NLL,   NLL = -log π(y_w|x), of the sum or per token
///
/// w is `weight`, on the NLL term alone; the form with α on the other term is
/// `with_nll{mixture{weighted{loss, α}}, 1}`. `of` is whether the NLL is the response's sum or its
/// average over tokens. The default is the average: the mean over pairs is then a mean of sequence
/// means, as in OpenRLHF, LLaMA-Factory and oat; NeMo offers both. TRL (`rpo_alpha`) and Liger
/// divide by the tokens of the batch: that is `summed`, and `weight` times pairs/tokens.
///
/// The scope is the counted tokens, here as everywhere: those of the response. A prompt or padding
/// is inside only if the caller's labels count it. Inputs: those of the loss; lengths for an
/// averaged NLL. Ranges: w >= 0, finite. Invariants: adds a slope of -w (or -w/|yw|) in
/// log π(y_w), and nothing to the rejected; an empty response has NLL 0. Reported rewards are those
/// of the loss. Errors: `validate()` throws `value_error`.
///
/// ```cpp
/// auto const loss = prefer::loss::with_nll{prefer::loss::dpo{.beta = 0.1}, 0.2};
/// ```
///
/// Source: R. Y. Pang et al., "Iterative reasoning preference optimization", 2024 (2404.19733);
/// its versions differ in which of the two terms carries the weight.
template <class Loss>
struct with_nll {
    static_assert(pair_loss<Loss>,
                  "prefer: with_nll is made of pair losses: callable with prefer::pair<S>, for S = "
                  "double and for dual numbers");

    Loss loss{};
    double weight = 1.0;
    log_probs of = log_probs::averaged;

    constexpr pair_inputs inputs() const
        requires detail::declares_inputs<Loss>
    {
        return detail::either_inputs(detail::inputs_of(loss),
                                     {.lengths = of == log_probs::averaged});
    }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"loss", &with_nll::loss},
                            parameter{"weight", &with_nll::weight}, parameter{"of", &with_nll::of}};
    }

    PREFER_HOST_DEVICE constexpr Loss const& rewarded() const { return loss; }

    void validate() const {
        detail::validate_loss(loss);
        require_not_negative("loss::with_nll", "weight", weight);
        require_enumerator("loss::with_nll", "of", static_cast<int>(of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        S const log_likelihood =
            of == log_probs::averaged ? p.chosen.mean_policy() : p.chosen.policy;
        return loss(p) - real(weight) * log_likelihood;
    }
};

template <class Loss>
with_nll(Loss, double = 1.0, log_probs = log_probs::averaged) -> with_nll<Loss>;

}  // namespace prefer::loss
