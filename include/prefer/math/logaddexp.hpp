// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/math/elementary.hpp>

namespace prefer::math {

/// log(e^a + e^b) without overflow; the sum of two probabilities in log space.
///
/// Computed as max(a, b) + log1p(e^-|a - b|). Range: every pair of reals.
/// Maximum error seen: 2 ULP (float), 2 ULP (double), of max(|a|, |b|, 1): where the two parts
/// cancel (near a = b = -log 2) the result itself is ill-conditioned.
/// Values: -inf with any b → b (-inf too; of -0, +0), +inf with any b → +inf, NaN in either
/// argument → NaN. Derivatives: `sigmoid(a - b)` and `sigmoid(b - a)`.
template <real_number T>
PREFER_HOST_DEVICE T logaddexp(T a, T b) {
    T const larger = max(a, b);
    T const gap = abs(a - b);
    // Equal infinities have a NaN gap, and a result that is the infinity itself.
    return select(is_nan(gap), larger, T(larger + log1p(exp(-gap))));
}

}  // namespace prefer::math
