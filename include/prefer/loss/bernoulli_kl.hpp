// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/config.hpp>
#include <prefer/math/dual.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sigmoid.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::detail {

/// `loss::bernoulli_kl` where log σ(b) and log σ(-b) are known better than `b` gives them.
template <math::real_number T>
PREFER_HOST_DEVICE T bernoulli_kl(T const& a, T const& b, T const& log_q, T const& log_not_q) {
    using math::abs;
    using math::expm1;
    using math::log1p;
    using math::log_sigmoid;
    using math::select;
    using math::sigmoid;
    T const d = a - b;
    T const apart =
        sigmoid(a) * (log_sigmoid(a) - log_q) + sigmoid(-a) * (log_sigmoid(-a) - log_not_q);
    // Near each other the two terms cancel. With softplus B, the divergence is B(b) - B(a) -
    // σ(a)·(b - a); both signs of (a, b) give the same, and the one with the smaller σ is exact.
    T const s = sigmoid(-abs(a));
    T const e = select(a < T(0), T(-d), d);
    T const tight = log1p(s * expm1(e)) - s * e;
    return select(abs(d) < T(1), tight, apart);
}

/// The slope in `a`, and in `b`, there as the difference of what is small.
template <class T, class C>
PREFER_HOST_DEVICE T bernoulli_kl_slope_a(T const& a, C const& b) {
    using math::sigmoid;
    return sigmoid(a) * sigmoid(-a) * (a - b);
}
template <class C, class T>
PREFER_HOST_DEVICE T bernoulli_kl_slope_b(C const& a, T const& b) {
    using math::select;
    using math::sigmoid;
    return select(a < math::primal_t<T>(0), T(sigmoid(b) - sigmoid(a)),
                  T(sigmoid(-a) - sigmoid(-b)));
}

template <class T, ::std::size_t N, math::real_number C>
PREFER_HOST_DEVICE math::dual<T, N> bernoulli_kl(math::dual<T, N> const& a, C const& b,
                                                 C const& log_q, C const& log_not_q) {
    return math::chain(bernoulli_kl(a.value, b, log_q, log_not_q), bernoulli_kl_slope_a(a.value, b),
                       a);
}

}  // namespace prefer::detail

namespace prefer::loss {

/// The Kullback-Leibler divergence of two coins, given by their logits.
///
///     KL(p ‖ q) = p·log(p/q) + (1 - p)·log((1 - p)/(1 - q)),   p = σ(a), q = σ(b)
///
/// Never negative; 0 where a = b, and there without cancellation, which is why it is not written as
/// above. Its slope is σ'(a)·(a - b) in a, and q - p in b. Finite logits of any size are fine. What
/// the losses that match a preference probability are made of: `exo`, `reward_aware_rpo`.
/// Some five exponentials and logarithms each. For floats, doubles and dual numbers, on a device
/// too.
template <math::real_number T>
PREFER_HOST_DEVICE T bernoulli_kl(T const& a, T const& b) {
    using math::log_sigmoid;
    return detail::bernoulli_kl(a, b, T(log_sigmoid(b)), T(log_sigmoid(-b)));
}

// The slopes as above, and not those of both forms of the value.

template <class T, ::std::size_t N, math::real_number C>
PREFER_HOST_DEVICE math::dual<T, N> bernoulli_kl(math::dual<T, N> const& a, C const& b) {
    return math::chain(bernoulli_kl(a.value, b), detail::bernoulli_kl_slope_a(a.value, b), a);
}

template <class T, ::std::size_t N, math::real_number C>
PREFER_HOST_DEVICE math::dual<T, N> bernoulli_kl(C const& a, math::dual<T, N> const& b) {
    return math::chain(bernoulli_kl(a, b.value), detail::bernoulli_kl_slope_b(a, b.value), b);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE math::dual<T, N> bernoulli_kl(math::dual<T, N> const& a,
                                                 math::dual<T, N> const& b) {
    T const in_a = detail::bernoulli_kl_slope_a(a.value, b.value);
    T const in_b = detail::bernoulli_kl_slope_b(a.value, b.value);
    return math::dual<T, N>::combine(bernoulli_kl(a.value, b.value), [&](::std::size_t i) {
        return in_a * a.gradient[i] + in_b * b.gradient[i];
    });
}

}  // namespace prefer::loss
