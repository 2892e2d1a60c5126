// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Derivatives by central differences with Richardson extrapolation.
///
/// The central difference D(h) = (f(x + h) - f(x - h)) / 2h has the error c2 h^2 + c4 h^4 + ….
/// From D at h, h/2, h/4, … one term after the other is eliminated. Rounding grows as h shrinks,
/// so the entry of the triangle with the smallest estimated error is returned.
///
/// Precondition: f is smooth on [x - step, x + step]. A branch point has to be approached with a
/// step that does not reach across it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace prefer::test {

struct derivative_estimate {
    double value = std::numeric_limits<double>::quiet_NaN();
    double error = std::numeric_limits<double>::infinity();  ///< Upper estimate of |value - truth|.
};

namespace detail {

/// Extrapolates `difference(h)`, an estimate with an error in even powers of h, to h = 0.
/// `rounding(h)` is the error that one call carries by rounding alone.
template <class Difference, class Rounding>
derivative_estimate extrapolate(Difference difference, Rounding rounding, double step) {
    constexpr std::size_t rows = 10;
    std::array<double, rows> previous{};
    std::array<double, rows> current{};
    derivative_estimate best{};
    double h = step;
    for (std::size_t i = 0; i < rows; ++i, h /= 2) {
        current[0] = difference(h);
        double factor = 1.0;
        for (std::size_t j = 1; j <= i; ++j) {
            factor *= 4.0;
            current[j] = current[j - 1] + (current[j - 1] - previous[j - 1]) / (factor - 1.0);
            double const change = std::max(std::fabs(current[j] - current[j - 1]),
                                           std::fabs(current[j] - previous[j - 1]));
            double const error = change + 2.0 * rounding(h);
            if (error < best.error) {
                best = {current[j], error};
            }
        }
        previous = current;
    }
    return best;
}

// The size of f around x, for the rounding error: f is taken to be computed to a few units.
template <class Function>
double magnitude(Function& f, double x, double step) {
    return std::max({std::fabs(f(x - step)), std::fabs(f(x)), std::fabs(f(x + step))});
}

inline double default_step(double x) {
    return std::ldexp(std::max(1.0, std::fabs(x)), -4);
}

}  // namespace detail

/// The first derivative of `f`, a callable from double to double, at `x`. `step` is the largest
/// distance from `x` at which f is called; by default 1/16 of max(1, |x|).
template <class Function>
[[nodiscard]] derivative_estimate derivative(Function f, double x, double step) {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    double const size = detail::magnitude(f, x, step);
    return detail::extrapolate(
        [&](double h) {
            // The distance that is really between the two arguments.
            double const above = x + h;
            double const below = x - h;
            return (f(above) - f(below)) / (above - below);
        },
        [&](double h) { return epsilon * size / h; }, step);
}

template <class Function>
[[nodiscard]] derivative_estimate derivative(Function f, double x) {
    return derivative(f, x, detail::default_step(x));
}

/// The second derivative.
template <class Function>
[[nodiscard]] derivative_estimate second_derivative(Function f, double x, double step) {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    double const size = detail::magnitude(f, x, step);
    return detail::extrapolate(
        [&](double h) { return ((f(x + h) - f(x)) - (f(x) - f(x - h))) / (h * h); },
        [&](double h) { return 4.0 * epsilon * size / (h * h); }, step);
}

template <class Function>
[[nodiscard]] derivative_estimate second_derivative(Function f, double x) {
    return second_derivative(f, x, 2.0 * detail::default_step(x));
}

}  // namespace prefer::test
