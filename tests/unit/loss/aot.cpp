// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/aot.hpp>
#include <prefer/loss/dpo.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::aot;
using prefer::loss::dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("aot: defaults and inputs") {
    CHECK_SAME(aot{}.beta, 0.1);
    CHECK_SAME(aot{}.label_smoothing, 0.0);
    STATIC_REQUIRE(aot::inputs().reference);
    STATIC_REQUIRE(aot::inputs().offsets);
    STATIC_REQUIRE(!aot::inputs().lengths);
}

TEST_CASE("aot: the offset takes the place of the pair's own reference margin") {
    // Margin of the policy 6, offset 3; the pair's own reference margin, 5, is not read.
    pair<double> p{{-2, -3, 2}, {-8, -8, 4}};
    p.offset = 3;
    auto const y = value_and_grad(aot{}, p);
    CHECK_CLOSE(y.loss, 0.5543552444685271188146L, family::pair_loss);  // log(1 + e^-0.3)
    CHECK_CLOSE(y.d_chosen, -0.04255574831883410128479L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.04255574831883410128479L, family::pair_loss);
    CHECK_DISTINGUISHES(0.55435524447, 0.64439666007, family::pair_loss);  // own reference: dpo
    CHECK_DISTINGUISHES(0.55435524447, 0.43748795049, family::pair_loss);  // no reference
}

TEST_CASE("aot: a batch of one is dpo, with and without smoothing") {
    for (double const epsilon : {0.0, 0.1}) {
        pair<double> p{{-2, -3, 2}, {-8, -6, 4}};
        p.offset = p.chosen.reference - p.rejected.reference;
        auto const y = value_and_grad(aot{.beta = 0.5, .label_smoothing = epsilon}, p);
        auto const d = value_and_grad(dpo{.beta = 0.5, .label_smoothing = epsilon}, p);
        CHECK_CLOSE(y.loss, d.loss, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, d.d_chosen, family::pair_loss);
        CHECK_CLOSE(y.d_rejected, d.d_rejected, family::pair_loss);
    }
}

TEST_CASE("aot: rewards are reported as log-ratios") {
    prefer::response<double> const r{-2, -3, 2};
    CHECK_SAME(prefer::loss::reward(aot{.beta = 0.5}, r, aot::inputs().reference), 0.5);
}

TEST_CASE("aot: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(aot{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::aot: beta is ");
        CHECK_THROWS_MESSAGE(aot{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {-0.01, 0.5, 1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(aot{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::aot: label_smoothing is ");
        CHECK_THROWS_MESSAGE(aot{.label_smoothing = bad}.validate(), prefer::value_error,
                             "must be in [0, 0.5)");
    }
    CHECK_NOTHROW(aot{}.validate());
}
