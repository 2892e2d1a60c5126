// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// The margin that IPO regresses to. Both are in print under the same symbol β.
enum class ipo_target {
    half_inverse_beta,  ///< 1/(2β): a larger β asks for a smaller margin
    half_beta,          ///< β/2: a larger β asks for a larger margin
};

/// Identity preference optimization: the squared distance of the margin from a finite target.
///
///     loss = (h - target)²,   target = 1/(2β) or β/2
///
/// h is the log-ratio margin, of the per-token averages or of the sums. These are different losses,
/// and trainers disagree: averaged in TRL's DPO and CPO trainers, LLaMA-Factory, ms-swift, oat and
/// HALOs (and what the authors told TRL they meant); summed in the paper's formula, TRL's online
/// trainer, OpenRLHF, and by default NeMo-Aligner. Both choices are members here, `averaged` and
/// `half_inverse_beta` being the defaults.
///
/// Inputs: with reference; averages need the responses' lengths. Ranges: β > 0 finite. Invariants:
/// target² at h = 0; 0 at h = target, and never negative; slope 2(h - target), so it pulls the
/// margin back once it is past the target; curvature 2. An empty response has average 0 and
/// gradient 0.
/// Errors: `validate()` throws `value_error`.
/// Source: M. G. Azar et al. 2023, eq. (17); 2404.09656, eq. (3); 2411.01493, eq. (11) for 1/(2β);
/// 2405.08448, eq. (1) for β/2 (its text says that a larger β binds the policy more tightly; by its
/// formula, a larger β lets it go further).
struct ipo {
    double beta = 0.1;
    log_probs margin_of = log_probs::averaged;
    ipo_target target = ipo_target::half_inverse_beta;

    constexpr pair_inputs inputs() const {
        return {.reference = true, .lengths = margin_of == log_probs::averaged};
    }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &ipo::beta}, parameter{"margin_of", &ipo::margin_of},
                            parameter{"target", &ipo::target}};
    }

    void validate() const {
        require_positive("loss::ipo", "beta", beta);
        require_enumerator("loss::ipo", "margin_of", static_cast<int>(margin_of), 2);
        require_enumerator("loss::ipo", "target", static_cast<int>(target), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        S const h = margin_of == log_probs::averaged ? p.mean_margin() : p.margin();
        S const gap = h - real(target == ipo_target::half_beta ? beta / 2 : 1 / (2 * beta));
        return gap * gap;
    }
};

}  // namespace prefer::loss
