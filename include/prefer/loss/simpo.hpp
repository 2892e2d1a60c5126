// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// What the number given as SimPO's γ is. Both are in print under the same name.
enum class simpo_gamma {
    ratio,     ///< γ/β: the margin asked for, in the unit of the log-probs (nats per token)
    absolute,  ///< γ: subtracted after the multiplication by β
};

/// Simple preference optimization: the average log-prob as the reward, and a target margin.
///
/// With l̄ = log π(y|x)/|y| and smoothing ε:
///
///     loss = -(1 - ε)·log σ(u) - ε·log σ(-u) = softplus(-u) + ε·u
///     u    = β·(l̄_w - l̄_l - gamma)      gamma_is == ratio, gamma being γ/β
///     u    = β·(l̄_w - l̄_l) - gamma      gamma_is == absolute, gamma being γ
///
/// The ratio is what SimPO's authors, HALOs, oat and open-instruct take, the absolute γ what TRL,
/// Liger, LLaMA-Factory and axolotl take. The defaults are those of the authors' code; their paper
/// advises β from 2 to 10 and ratios from 0.1 to 0.8. TRL's β 0.1 with γ 0.5 asks for 5 nats per
/// token. The division by the length happens here: the policy's numbers are sums.
/// Inputs: lengths, no reference. Ranges: β > 0, gamma >= 0, finite; 0 <= ε < 1/2. Invariants: log
/// 2 at u = 0; slope in u -σ(-u) + ε; convex. An empty response has average 0 and gradient 0.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: Y. Meng et al., "SimPO: simple preference optimization with a reference-free reward",
/// 2024 (2405.14734), eq. (6). For an added likelihood term see `with_nll`; `alpha_po` has other
/// shapes of the reward.
struct simpo {
    double beta = 2.0;
    double gamma = 0.25;
    simpo_gamma gamma_is = simpo_gamma::ratio;
    double label_smoothing = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = false, .lengths = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &simpo::beta}, parameter{"gamma", &simpo::gamma},
                            parameter{"gamma_is", &simpo::gamma_is},
                            parameter{"label_smoothing", &simpo::label_smoothing}};
    }

    void validate() const {
        require_positive("loss::simpo", "beta", beta);
        require_not_negative("loss::simpo", "gamma", gamma);
        require_enumerator("loss::simpo", "gamma_is", static_cast<int>(gamma_is), 2);
        require_flip_rate("loss::simpo", "label_smoothing", label_smoothing);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        double const target = gamma_is == simpo_gamma::ratio ? beta * gamma : gamma;
        S const gap = p.chosen.mean_policy() - p.rejected.mean_policy();
        S const u = real(beta) * gap - real(target);
        return softplus(-u) + real(label_smoothing) * u;
    }
};

}  // namespace prefer::loss
