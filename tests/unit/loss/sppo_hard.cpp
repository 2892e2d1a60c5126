// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/sppo_hard.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::sppo_hard;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("sppo_hard: defaults and inputs") {
    CHECK_SAME(sppo_hard{}.beta, 0.1);
    STATIC_REQUIRE(sppo_hard::inputs().reference);
    STATIC_REQUIRE(!sppo_hard::inputs().lengths);
}

TEST_CASE("sppo_hard: each log-ratio is measured from its own target") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};            // dw = 1, dl = -2, h = 3
    auto const y = value_and_grad(sppo_hard{.beta = 0.1}, p);  // targets 5 and -5
    CHECK_CLOSE(y.loss, 25.0, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -8.0, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 6.0, family::pair_loss);
    CHECK_DISTINGUISHES(25.0, 49.0, family::pair_loss);  // (h - 1/β)²
}

TEST_CASE("sppo_hard: zero at the targets, and a larger beta asks for less") {
    CHECK_SAME(sppo_hard{.beta = 0.25}(pair<double>{{2, 0, 1}, {-2, 0, 1}}), 0.0);
    pair<double> const even{{-1, -1, 1}, {-2, -2, 1}};
    CHECK_CLOSE(sppo_hard{.beta = 0.1}(even), 50.0, family::pair_loss);
    CHECK_CLOSE(sppo_hard{.beta = 1}(even), 0.5, family::pair_loss);
}

TEST_CASE("sppo_hard: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(sppo_hard{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::sppo_hard: beta is ");
        CHECK_THROWS_MESSAGE(sppo_hard{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(sppo_hard{}.validate());
}
