// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/rebel.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::rebel;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("rebel: defaults and inputs") {
    CHECK_SAME(rebel{}.eta, 1.0);
    STATIC_REQUIRE(rebel::inputs().reference);
    STATIC_REQUIRE(rebel::inputs().scores);
    STATIC_REQUIRE(!rebel::inputs().lengths);
}

TEST_CASE("rebel: the margin over the step size is regressed to the score gap") {
    pair<double> const p{{-2, -3, 2, 1.75}, {-8, -6, 4, 0.5}};  // h = 3, gap 1.25
    auto const y = value_and_grad(rebel{.eta = 4}, p);          // (0.75 - 1.25)²
    CHECK_CLOSE(y.loss, 0.25, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.25, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.25, family::pair_loss);
    CHECK_DISTINGUISHES(0.25, 115.5625, family::pair_loss);  // multiplied by the step size
}

TEST_CASE("rebel: the order of the pair does not matter") {
    pair<double> const p{{-2, -3, 2, 1.75}, {-8, -6, 4, 0.5}};
    auto const y = value_and_grad(rebel{.eta = 0.5}, p);
    auto const swapped = value_and_grad(rebel{.eta = 0.5}, pair<double>{p.rejected, p.chosen});
    CHECK_SAME(y.loss, swapped.loss);
    CHECK_SAME(y.d_chosen, swapped.d_rejected);
    CHECK_SAME(y.d_rejected, swapped.d_chosen);
}

TEST_CASE("rebel: reported rewards are bare log-ratios") {
    prefer::response<double> const r{-2, -3, 2, 1.75};
    CHECK_SAME(prefer::loss::reward(rebel{.eta = 0.25}, r, true), 1.0);
}

TEST_CASE("rebel: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(rebel{.eta = bad}.validate(), prefer::value_error,
                             "prefer::loss::rebel: eta is ");
        CHECK_THROWS_MESSAGE(rebel{.eta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(rebel{}.validate());
}
