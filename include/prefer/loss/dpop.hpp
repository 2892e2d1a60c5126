// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// DPO-Positive: DPO with a penalty inside, where the chosen response has become less likely than
/// under the reference.
///
/// With h the log-ratio margin and d_w = (log π - log π_ref)(y_w), of summed log-probs:
///
///     z = β·(h - λ·max(0, -d_w)),   loss = -log σ(z) = softplus(-z)
///
/// λ is `penalty`. Inputs: summed log-probs, with reference. Ranges: β > 0, λ >= 0, finite.
/// Invariants: log 2 where policy and reference agree; `dpo` where d_w >= 0, and everywhere for λ =
/// 0; where d_w < 0 the slope in log π(y_w) is 1 + λ times as steep; at the corner, d_w = 0, it is
/// that of `dpo`; falling with the chosen and rising with the rejected everywhere; convex. The
/// penalty is inside the logarithm, as in the paper's formula and in oat; early ports added it
/// outside (abacusai/smaug #2), which is another loss.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: A. Pal et al., "Smaug: fixing failure modes of preference optimisation with
/// DPO-Positive", 2024, eq. (3), and λ = 50.
struct dpop {
    double beta = 0.1;
    double penalty = 50.0;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &dpop::beta}, parameter{"penalty", &dpop::penalty}};
    }

    void validate() const {
        require_positive("loss::dpop", "beta", beta);
        require_not_negative("loss::dpop", "penalty", penalty);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::max;
        using math::softplus;
        using real = math::primal_t<S>;
        S const lost = max(S(real(0)), -p.chosen.log_ratio());
        S const z = real(beta) * (p.margin() - real(penalty) * lost);
        return softplus(-z);
    }
};

}  // namespace prefer::loss
