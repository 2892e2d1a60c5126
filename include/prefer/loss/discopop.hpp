// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sigmoid.hpp>
#include <prefer/math/sigmoid.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// DiscoPOP, the log-ratio modulated loss: logistic for margins below 0, exponential above.
///
/// With z = β·h, h the log-ratio margin of summed log-probs, and m = σ(z/τ):
///
///     loss = (1 - m)·softplus(-z) + m·e^(-z)
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0, τ > 0, finite. Invariants: at h = 0
/// (1 + log 2)/2; 0 for z → +∞; not convex. For small τ it is not monotone either: between the two
/// branches the loss rises from log 2 towards 1, so that the slope is positive around h = 0 (at 0
/// it is β·((1 - log 2)/(4τ) - 3/4), positive for τ below 0.1023); with the paper's τ = 0.05 a pair
/// at margin 0 is pushed down.
/// The second term is computed as exp(log σ(z/τ) - z): m·e^(-z) is 0·∞ for very negative z in the
/// plain form (which peers use). For τ <= 1 the loss is finite for every margin; for τ > 1 the term
/// grows like e^(-z·(1 - 1/τ)) and overflows to infinity, never to NaN.
/// Errors: `validate()` throws `value_error`.
/// Source: C. Lu et al., "Discovering preference optimization algorithms with and for large
/// language models", 2024.
struct discopop {
    double beta = 0.1;
    double tau = 0.05;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr bool score_difference = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &discopop::beta}, parameter{"tau", &discopop::tau}};
    }

    void validate() const {
        require_positive("loss::discopop", "beta", beta);
        require_positive("loss::discopop", "tau", tau);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::exp;
        using math::log_sigmoid;
        using math::sigmoid;
        using math::softplus;
        using real = math::primal_t<S>;
        S const z = real(beta) * p.margin();
        S const gate = z / real(tau);
        return sigmoid(-gate) * softplus(-z) + exp(log_sigmoid(gate) - z);
    }
};

}  // namespace prefer::loss
