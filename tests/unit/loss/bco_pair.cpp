// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/bco_pair.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::bco_pair;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("bco_pair: defaults and inputs") {
    CHECK_SAME(bco_pair{}.beta, 0.1);
    CHECK_SAME(bco_pair{}.shift, 0.0);
    STATIC_REQUIRE(bco_pair::inputs().reference);
    STATIC_REQUIRE(!bco_pair::inputs().lengths);
}

TEST_CASE("bco_pair: value and gradient without and with a shift") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // dw = 1, dl = -2, h = 3
    auto const y = value_and_grad(bco_pair{}, p);
    CHECK_CLOSE(y.loss, 1.242535529455162734515L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.04750208125210600139008L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.04501660026875220914408L, family::pair_loss);
    auto const shifted = value_and_grad(bco_pair{.beta = 0.1, .shift = 0.05}, p);
    CHECK_CLOSE(shifted.loss, 1.244399067892129856360L, family::pair_loss);
    CHECK_CLOSE(shifted.d_chosen, -0.04875026035157896563385L, family::pair_loss);
    CHECK_CLOSE(shifted.d_rejected, 0.04378234991142018959727L, family::pair_loss);
}

TEST_CASE("bco_pair: the shift is in the unit of rewards, not of log-ratios") {
    // Rewards 0.15 and 0.15 with a shift of 0.15: both at the corner of their sigmoids.
    pair<double> const p{{-2, -3.5, 2}, {-8, -9.5, 4}};
    CHECK_CLOSE((bco_pair{.beta = 0.1, .shift = 0.15})(p), 1.386294361119890618835L,
                family::pair_loss);
}

TEST_CASE("bco_pair: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(bco_pair{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::bco_pair: beta is ");
        CHECK_THROWS_MESSAGE(bco_pair{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {inf, -inf, nan}) {
        CHECK_THROWS_MESSAGE(bco_pair{.shift = bad}.validate(), prefer::value_error,
                             "prefer::loss::bco_pair: shift is ");
    }
    CHECK_NOTHROW(bco_pair{.shift = -3}.validate());
    CHECK_NOTHROW(bco_pair{}.validate());
}
