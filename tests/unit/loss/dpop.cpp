// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/dpop.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::dpop;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("dpop: defaults and inputs") {
    CHECK_SAME(dpop{}.beta, 0.1);
    CHECK_SAME(dpop{}.penalty, 50.0);
    STATIC_REQUIRE(dpop::inputs().reference);
    STATIC_REQUIRE(!dpop::inputs().lengths);
}

TEST_CASE("dpop: the penalty is inside the logarithm") {
    pair<double> const p{{-4, -3, 2}, {-10, -6, 4}};                    // dw = -1, dl = -4, h = 3
    auto const y = value_and_grad(dpop{.beta = 0.1, .penalty = 5}, p);  // z = 0.1·(3 - 5)
    CHECK_CLOSE(y.loss, 0.7981388693815918396849L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.3299003983874867450955L, family::pair_loss);  // (1 + 5)·
    CHECK_CLOSE(y.d_rejected, 0.05498339973124779085592L, family::pair_loss);
    CHECK_DISTINGUISHES(0.79813886938, 5.554355244, family::pair_loss);   // outside
    CHECK_DISTINGUISHES(0.79813886938, -4.445644755, family::pair_loss);  // and the wrong sign
}

TEST_CASE("dpop: without a loss of the chosen response it is dpo, bit for bit, corner included") {
    for (double const dw : {0.0, 0.25, 7.0}) {
        CAPTURE(dw);
        pair<double> const p{{-3, -3 - dw, 2}, {-8, -6, 4}};
        auto const y = value_and_grad(dpop{}, p);
        auto const plain = value_and_grad(dpo{}, p);
        CHECK_SAME_BITS(y.loss, plain.loss);
        CHECK_SAME_BITS(y.d_chosen, plain.d_chosen);
        CHECK_SAME_BITS(y.d_rejected, plain.d_rejected);
    }
    pair<double> const fallen{{-9, -3, 2}, {-8, -6, 4}};
    CHECK_SAME(dpop{.penalty = 0}(fallen), dpo{}(fallen));
}

TEST_CASE("dpop: before the corner the slope in the chosen is 1 + penalty times as steep") {
    dpop const loss{.beta = 0.1, .penalty = 5};
    auto const at = value_and_grad(loss, pair<double>{{-3, -3, 2}, {-8, -8, 4}});
    auto const before = value_and_grad(loss, pair<double>{{-3 - 0x1p-40, -3, 2}, {-8, -8, 4}});
    CHECK_CLOSE(at.d_chosen, -0.05, family::pair_loss);
    CHECK_CLOSE(before.d_chosen, -0.3, family::quoted);
    CHECK_CLOSE(before.d_rejected, 0.05, family::quoted);
}

TEST_CASE("dpop: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(dpop{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::dpop: beta is ");
        CHECK_THROWS_MESSAGE(dpop{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {-1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(dpop{.penalty = bad}.validate(), prefer::value_error,
                             "prefer::loss::dpop: penalty is ");
        CHECK_THROWS_MESSAGE(dpop{.penalty = bad}.validate(), prefer::value_error,
                             "must be finite and >= 0");
    }
    CHECK_NOTHROW(dpop{}.validate());
}
