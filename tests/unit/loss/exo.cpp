// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/exo.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::exo;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("exo: defaults and inputs") {
    CHECK_SAME(exo{}.beta, 0.1);
    CHECK_SAME(exo{}.label_smoothing, 1e-3);
    STATIC_REQUIRE(exo::inputs().reference);
    STATIC_REQUIRE(!exo::inputs().lengths);
}

TEST_CASE("exo: values with two smoothings (F13)") {
    pair<double> const p = pair_with_margin(6);  // z = 0.6
    auto const y = value_and_grad(exo{.beta = 0.1, .label_smoothing = 0.1}, p);
    CHECK_CLOSE(y.loss, 0.2338390216921992840313L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.03654198117645724401978L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.03654198117645724401978L, family::pair_loss);
    CHECK_CLOSE(exo{}(p), 1.798271333842142136938L, family::pair_loss);
    CHECK_DISTINGUISHES(0.2338390216921992840313, 0.497487950, family::pair_loss);  // dpo
}

TEST_CASE("exo: the minimum is 0, where the label is right with that probability (F13)") {
    double const best = 2.19722457733621938;  // log 9
    exo const loss{.beta = 1, .label_smoothing = 0.1};
    auto const y = value_and_grad(loss, pair<double>{{best, 0, 1}, {0, 0, 1}});
    CHECK_CLOSE(y.loss, 0.0, family::gradient);
    CHECK_CLOSE(y.d_chosen, 0.0, family::gradient);
    CHECK(y.loss >= 0);
    for (double const h : {0.25, 1.0, 2.0, 2.25, 3.0, 30.0}) {
        CHECK(loss(pair_with_margin(h)) > 0);
    }
    CHECK(value_and_grad(loss, pair_with_margin(3)).d_chosen > 0);
}

TEST_CASE("exo: float is as good as double beside the minimum") {
    pair<float> const p{{2, 0, 1}, {0, 0, 1}};
    exo const loss{.beta = 1, .label_smoothing = 0.1};
    CHECK_CLOSE(loss(p), loss(pair<double>{{2, 0, 1}, {0, 0, 1}}), family::pair_loss);
}

TEST_CASE("exo: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(exo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::exo: beta is ");
        CHECK_THROWS_MESSAGE(exo{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {0.0, -0.01, 0.5, 1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(exo{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::exo: label_smoothing is ");
        CHECK_THROWS_MESSAGE(exo{.label_smoothing = bad}.validate(), prefer::value_error,
                             "must be in (0, 0.5)");
    }
    CHECK_NOTHROW(exo{}.validate());
}
