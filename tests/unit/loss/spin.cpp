// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/spin.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::spin;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("spin: defaults and inputs") {
    CHECK_SAME(spin{}.beta, 0.2);
    STATIC_REQUIRE(spin::inputs().reference);
    STATIC_REQUIRE(!spin::inputs().lengths);
}

TEST_CASE("spin: the logistic loss") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // dw = 1, dl = -2, h = 3
    auto const y = value_and_grad(spin{}, p);
    CHECK_CLOSE(y.loss, 0.4374879504858856264514L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.07086873875484090941818L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.07086873875484090941818L, family::pair_loss);
    CHECK_SAME(spin{.beta = 0.1}(p), dpo{.beta = 0.1}(p));
}

TEST_CASE("spin: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(spin{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::spin: beta is ");
        CHECK_THROWS_MESSAGE(spin{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(spin{}.validate());
}
