// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include <prefer/config.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/sigmoid.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer {

/// A formula over ranked lists: called with the log-ratios `[K]` of a list, best first, it gives
/// the loss; `value_and_grad` also writes the derivatives `[K]`.
template <class L>
concept list_loss = requires(L const& loss, vector_view<double const> d, vector_view<double> g) {
    { loss(d) } -> ::std::convertible_to<double>;
    { loss.value_and_grad(d, g) } -> ::std::convertible_to<double>;
};

namespace loss {

/// Plackett-Luce: DPO for a ranking of K responses to one prompt.
///
/// With s_k = β·(log π(y_k) - log π_ref(y_k)) of summed log-probs, the best response first:
///
///     loss = Σ_{k <= t} log Σ_{j >= k} e^(s_j - s_k)
///
/// the negative log-likelihood that the first t places are drawn one after the other, each by a
/// softmax over what is left. `top` is t: the number of places that the ranking means; the
/// responses behind them are worse than those, in no order. 0 ranks all of them; more than K - 1
/// places are K - 1, since the last one is no choice.
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: Σ_{k <= t} log(K - k
/// + 1) where all s are equal; convex; the derivatives of a list sum to 0; the first falls and the
/// last rises; with K = 2 this is `dpo`, the value bit for bit; with K < 2 the loss is 0.
///
/// With L_k = log Σ_{j >= k} e^(s_j) from the tail, a term is softplus(L_{k+1} - s_k), and L_k is
/// s_k plus that. The derivative runs the other way: with g_1 = 0, r_k = 1 for k <= t and else 0,
/// and σ_k = σ(L_{k+1} - s_k),
///
///     β^-1·∂loss/∂d_k = g_k·(1 - σ_k) - r_k·σ_k,   g_{k+1} = (g_k + r_k)·σ_k,   last: g_K
///
/// One subtraction, no large exponential, O(K). All s are taken relative to the first.
/// Errors: `validate()` throws `value_error`. One softplus a response, one sigmoid more with
/// gradients; no allocation.
/// Source: R. Plackett 1975; R. Rafailov et al. 2023, appendix A.3, for DPO on rankings; top t: the
/// likelihood of a partial ranking.
struct plackett_luce {
    double beta = 0.1;
    ::std::size_t top = 0;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &plackett_luce::beta},
                            parameter{"top", &plackett_luce::top}};
    }

    void validate() const { require_positive("loss::plackett_luce", "beta", beta); }

    /// The number of places of a list of K responses that the loss ranks.
    PREFER_HOST_DEVICE constexpr ::std::size_t ranked(::std::size_t responses) const {
        if (responses < 2) return 0;
        return top == 0 || top > responses - 1 ? responses - 1 : top;
    }

    /// The loss of one list of log-ratios, best first; T is float or double.
    template <class T>
    PREFER_HOST_DEVICE ::std::remove_const_t<T> operator()(vector_view<T> log_ratios) const {
        using real = ::std::remove_const_t<T>;
        return from_the_tail<real>(log_ratios, [](::std::size_t, real) {});
    }

    /// The same, and its derivatives with respect to each log-ratio (each log π).
    template <class T>
    PREFER_HOST_DEVICE T value_and_grad(vector_view<::std::type_identity_t<T> const> log_ratios,
                                        vector_view<T> gradient) const {
        using math::sigmoid;
        // First the logits L_{k+1} - s_k stand in the gradient's place.
        T const value =
            from_the_tail<T>(log_ratios, [&](::std::size_t k, T logit) { gradient[k] = logit; });
        ::std::size_t const size = log_ratios.size();
        if (size == 0) return value;
        ::std::size_t const places = ranked(size);
        T const scale = static_cast<T>(beta);
        T pushed(0);  // g_k
        for (::std::size_t k = 0; k + 1 < size; ++k) {
            T const rank(k < places ? 1 : 0);
            T const logit = gradient[k];
            T const share = sigmoid(logit);
            gradient[k] = scale * (pushed * sigmoid(-logit) - rank * share);
            pushed = (pushed + rank) * share;
        }
        gradient[size - 1] = scale * pushed;
        return value;
    }

private:
    template <class T, class Keep>
    PREFER_HOST_DEVICE T from_the_tail(vector_view<T const> d, Keep keep) const {
        using math::softplus;
        ::std::size_t const size = d.size();
        if (size < 2) return T(0);
        ::std::size_t const places = ranked(size);
        T const scale = static_cast<T>(beta);
        auto const s = [&](::std::size_t k) { return scale * (d[k] - d[0]); };
        T tail = s(size - 1);
        T loss(0);
        for (::std::size_t k = size - 1; k-- > 0;) {
            T const logit = tail - s(k);
            T const term = softplus(logit);
            keep(k, logit);
            if (k < places) loss += term;
            tail = s(k) + term;
        }
        return loss;
    }
};

}  // namespace loss
}  // namespace prefer
