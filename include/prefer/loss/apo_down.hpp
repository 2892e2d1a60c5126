// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/dual.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::detail {

/// σ(w) - σ(z), given l = w - z: as the product σ(w)·σ(-z)·(1 - e^-l) or its mirror image, in which
/// nothing cancels.
template <class T>
PREFER_HOST_DEVICE T sigmoid_step(T const& w, T const& l, T const& z) {
    using math::abs;
    using math::expm1;
    using math::select;
    using math::sigmoid;
    return -expm1(-abs(l)) * select(l >= math::primal_t<T>(0), T(sigmoid(w) * sigmoid(-z)),
                                    T(-(sigmoid(-w) * sigmoid(z))));
}

/// σ(w) + σ(-z).
template <math::real_number T>
PREFER_HOST_DEVICE T apo_down_of(T const& w, T const& l, T const& z) {
    using math::abs;
    using math::select;
    using math::sigmoid;
    return select(abs(z) < T(1), T(1) + sigmoid_step(w, l, z), sigmoid(w) + sigmoid(-z));
}

/// With z = w - l, the slope in w is σ'(w) - σ'(z) = (σ(w) - σ(z))·(σ(-w) - σ(z)), where the two
/// cancel close to z = 0; in l it is σ'(z).
template <class T, ::std::size_t N>
PREFER_HOST_DEVICE math::dual<T, N> apo_down_of(math::dual<T, N> const& w,
                                                math::dual<T, N> const& l,
                                                math::dual<T, N> const& z) {
    using math::abs;
    using math::select;
    using math::sigmoid;
    T const up = sigmoid(w.value), not_up = sigmoid(-w.value);
    T const in = sigmoid(z.value), not_in = sigmoid(-z.value);
    T const in_l = in * not_in;
    T const in_w =
        select(abs(z.value) < math::primal_t<T>(1),
               T(sigmoid_step(w.value, l.value, z.value) * (not_up - in)), T(up * not_up - in_l));
    return math::dual<T, N>::combine(apo_down_of(w.value, l.value, z.value), [&](::std::size_t i) {
        return in_w * w.gradient[i] + in_l * l.gradient[i];
    });
}

}  // namespace prefer::detail

namespace prefer::loss {

/// Anchored preference optimization, "down": both responses down, the rejected one further. For
/// data whose chosen responses are worse than what the policy writes.
///
/// With the reward r_w = β·(log π - log π_ref)(y_w) and z = β·h, h the log-ratio margin, of summed
/// log-probs:
///
///     loss = σ(r_w) + 1 - σ(z) = σ(r_w) + σ(-z)
///
/// Inputs: summed log-probs, with reference. Ranges: β > 0 finite. Invariants: 1 where policy and
/// reference agree; between 0 and 2; slopes σ'(r_w) - σ'(z) in r_w, of either sign, and σ'(z) in
/// r_l, so rising with the rejected; not convex. No function of the margin.
/// One and the same log-ratio is in both terms; a peer mixed a raw and a transformed one (trl
/// #6441).
/// Errors: `validate()` throws `value_error`. Three exponentials a pair.
/// Source: K. D'Oosterlinck et al., "Anchored preference optimization and contrastive revisions",
/// 2024.
struct apo_down {
    double beta = 0.1;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() { return ::std::tuple{parameter{"beta", &apo_down::beta}}; }

    void validate() const { require_positive("loss::apo_down", "beta", beta); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        S const chosen = real(beta) * p.chosen.log_ratio();
        S const rejected = real(beta) * p.rejected.log_ratio();
        return detail::apo_down_of(chosen, rejected, S(real(beta) * p.margin()));
    }
};

}  // namespace prefer::loss
