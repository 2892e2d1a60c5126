// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The elementary functions that formulas are written in, for the standard floating types, on host
/// and device. `dual.hpp` adds overloads for dual numbers. A formula says `select`, `min` and `max`
/// instead of `if`, so that it also runs on scalars whose comparisons are not `bool`.

#include <cmath>
#include <concepts>
#include <limits>

#include <prefer/config.hpp>

namespace prefer::math {

/// Constants that device code may name (the functions of `numeric_limits` are host-only there).
template <::std::floating_point T>
inline constexpr T infinity = ::std::numeric_limits<T>::infinity();

template <::std::floating_point T>
inline constexpr T quiet_nan = ::std::numeric_limits<T>::quiet_NaN();

template <::std::floating_point T>
inline constexpr T largest = ::std::numeric_limits<T>::max();

template <::std::floating_point T>
PREFER_HOST_DEVICE T exp(T x) {
    using ::std::exp;
    return exp(x);
}

template <::std::floating_point T>
PREFER_HOST_DEVICE T expm1(T x) {
    using ::std::expm1;
    return expm1(x);
}

template <::std::floating_point T>
PREFER_HOST_DEVICE T log(T x) {
    using ::std::log;
    return log(x);
}

template <::std::floating_point T>
PREFER_HOST_DEVICE T log1p(T x) {
    using ::std::log1p;
    return log1p(x);
}

/// e^x where x <= 0, and log(1 + x) where 0 <= x <= 1: packs of lanes have faster forms of these.
template <::std::floating_point T>
PREFER_HOST_DEVICE T exp_below_zero(T x) {
    return exp(x);
}
template <::std::floating_point T>
PREFER_HOST_DEVICE T log1p_of_fraction(T x) {
    return log1p(x);
}

template <::std::floating_point T>
PREFER_HOST_DEVICE T sqrt(T x) {
    using ::std::sqrt;
    return sqrt(x);
}

/// True for NaN only.
template <::std::floating_point T>
PREFER_HOST_DEVICE constexpr bool is_nan(T x) {
    return !(x <= x);
}

/// True for everything but NaN and the two infinities.
template <::std::floating_point T>
PREFER_HOST_DEVICE constexpr bool is_finite(T x) {
    return x <= largest<T> && x >= -largest<T>;
}

template <::std::floating_point T>
PREFER_HOST_DEVICE T abs(T x) {
    using ::std::fabs;
    return fabs(x);
}

/// `a` where `condition` holds, otherwise `b`. Both are evaluated; nothing is multiplied, so a NaN
/// on the side that is not taken does not reach the result.
template <class T>
PREFER_HOST_DEVICE constexpr T select(bool condition, T const& a, T const& b) {
    return condition ? a : b;
}

/// The larger of two numbers. Equal: the first (a formula puts its constant there, and the slope at
/// the corner is then 0). NaN in either argument gives NaN.
template <::std::floating_point T>
PREFER_HOST_DEVICE constexpr T max(T a, T b) {
    return a >= b || is_nan(a) ? a : b;
}

/// The smaller of two numbers. Equal: the first. NaN in either argument gives NaN.
template <::std::floating_point T>
PREFER_HOST_DEVICE constexpr T min(T a, T b) {
    return a <= b || is_nan(a) ? a : b;
}

/// `x` as a constant: dual numbers lose their derivatives ("stop gradient").
template <::std::floating_point T>
PREFER_HOST_DEVICE constexpr T detach(T x) {
    return x;
}

/// The number type below all dual layers: what constants, references and hyper-parameters of a
/// formula over `T` are made of. `primal_t` of double and of `dual<dual<double>>` is double.
template <class T>
struct primal {
    using type = T;
};

template <class T>
using primal_t = typename primal<T>::type;

/// Whether a type is a pack of SIMD lanes (see pack.hpp).
template <class T>
inline constexpr bool is_pack = false;

/// What the functions of `math/` are written for: a floating-point number, or a pack of them.
template <class T>
concept real_number = ::std::floating_point<T> || is_pack<T>;

/// The floating-point type below packs and dual layers.
template <class T>
struct lane {
    using type = T;
};

template <class T>
using lane_t = typename lane<T>::type;

}  // namespace prefer::math
