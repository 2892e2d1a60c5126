// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses.hpp"

#include <prefer/loss/hinge_norm.hpp>

#include <limits>

using prefer::loss::hinge_norm;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("hinge_norm: defaults and inputs") {
    CHECK_SAME(hinge_norm{}.beta, 0.1);
    STATIC_REQUIRE(hinge_norm::inputs().reference);
    STATIC_REQUIRE(!hinge_norm::inputs().lengths);
}

TEST_CASE("hinge_norm: 1 where policy and reference agree (F16)") {
    auto const y = value_and_grad(hinge_norm{}, pair_with_margin(0));
    CHECK_SAME(y.loss, 1.0);
    CHECK_SAME(y.d_chosen, -0.1);
    CHECK_SAME(y.d_rejected, 0.1);
}

TEST_CASE("hinge_norm: the published numbers (F2)") {
    auto const y = value_and_grad(hinge_norm{}, pair_with_margin(6));
    CHECK_CLOSE(y.loss, 0.4, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.1, family::pair_loss);
    CHECK_DISTINGUISHES(0.4, 0.437487950, family::pair_loss);  // dpo
    CHECK_DISTINGUISHES(-0.1, -0.0354343694, family::pair_loss);
}

TEST_CASE("hinge_norm: exactly 0, with no gradient, at and behind 1/beta") {
    hinge_norm const loss{.beta = 0.5};
    for (double const h : {2.0, 2.015625, 3.0, 1e4}) {
        CAPTURE(h);
        auto const y = value_and_grad(loss, pair_with_margin(h));
        CHECK_SAME(y.loss, 0.0);
        CHECK_SAME(y.d_chosen, 0.0);
        CHECK_SAME(y.d_rejected, 0.0);
    }
    auto const before = value_and_grad(loss, pair_with_margin(1.984375));
    CHECK_CLOSE(before.loss, 0.0078125, family::pair_loss);
    CHECK_SAME(before.d_chosen, -0.5);
    CHECK_SAME(before.d_rejected, 0.5);
}

TEST_CASE("hinge_norm: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const beta : {0.0, -0.1, inf, nan}) {
        CHECK_THROWS_MESSAGE(hinge_norm{.beta = beta}.validate(), prefer::value_error,
                             "prefer::loss::hinge_norm: beta is ");
    }
    CHECK_NOTHROW(hinge_norm{}.validate());
}
