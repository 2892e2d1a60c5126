// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/math/elementary.hpp>

namespace prefer::math {

/// log(1 - e^x) for x <= 0: the log-probability of "not", from a log-probability.
///
/// Two branches that meet at -log 2: log(-expm1(x)) above, where 1 - e^x is small, and
/// log1p(-e^x) below, where e^x is. Range: x <= 0.
/// Maximum error seen: 2 ULP (float), 2 ULP (double).
/// Values: ±0 → -inf (the limit), -inf → -0, x > 0 → NaN, NaN → NaN. Derivative: -1/expm1(-x).
/// Source: M. Mächler, "Accurately computing log(1 - exp(-|a|))", 2012, eq. (7).
template <real_number T>
PREFER_HOST_DEVICE T log1mexp(T x) {
    T const minus_log_2 = T(-0.693147180559945309417232121458176568L);
    return select(x > minus_log_2, T(log(-expm1(x))), T(log1p(-exp(x))));
}

}  // namespace prefer::math
