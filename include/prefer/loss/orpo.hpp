// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log1mexp.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// Odds ratio preference optimization: a likelihood term, and the log odds ratio of the responses.
///
/// With l̄ = log π(y|x)/|y|, the log-prob of a response per token, and logit its log-odds:
///
///     loss     = -w·l̄_w - β·log σ(logit_w - logit_l)
///     logit(l̄) = log(p/(1 - p)) = l̄ - log(1 - e^l̄),   p = e^l̄
///
/// β is the weight of the odds term (λ in the paper, `beta` in trainers) and no temperature; w is
/// `nll_weight`, on the per-token average or, by `nll_of`, on the sum. The likelihood is that of
/// the counted tokens of the chosen response (as LLaMA-Factory has it). TRL's is over prompt and
/// response, as a mean over the tokens of the batch, axolotl's over padding too: for another scope
/// set w to 0 and add `sft` of the sequences that are meant; for the token mean see `cpo`.
///
/// The log-odds lose no digit near p = 1. They are infinite at l̄ = 0 exactly: from -2^-511 (-2^-63
/// in float) on, also for what rounding lifts above 0, their value and slope are those at this
/// number, so that the loss and its derivatives are finite (log-odds 354, in float 44). For the
/// chosen that is the limit of the slope, -β·e^logit_l; for the rejected it is up to β·2^511
/// (β·2^63) instead of infinity. An empty response counts as l̄ = 0 with gradient 0.
/// Inputs: lengths, no reference. Ranges: β >= 0, w >= 0, finite. Invariants: β·log 2 - w·l̄ at
/// equal averages; falls with the chosen, rises with the rejected; not convex. Errors: `validate()`
/// throws `value_error`. One softplus and two log1mexp a pair.
/// Source: J. Hong et al., "ORPO: monolithic preference optimization without reference model",
/// 2024 (2403.07691), eqs. (6) and (7). log(1 - e^l̄): M. Mächler 2012.
struct orpo {
    double beta = 0.1;
    double nll_weight = 1.0;
    log_probs nll_of = log_probs::averaged;

    static constexpr pair_inputs inputs() { return {.reference = false, .lengths = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &orpo::beta},
                            parameter{"nll_weight", &orpo::nll_weight},
                            parameter{"nll_of", &orpo::nll_of}};
    }

    void validate() const {
        require_not_negative("loss::orpo", "beta", beta);
        require_not_negative("loss::orpo", "nll_weight", nll_weight);
        require_enumerator("loss::orpo", "nll_of", static_cast<int>(nll_of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const mean = p.chosen.mean_policy();
        S const log_odds_ratio = log_odds(mean) - log_odds(p.rejected.mean_policy());
        S const log_likelihood = nll_of == log_probs::averaged ? mean : p.chosen.policy;
        return real(beta) * softplus(-log_odds_ratio) - real(nll_weight) * log_likelihood;
    }

private:
    template <class S>
    PREFER_HOST_DEVICE static S log_odds(S const& log_prob) {
        using math::detach;
        using math::log1mexp;
        using math::max;
        using math::select;
        using real = math::primal_t<S>;
        // The square is a normal number, so no product of slopes there overflows or underflows.
        constexpr double tiny = sizeof(math::lane_t<S>) < sizeof(double) ? 0x1p-63 : 0x1p-511;
        // The limit has the derivatives of the log-prob, or the chosen would not be pulled back.
        S const limit = (log_prob - detach(log_prob)) - real(tiny);
        S const x = select(log_prob < real(-tiny), log_prob, limit);
        // Below -80, 1 - e^x is 1, but the derivatives would have e^-x.
        return x - log1mexp(max(S(real(-80)), x));
    }
};

}  // namespace prefer::loss
