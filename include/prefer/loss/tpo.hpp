// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::loss {

/// The preference term of triple preference optimization (TPO, and TPO-L of averages).
///
/// With l = log π(y|x), of the sum or per token by `margin_of`, and smoothing ε:
///
///     loss = -(1 - ε)·log σ(z) - ε·log σ(-z) = softplus(-z) + ε·z
///     z    = β·(l_w - l_l) - γ
///
/// TPO is of sums with γ = 0, the defaults; TPO-L is `{.gamma = 0.5, .margin_of =
/// log_probs::averaged}` with TRL's γ, which is absolute here as in the paper (`simpo` also takes
/// γ/β). The third response of the method, the gold one, is not a member of the pair: its term
/// α·NLL(y_gold) is `sft{.weight = α}` on the gold responses, and the total is the sum of the two
/// evaluations. So there is no member α here.
/// Inputs: no reference; averages need the responses' lengths. Ranges: β > 0, γ >= 0, finite;
/// 0 <= ε < 1/2. Invariants: log 2 at z = 0; slope in z -σ(-z) + ε; convex. An empty response has
/// average 0 and gradient 0. Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: A. Saeidi et al., "Triple preference optimization: achieving better alignment in a
/// single step optimization", 2024 (2405.16681). Smoothing and defaults as in TRL.
struct tpo {
    double beta = 0.01;
    double gamma = 0.0;
    double label_smoothing = 0.0;
    log_probs margin_of = log_probs::summed;

    constexpr pair_inputs inputs() const {
        return {.reference = false, .lengths = margin_of == log_probs::averaged};
    }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &tpo::beta}, parameter{"gamma", &tpo::gamma},
                            parameter{"label_smoothing", &tpo::label_smoothing},
                            parameter{"margin_of", &tpo::margin_of}};
    }

    void validate() const {
        require_positive("loss::tpo", "beta", beta);
        require_not_negative("loss::tpo", "gamma", gamma);
        require_flip_rate("loss::tpo", "label_smoothing", label_smoothing);
        require_enumerator("loss::tpo", "margin_of", static_cast<int>(margin_of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using math::softplus;
        using real = math::primal_t<S>;
        S const gap = margin_of == log_probs::averaged
                          ? p.chosen.mean_policy() - p.rejected.mean_policy()
                          : p.chosen.policy - p.rejected.policy;
        S const z = real(beta) * gap - real(gamma);
        return softplus(-z) + real(label_smoothing) * z;
    }
};

}  // namespace prefer::loss
