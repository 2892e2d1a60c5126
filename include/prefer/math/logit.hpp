// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/math/elementary.hpp>

namespace prefer::math {

/// Log-odds of a probability: log(p / (1 - p)), the inverse of `sigmoid`.
///
/// Near one half the quotient form loses the result's leading digits, so log1p((2p - 1)/(1 - p)) is
/// used there, whose numerator is exact (p - (1 - p) is not). Range: 0 <= p <= 1.
/// Maximum error seen: 3 ULP (float), 3 ULP (double).
/// Values: ±0 → -inf, 1 → +inf, 1/2 → 0, outside [0, 1] → NaN, NaN → NaN.
/// Derivative: 1 / (p (1 - p)). For log-odds of a log-probability use x - log1mexp(x).
template <real_number T>
PREFER_HOST_DEVICE T logit(T p) {
    auto const near_half = p > T(0.3L) && p < T(0.65L);
    T const q = T(1) - p;
    return select(near_half, T(log1p((p + p - T(1)) / q)), T(log(p / q)));
}

}  // namespace prefer::math
