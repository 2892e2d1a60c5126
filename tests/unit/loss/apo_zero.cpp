// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/apo_zero.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::apo_zero;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("apo_zero: defaults and inputs") {
    CHECK_SAME(apo_zero{}.beta, 0.1);
    STATIC_REQUIRE(apo_zero::inputs().reference);
    STATIC_REQUIRE(!apo_zero::inputs().lengths);
}

TEST_CASE("apo_zero: value and gradient at rewards 0.1 and -0.2") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // dw = 1, dl = -2, h = 3
    auto const y = value_and_grad(apo_zero{}, p);
    CHECK_CLOSE(y.loss, 0.9251868152085821053417L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.02493760401928919678215L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.02475165727118599445870L, family::pair_loss);
    CHECK_DISTINGUISHES(0.9251868152085821, 0.950536671, family::pair_loss);  // apo_down
}

TEST_CASE("apo_zero: between 0 and 2, and small values keep their digits") {
    apo_zero const loss{.beta = 1};
    CHECK_SAME(loss(pair<double>{{-1000, 0, 1}, {1000, 0, 1}}), 2.0);
    // 2/(1 + e^40): not 0, as 1 - σ(40) + σ(-40) would be.
    CHECK_CLOSE(loss(pair<double>{{40, 0, 1}, {-40, 0, 1}}), 8.496708510583178e-18L,
                family::quoted);
}

TEST_CASE("apo_zero: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(apo_zero{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::apo_zero: beta is ");
        CHECK_THROWS_MESSAGE(apo_zero{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(apo_zero{}.validate());
}
