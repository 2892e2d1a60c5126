// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/robust_dpo.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::robust_dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("robust_dpo: defaults and inputs") {
    CHECK_SAME(robust_dpo{}.beta, 0.1);
    CHECK_SAME(robust_dpo{}.label_smoothing, 0.1);
    STATIC_REQUIRE(robust_dpo::inputs().reference);
    STATIC_REQUIRE(!robust_dpo::inputs().lengths);
}

TEST_CASE("robust_dpo: log 2 where policy and reference agree, with a steeper slope (F16)") {
    auto const y = value_and_grad(robust_dpo{}, pair_with_margin(0));
    CHECK_CLOSE(y.loss, 0.693147180559945309417L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.0625, family::pair_loss);  // -β/2 / (1 - 2ε)
    CHECK_CLOSE(y.d_rejected, 0.0625, family::pair_loss);
}

TEST_CASE("robust_dpo: the published numbers (F12)") {
    auto const y = value_and_grad(robust_dpo{}, pair_with_margin(6));
    CHECK_CLOSE(y.loss, 0.36248795049, family::quoted);
    CHECK_CLOSE(y.d_chosen, -0.0479343694, family::quoted);
    CHECK_CLOSE(y.d_rejected, 0.0479343694, family::quoted);
    CHECK_DISTINGUISHES(0.362487950, 0.497487950, family::quoted);  // conservative
    CHECK_DISTINGUISHES(0.362487950, 0.437487950, family::quoted);  // smoothing ignored
}

TEST_CASE("robust_dpo: without smoothing it is dpo") {
    for (double const h : {-30.0, -1.0, 0.0, 2.0, 50.0}) {
        auto const y = value_and_grad(robust_dpo{0.3, 0}, pair_with_margin(h));
        auto const d = value_and_grad(dpo{0.3, 0}, pair_with_margin(h));
        CHECK_SAME(y.loss, d.loss);
        CHECK_SAME(y.d_chosen, d.d_chosen);
        CHECK_SAME(y.d_rejected, d.d_rejected);
    }
}

TEST_CASE("robust_dpo: the mean over flipped labels is dpo on clean labels") {
    double const epsilon = 0.2;
    robust_dpo const loss{.beta = 0.5, .label_smoothing = epsilon};
    for (double const h : {-8.0, -1.0, 0.5, 4.0}) {
        CAPTURE(h);
        double const mean =
            (1 - epsilon) * loss(pair_with_margin(h)) + epsilon * loss(pair_with_margin(-h));
        CHECK_CLOSE(mean, dpo{.beta = 0.5}(pair_with_margin(h)), family::pair_loss);
    }
}

TEST_CASE("robust_dpo: it is not bounded below, and falls for ever") {
    auto const far = value_and_grad(robust_dpo{}, pair_with_margin(1e4));
    CHECK_CLOSE(far.loss, -125.0, family::pair_loss);  // -ε/(1 - 2ε)·z
    CHECK_CLOSE(far.d_chosen, -0.0125, family::pair_loss);
}

TEST_CASE("robust_dpo: hyper-parameters out of range are refused in words (F12)") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const beta : {0.0, -0.1, inf, nan}) {
        CHECK_THROWS_MESSAGE((robust_dpo{beta, 0.1}.validate()), prefer::value_error,
                             "prefer::loss::robust_dpo: beta is ");
    }
    for (double const epsilon : {-0.01, 0.5, 0.9, inf, nan}) {
        CHECK_THROWS_MESSAGE((robust_dpo{0.1, epsilon}.validate()), prefer::value_error,
                             "prefer::loss::robust_dpo: label_smoothing is ");
    }
    CHECK_THROWS_MESSAGE((robust_dpo{0.1, 0.5}.validate()), prefer::value_error,
                         "label_smoothing is 0.5, but must be in [0, 0.5)");
    CHECK_NOTHROW((robust_dpo{0.1, 0}.validate()));
}
