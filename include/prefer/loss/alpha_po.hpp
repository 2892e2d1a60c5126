// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/loss/simpo.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// AlphaPO: SimPO with the shape of the reward as a parameter.
///
/// With l̄ = log π(y|x)/|y|, the average probability p = e^l̄ of a token, and smoothing ε:
///
///     r(l̄) = (1 - p^-α)/α = (1 - e^(-α·l̄))/α,   l̄ at α = 0
///     loss = -(1 - ε)·log σ(u) - ε·log σ(-u) = softplus(-u) + ε·u
///     u    = β·(r_w - r_l - gamma)  or  β·(r_w - r_l) - gamma,   by gamma_is, as in `simpo`
///
/// α > 0 punishes small probabilities more than the logarithm, α < 0 less. Computed by expm1, so
/// continuous at α = 0, which is `simpo`. The reward of a response grows like e^(α·|l̄|) and would
/// overflow, and two such rewards cancel to NaN: where -α·l̄ passes 600 (60 in float) the
/// exponential goes on as its tangent. There the loss is an astronomic number in any case; it stays
/// finite and keeps its order.
/// Inputs: lengths, no reference. Ranges: α finite; β > 0, gamma >= 0, finite; 0 <= ε < 1/2.
/// Invariants: log 2 at u = 0; slopes in l̄ are those of `simpo` times e^(-α·l̄) of the response;
/// convex for α = 0 only. An empty response has average 0, reward 0 and gradient 0. Errors:
/// `validate()` throws `value_error`.
/// Source: A. Gupta et al., "AlphaPO: reward shape matters for LLM alignment", 2025 (2501.03884).
/// The default α is one of the authors' settings; TRL's is 0. TRL applies the shape to the summed
/// log-probs of its other losses too, through a power of e^l that underflows; that is not here.
struct alpha_po {
    double alpha = 0.25;
    double beta = 2.0;
    double gamma = 0.25;
    simpo_gamma gamma_is = simpo_gamma::ratio;
    double label_smoothing = 0.0;

    static constexpr pair_inputs inputs() { return {.reference = false, .lengths = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{
            parameter{"alpha", &alpha_po::alpha}, parameter{"beta", &alpha_po::beta},
            parameter{"gamma", &alpha_po::gamma}, parameter{"gamma_is", &alpha_po::gamma_is},
            parameter{"label_smoothing", &alpha_po::label_smoothing}};
    }

    void validate() const {
        detail::require(math::is_finite(alpha), "loss::alpha_po", "alpha", alpha, "finite");
        require_positive("loss::alpha_po", "beta", beta);
        require_not_negative("loss::alpha_po", "gamma", gamma);
        require_enumerator("loss::alpha_po", "gamma_is", static_cast<int>(gamma_is), 2);
        require_flip_rate("loss::alpha_po", "label_smoothing", label_smoothing);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        double const target = gamma_is == simpo_gamma::ratio ? beta * gamma : gamma;
        S const gap = shaped(p.chosen.mean_policy()) - shaped(p.rejected.mean_policy());
        S const u = real(beta) * gap - real(target);
        return softplus(-u) + real(label_smoothing) * u;
    }

private:
    /// The reward r of an average log-prob.
    template <class S>
    PREFER_HOST_DEVICE S shaped(S const& mean) const {
        using math::expm1;
        using math::min;
        using real = math::primal_t<S>;
        if (math::abs(alpha) < 1e-25) return mean;  // the difference is below rounding
        constexpr double last = sizeof(math::lane_t<S>) < sizeof(double) ? 60 : 600;
        S const x = real(-alpha) * mean;
        S const bounded = min(x, S(real(last)));
        S const e = expm1(bounded);
        return (e + (e + real(1)) * (x - bounded)) / real(-alpha);
    }
};

}  // namespace prefer::loss
