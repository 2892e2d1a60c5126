// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/r_dpo.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::r_dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("r_dpo: defaults and inputs") {
    CHECK_SAME(r_dpo{}.beta, 0.1);
    CHECK_SAME(r_dpo{}.length_penalty, 0.01);
    STATIC_REQUIRE(r_dpo::inputs().reference);
    STATIC_REQUIRE(r_dpo::inputs().lengths);
}

TEST_CASE("r_dpo: a longer chosen response is pushed less") {
    pair<double> const p{{-2, -3, 12}, {-8, -6, 4}};  // h = 3, 8 tokens longer
    auto const y = value_and_grad(r_dpo{}, p);        // z = 0.3 + 0.08
    CHECK_CLOSE(y.loss, 0.5210896138659374189377L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.0406126897065857259614L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.0406126897065857259614L, family::pair_loss);
    CHECK_DISTINGUISHES(0.52108961387, 0.589185018951, family::pair_loss);  // the other sign
}

TEST_CASE("r_dpo: with equal lengths, or no penalty, it is dpo") {
    pair<double> const equal{{-2, -3, 5}, {-8, -6, 5}};
    CHECK_SAME(r_dpo{}(equal), dpo{}(equal));
    pair<double> const longer{{-2, -3, 50}, {-8, -6, 5}};
    CHECK_SAME(r_dpo{.length_penalty = 0}(longer), dpo{}(longer));
}

TEST_CASE("r_dpo: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(r_dpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::r_dpo: beta is ");
        CHECK_THROWS_MESSAGE(r_dpo{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {-1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(r_dpo{.length_penalty = bad}.validate(), prefer::value_error,
                             "prefer::loss::r_dpo: length_penalty is ");
        CHECK_THROWS_MESSAGE(r_dpo{.length_penalty = bad}.validate(), prefer::value_error,
                             "must be finite and >= 0");
    }
    CHECK_NOTHROW(r_dpo{}.validate());
}
