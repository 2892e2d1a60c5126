// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/modifier.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// Exploratory preference optimization: an online pair loss with an optimism bonus.
///
///     loss + α·log π(y_ref|x)
///
/// One response of the pair was drawn from the policy and one, y_ref, from the reference.
/// `pair::label` says which, and nothing else: 1 (above 1/2) where the chosen one was, 0 where the
/// rejected one was. The bonus pushes the policy off what the reference already says. `loss` is any
/// loss that reads no label itself; DPO in the paper, also IPO in TRL.
///
/// Inputs: those of the loss, and labels. Ranges: α >= 0, finite; TRL's 1e-5. Invariants: adds a
/// slope of α in the summed log π(y_ref), so that far out the loss is no longer monotone; α = 0 is
/// the loss. Reported rewards are those of the loss. Errors: `validate()` throws `value_error`,
/// also for a loss that reads labels.
///
/// ```cpp
/// auto const loss = prefer::loss::xpo{prefer::loss::dpo{.beta = 0.1}, 1e-5};
/// ```
///
/// Source: T. Xie et al., "Exploratory preference optimization: harnessing implicit
/// Q*-approximation for sample-efficient RLHF", 2024 (2405.21046), algorithm 1.
template <class Loss = dpo>
struct xpo {
    static_assert(pair_loss<Loss>,
                  "prefer: xpo is made of pair losses: callable with prefer::pair<S>, for S = "
                  "double and for dual numbers");

    Loss loss{};
    double alpha = 1e-5;

    constexpr pair_inputs inputs() const
        requires detail::declares_inputs<Loss>
    {
        return detail::either_inputs(detail::inputs_of(loss), {.labels = true});
    }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"loss", &xpo::loss}, parameter{"alpha", &xpo::alpha}};
    }

    PREFER_HOST_DEVICE constexpr Loss const& rewarded() const { return loss; }

    void validate() const {
        detail::validate_loss(loss);
        require_not_negative("loss::xpo", "alpha", alpha);
        if (detail::inputs_of(loss).labels) {
            throw value_error("prefer::loss::xpo: its loss reads labels, but here they say which "
                              "response the reference drew");
        }
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::select;
        using real = math::primal_t<S>;
        S const drawn = select(p.label > real(0.5), p.chosen.policy, p.rejected.policy);
        return loss(p) + real(alpha) * drawn;
    }
};

template <class Loss>
xpo(Loss, double = 1e-5) -> xpo<Loss>;

}  // namespace prefer::loss
