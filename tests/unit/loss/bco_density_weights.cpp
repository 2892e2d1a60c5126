// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/bco_density_weights.hpp>

#include <array>
#include <limits>
#include <vector>

using prefer::loss::bco_density_weights;
using prefer::test::family;

TEST_CASE("bco_density_weights: ratios of the undesirable side, clamped") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const p{0.9, 0.5, 0.1, 0.99, 1, 0, nan};
    std::vector<int> const labels{0, 0, 0, 0, 0, 0, 1};
    std::vector<double> w(7, -1);
    bco_density_weights(p, labels, w);
    // 0.9/(0.1 + 1e-8), 0.5/(0.5 + 1e-8), 1/9 -> 0.5, 99 -> 10, 1e8 -> 10, 0 -> 0.5, desirable
    CHECK_CLOSE(w, (std::array{8.9999991000001, 0.99999998000000040, 0.5, 10.0, 10.0, 0.5, 1.0}),
                family::reduction);
    bco_density_weights(p, labels, w, {.least = 0, .most = 1000});
    CHECK_CLOSE(w[2], 0.1111111098765432, family::quoted);
    CHECK_CLOSE(w[3], 98.9999010001, family::quoted);
    CHECK_SAME(w[5], 0.0);
    std::vector<float> narrow(7);
    std::vector<double> const desirable(7, 1.0);
    bco_density_weights(p, desirable, narrow);
    CHECK_SAME(narrow, (std::array{1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F}));
}

TEST_CASE("bco_density_weights: what is wrong is said before anything is written") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const p{0.5, 1.5}, good{0.5, 0.5};
    std::vector<int> const labels{0, 0}, other{0, 2}, three{0, 0, 0};
    std::vector<double> w(2, -1), one(1);
    CHECK_THROWS_MESSAGE(bco_density_weights(p, labels, w), prefer::value_error,
                         "probabilities[1] is 1.5, but must be in [0, 1]");
    CHECK_THROWS_MESSAGE(bco_density_weights(good, other, w), prefer::value_error,
                         "labels[1] is 2, but must be 0 or 1");
    CHECK_THROWS_MESSAGE(bco_density_weights(good, three, w), prefer::shape_error,
                         "labels has size 3");
    CHECK_THROWS_MESSAGE(bco_density_weights(good, labels, one), prefer::shape_error,
                         "weights has size 1");
    CHECK_THROWS_MESSAGE(bco_density_weights(good, labels, w, {.least = -1}), prefer::value_error,
                         "least is -1");
    CHECK_THROWS_MESSAGE(bco_density_weights(good, labels, w, {.least = 2, .most = 1}),
                         prefer::value_error, "most is 1");
    CHECK_THROWS_AS(bco_density_weights(good, labels, w, {.least = 0.5, .most = nan}),
                    prefer::value_error);
    CHECK_SAME(w, (std::array{-1.0, -1.0}));
}
