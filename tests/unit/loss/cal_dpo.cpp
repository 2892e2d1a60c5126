// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/cal_dpo.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::cal_dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("cal_dpo: defaults and inputs") {
    CHECK_SAME(cal_dpo{}.beta, 0.1);
    CHECK_SAME(cal_dpo{}.calibration_weight, 1.0);
    STATIC_REQUIRE(cal_dpo::inputs().reference);
    STATIC_REQUIRE(!cal_dpo::inputs().lengths);
}

TEST_CASE("cal_dpo: a bare margin in the logistic term, beta in the targets") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};           // dw = 1, dl = -2, h = 3
    auto const y = value_and_grad(cal_dpo{.beta = 0.25}, p);  // targets 2 and -2
    CHECK_CLOSE(y.loss, 1.048587351573742058759L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -2.047425873177566780879L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.04742587317756678087885L, family::pair_loss);
    auto const half = value_and_grad(cal_dpo{.beta = 0.25, .calibration_weight = 0.5}, p);
    CHECK_CLOSE(half.loss, 0.5485873515737420587589L, family::pair_loss);
    CHECK_CLOSE(half.d_chosen, -1.047425873177566780879L, family::pair_loss);
    CHECK_DISTINGUISHES(1.04858735157, 1.3867, family::pair_loss);  // β·h in the logistic term
}

TEST_CASE("cal_dpo: where policy and reference agree") {
    pair<double> const even{{-1, -1, 1}, {-2, -2, 1}};
    CHECK_CLOSE(cal_dpo{}(even), 50.693147180559945309L, family::pair_loss);
}

TEST_CASE("cal_dpo: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(cal_dpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::cal_dpo: beta is ");
        CHECK_THROWS_MESSAGE(cal_dpo{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {-1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(cal_dpo{.calibration_weight = bad}.validate(), prefer::value_error,
                             "prefer::loss::cal_dpo: calibration_weight is ");
        CHECK_THROWS_MESSAGE(cal_dpo{.calibration_weight = bad}.validate(), prefer::value_error,
                             "must be finite and >= 0");
    }
    CHECK_NOTHROW(cal_dpo{}.validate());
}
