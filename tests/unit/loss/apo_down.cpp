// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/apo_down.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::apo_down;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("apo_down: defaults and inputs") {
    CHECK_SAME(apo_down{}.beta, 0.1);
    STATIC_REQUIRE(apo_down::inputs().reference);
    STATIC_REQUIRE(!apo_down::inputs().lengths);
}

TEST_CASE("apo_down: both terms see the same log-ratio (F11)") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // dw = 1, dl = -2, h = 3
    auto const y = value_and_grad(apo_down{}, p);
    CHECK_CLOSE(y.loss, 0.9505366706672809989472L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, 0.0004917728502146098755532L, family::quoted);
    CHECK_CLOSE(y.d_rejected, 0.0244458311690745869066L, family::pair_loss);
    CHECK_DISTINGUISHES(0.9505366706672810, 0.856322069, family::pair_loss);  // mixed
}

TEST_CASE("apo_down: the two ways to compute it meet at z = 1 and z = -1") {
    for (double const z : {-1.0, 1.0}) {
        for (double const dw : {-30.0, -0.5, 0.0, 0.75, 30.0}) {
            CAPTURE(z, dw);
            auto const at = [&](double margin) {
                return value_and_grad(apo_down{.beta = 1},
                                      pair<double>{{dw, 0, 1}, {dw - margin, 0, 1}});
            };
            auto const outside = at(z);
            auto const inside = at(z * (1 - 0x1p-50));
            CHECK_CLOSE(inside.loss, outside.loss, family::pair_loss);
            CHECK_CLOSE(inside.d_chosen, outside.d_chosen, family::gradient);
            CHECK_CLOSE(inside.d_rejected, outside.d_rejected, family::gradient);
        }
    }
}

TEST_CASE("apo_down: at a rejected log-ratio of 0 only the rejected has a slope") {
    auto const y = value_and_grad(apo_down{.beta = 1}, pair<double>{{0.5, 0, 1}, {0, 0, 1}});
    CHECK_SAME(y.loss, 1.0);
    CHECK_CLOSE(y.d_chosen, 0.0, family::gradient);
    CHECK_CLOSE(y.d_rejected, 0.2350037122015944890693L, family::pair_loss);  // σ(.5)·σ(-.5)
}

TEST_CASE("apo_down: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(apo_down{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::apo_down: beta is ");
        CHECK_THROWS_MESSAGE(apo_down{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(apo_down{}.validate());
}
