// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The arguments at which scalar functions go wrong, and the check that goes through all of them.

#include "support/catch.hpp"
#include "support/compare.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace prefer::test {

/// -inf, -largest, -1, -0, +0, smallest, 1, largest, +inf, NaN.
template <class T>
inline constexpr std::array<T, 10> edges{-std::numeric_limits<T>::infinity(),
                                         -std::numeric_limits<T>::max(),
                                         T(-1),
                                         -T(0),
                                         T(0),
                                         std::numeric_limits<T>::denorm_min(),
                                         T(1),
                                         std::numeric_limits<T>::max(),
                                         std::numeric_limits<T>::infinity(),
                                         std::numeric_limits<T>::quiet_NaN()};

/// What a function gives at the edges. Zeros are compared with their sign.
using edge_values = std::array<long double, 10>;

inline constexpr long double inf = std::numeric_limits<long double>::infinity();
inline constexpr long double undefined = std::numeric_limits<long double>::quiet_NaN();

/// Stands for an edge whose value is that of the type: `largest` becomes max() of it.
inline constexpr long double largest = std::numeric_limits<long double>::max();
inline constexpr long double smallest = std::numeric_limits<long double>::denorm_min();

template <class T>
void check_edge(T actual, long double expected) {
    if (std::isnan(expected)) {
        CHECK(std::isnan(actual));
    } else if (std::isinf(expected) || expected == 0) {
        CHECK_SAME_BITS(actual, static_cast<T>(expected));
    } else if (std::fabs(expected) == largest) {
        CHECK_SAME_BITS(actual,
                        std::copysign(std::numeric_limits<T>::max(), T(expected < 0 ? -1 : 1)));
    } else if (expected == smallest) {
        CHECK_SAME_BITS(actual, std::numeric_limits<T>::denorm_min());
    } else {
        CHECK_CLOSE(actual, expected, family::elementwise);
    }
}

template <class T, class Function>
void check_edges(Function function, edge_values const& expected) {
    for (std::size_t i = 0; i < edges<T>.size(); ++i) {
        CAPTURE(i, edges<T>[i]);
        check_edge<T>(function(edges<T>[i]), expected[i]);
    }
}

}  // namespace prefer::test
