// SPDX-License-Identifier: MIT

/// \file
/// Single-shot tests with a fixed seed. With another seed, each fails by chance once in a million
/// times (the bounds are quantiles of the chi-square distribution with 6, 99 and 15 degrees of
/// freedom); none is repeated.

#include "support/catch.hpp"

#include <prefer/core/random.hpp>

#include <cstddef>
#include <vector>

namespace {

/// Σ (observed - expected)² / expected, for equal expectations.
double chi_square(std::vector<std::size_t> const& counts, std::size_t draws) {
    double const expected = static_cast<double>(draws) / static_cast<double>(counts.size());
    double sum = 0;
    for (std::size_t const c : counts) {
        double const off = static_cast<double>(c) - expected;
        sum += off * off / expected;
    }
    return sum;
}

}  // namespace

TEST_CASE("uniform_index: seven choices are equally frequent") {
    prefer::philox rng(20260105);
    std::size_t const draws = 700000;
    std::vector<std::size_t> counts(7);
    for (std::size_t i = 0; i < draws; ++i) ++counts[prefer::uniform_index(rng, counts.size())];
    double const statistic = chi_square(counts, draws);
    CAPTURE(statistic);
    CHECK(statistic < 38.2583);
    CHECK(statistic > 0);
}

TEMPLATE_TEST_CASE("uniform01: a hundred cells are equally frequent", "", float, double) {
    prefer::philox rng(20260106);
    std::size_t const draws = 1000000;
    std::vector<std::size_t> counts(100);
    for (std::size_t i = 0; i < draws; ++i) {
        ++counts[static_cast<std::size_t>(prefer::uniform01<TestType>(rng) * TestType(100))];
    }
    double const statistic = chi_square(counts, draws);
    CAPTURE(statistic);
    CHECK(statistic < 183.6852);
    CHECK(statistic > 44.6993);  // nor too even
}

TEST_CASE("philox: numbers of neighbouring streams are not related") {
    // Pairs of cells of the first numbers of streams 2k and 2k + 1.
    std::size_t const draws = 160000;
    std::vector<std::size_t> counts(16);
    for (std::size_t k = 0; k < draws; ++k) {
        prefer::philox a(20260107, 2 * k);
        prefer::philox b(20260107, 2 * k + 1);
        ++counts[4 * prefer::uniform_index(a, 4) + prefer::uniform_index(b, 4)];
    }
    double const statistic = chi_square(counts, draws);
    CAPTURE(statistic);
    CHECK(statistic < 56.4934);
}
