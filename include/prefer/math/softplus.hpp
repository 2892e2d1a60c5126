// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/math/elementary.hpp>

namespace prefer::math {

namespace detail {

/// softplus(x), given e^-|x|.
template <real_number T>
PREFER_HOST_DEVICE T softplus_from(T x, T e) {
    return max(x, T(0)) + log1p_of_fraction(e);
}

}  // namespace detail

/// Softplus, the loss of a logit: log(1 + e^x).
///
/// Computed as max(x, 0) + log1p(e^-|x|): no overflow, and full relative accuracy in both tails.
/// Range: every real. Maximum error seen: 2 ULP (float), 2 ULP (double).
/// Values: ±0 → log 2, -inf → +0, +inf → +inf, NaN → NaN. Derivative: `sigmoid(x)`.
template <real_number T>
PREFER_HOST_DEVICE T softplus(T x) {
    return detail::softplus_from(x, T(exp_below_zero(-abs(x))));
}

/// log(1 + e^x): `softplus` under its numerical name.
template <class T>
PREFER_HOST_DEVICE T log1pexp(T const& x) {
    return softplus(x);
}

}  // namespace prefer::math
