// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Errors in units in the last place (ULP), fractions of them included, against the tables
/// golden/math_*.inc; and the number that the documentation states, so that tests assert that one.

#include "support/environment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

namespace prefer::test {

/// A line of a golden table: inputs, the number of type `T` closest to the true value, and what is
/// missing from it in ULP. See golden/generate.py.
template <class T, std::size_t Inputs = 1>
struct golden_row {
    std::array<T, Inputs> x;
    T nearest;
    double residual;
};

/// Of the two tables of a golden file, the one of the type under test.
template <class T>
constexpr auto const& table_of(auto const& in_float, auto const& in_double) {
    if constexpr (std::same_as<T, float>) {
        return in_float;
    } else {
        return in_double;
    }
}

/// The distance from |x| to the next larger number of its type.
template <std::floating_point T>
double ulp(T x) {
    T const magnitude = std::fabs(x);
    T const above = std::nextafter(magnitude, std::numeric_limits<T>::infinity());
    return static_cast<double>(above - magnitude);
}

/// The largest of many errors, and where it was. A NaN counts as an infinite error.
template <class T>
struct worst_error {
    double ulps = 0;
    T at{};

    void see(double error, T x) {
        double const size = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
        if (size > ulps) {
            ulps = size;
            at = x;
        }
    }
};

/// The error of `actual` in ULP of the true value `nearest + residual * ulp(nearest)`.
template <std::floating_point T>
double ulp_error(T actual, T nearest, double residual) {
    // The difference of two close numbers is exact; ULP are counted from `nearest`.
    return std::fabs(static_cast<double>(actual - nearest) / ulp(nearest) - residual);
}

/// The same, counted in ULP of another number.
template <std::floating_point T>
double ulp_error_in(T unit, T actual, T nearest, double residual) {
    return std::fabs(static_cast<double>(actual - nearest) - residual * ulp(nearest)) / ulp(unit);
}

/// The error of a function over a table.
template <class T, class Function>
worst_error<T> largest_error(Function function, auto const& rows) {
    worst_error<T> worst;
    for (auto const& row : rows) {
        worst.see(ulp_error(function(row.x[0]), row.nearest, row.residual), row.x[0]);
    }
    return worst;
}

struct documented_error {
    double in_float;
    double in_double;

    template <std::floating_point T>
    [[nodiscard]] double of() const {
        return std::same_as<T, float> ? in_float : in_double;
    }
};

/// What the comment of math/FUNCTION.hpp states, after "Maximum error seen:". The table in
/// math/README.md has to state the same, as "float / double".
[[nodiscard]] inline documented_error documented_ulp(std::string const& function) {
    auto const folder = source_dir() / ".." / "include" / "prefer" / "math";
    auto const read = [](std::filesystem::path const& path) {
        std::ifstream in(path);
        if (!in) throw std::runtime_error("cannot read " + path.string());
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    };
    std::string const header = read(folder / (function + ".hpp"));
    std::smatch found;
    std::regex const statement(
        R"(Maximum error seen:\s+(?:/// )?(\d+) ULP \(float\), (\d+) ULP\s+(?:/// )?\(double\))");
    if (!std::regex_search(header, found, statement)) {
        throw std::runtime_error(function + ".hpp states no maximum error");
    }
    std::regex const row(R"(\| \[`)" + function + R"(`\][^\n]*\| )" + found[1].str() + " / " +
                         found[2].str() + R"( \|)");
    if (!std::regex_search(read(folder / "README.md"), row)) {
        throw std::runtime_error("math/README.md does not state the error of " + function + ".hpp");
    }
    return {std::stod(found[1].str()), std::stod(found[2].str())};
}

}  // namespace prefer::test
