// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses.hpp"

#include <prefer/loss/dpo.hpp>

#include <cmath>
#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("dpo: defaults and inputs") {
    CHECK_SAME(dpo{}.beta, 0.1);
    CHECK_SAME(dpo{}.label_smoothing, 0.0);
    CHECK(dpo{}.margin_of == log_probs::summed);
    STATIC_REQUIRE(dpo{}.inputs().reference);
    STATIC_REQUIRE(!dpo{}.inputs().lengths);
    STATIC_REQUIRE(dpo{.margin_of = log_probs::averaged}.inputs().lengths);
}

TEST_CASE("dpo: log 2 and a symmetric gradient where policy and reference agree (F16)") {
    pair<double> const p{{-11.3, -11.3, 4}, {-7.9, -7.9, 2}};
    for (double const epsilon : {0.0, 0.1, 0.3}) {
        auto const y = value_and_grad(dpo{.beta = 0.1, .label_smoothing = epsilon}, p);
        CHECK_CLOSE(y.loss, 0.693147180559945309417L, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, -0.1 * (0.5 - epsilon), family::pair_loss);
        CHECK_CLOSE(y.d_rejected, 0.1 * (0.5 - epsilon), family::pair_loss);
    }
    CHECK_CLOSE(dpo{.beta = 7}(p), 0.693147180559945309417L, family::pair_loss);
}

TEST_CASE("dpo: the margin is multiplied by beta, and the reference is subtracted (F3)") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // h = 3, without reference 6
    double const expected = 0.554355244468526993;    // log(1 + e^-0.3)
    CHECK_CLOSE(dpo{.beta = 0.1}(p), expected, family::pair_loss);
    CHECK_DISTINGUISHES(expected, 9.36e-14, family::pair_loss);     // divided by beta
    CHECK_DISTINGUISHES(expected, 0.437487950, family::pair_loss);  // no reference
    CHECK_DISTINGUISHES(expected, 0.644396660, family::pair_loss);  // averages (F1)
}

TEST_CASE("dpo: averaged log-probs are the length-normalized loss (F1)") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // margins: 3 of sums, 1 of averages
    auto const y = value_and_grad(dpo{.beta = 0.1, .margin_of = log_probs::averaged}, p);
    CHECK_CLOSE(y.loss, 0.644396660073570849, family::pair_loss);        // log(1 + e^-0.1)
    CHECK_CLOSE(y.d_chosen, -0.0237510406260530007, family::pair_loss);  // -0.1·σ(-0.1)/2
    CHECK_CLOSE(y.d_rejected, 0.0118755203130265003, family::pair_loss);
    CHECK_DISTINGUISHES(0.644396660073570849, 0.554355244, family::pair_loss);
    pair<double> const empty{{-2, -3, 2}, {0, 0, 0}};
    CHECK_SAME(value_and_grad(dpo{.margin_of = log_probs::averaged}, empty).d_rejected, 0.0);
}

TEST_CASE("dpo: smoothing has an effect, and is not that of the robust loss (F12)") {
    pair<double> const p = pair_with_margin(6);
    auto const y = value_and_grad(dpo{.beta = 0.1, .label_smoothing = 0.1}, p);
    CHECK_CLOSE(y.loss, 0.49748795031, family::quoted);
    CHECK_CLOSE(y.d_chosen, -0.0254343694, family::quoted);
    CHECK_CLOSE(y.d_rejected, 0.0254343694, family::quoted);
    CHECK_DISTINGUISHES(0.497487950, 0.437487950, family::quoted);  // ignored
    CHECK_DISTINGUISHES(0.497487950, 0.362487950, family::quoted);  // robust
    auto const plain = value_and_grad(dpo{.beta = 0.1}, p);
    CHECK_CLOSE(plain.loss, 0.437487950486, family::quoted);
    CHECK_CLOSE(plain.d_chosen, -0.0354343694, family::quoted);
}

TEST_CASE("dpo: with smoothing, the minimum is where the label is right with that probability") {
    for (double const epsilon : {0.05, 0.25, 0.4}) {
        double const beta = 0.5;
        double const best = std::log((1 - epsilon) / epsilon) / beta;
        dpo const loss{.beta = beta, .label_smoothing = epsilon};
        auto const y = value_and_grad(loss, pair<double>{{best, 0, 1}, {0, 0, 1}});
        CHECK_CLOSE(y.d_chosen, 0.0, family::gradient);
        CHECK(loss(pair_with_margin(best + 0.5)) > y.loss);
        CHECK(loss(pair_with_margin(best - 0.5)) > y.loss);
    }
}

TEST_CASE("dpo: swapping the responses flips the sign of z") {
    pair<double> const p = pair_with_margin(6);
    pair<double> const q{p.rejected, p.chosen};
    // loss(-z) = loss(z) + z without smoothing
    CHECK_CLOSE(dpo{}(q), dpo{}(p) + 0.6, family::pair_loss);
}

TEST_CASE("dpo: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const beta : {0.0, -0.1, inf, nan}) {
        CAPTURE(beta);
        CHECK_THROWS_MESSAGE(dpo{.beta = beta}.validate(), prefer::value_error,
                             "prefer::loss::dpo: beta is ");
        CHECK_THROWS_MESSAGE(dpo{.beta = beta}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const epsilon : {-0.01, 0.5, 1.0, inf, nan}) {
        CAPTURE(epsilon);
        dpo const bad{.beta = 0.1, .label_smoothing = epsilon};
        CHECK_THROWS_MESSAGE(bad.validate(), prefer::value_error,
                             "prefer::loss::dpo: label_smoothing is ");
        CHECK_THROWS_MESSAGE(bad.validate(), prefer::value_error, "must be in [0, 0.5)");
    }
    CHECK_THROWS_MESSAGE((dpo{.margin_of = static_cast<log_probs>(2)}.validate()),
                         prefer::value_error, "prefer::loss::dpo: margin_of is 2");
    CHECK_NOTHROW((dpo{.beta = 1e-300, .label_smoothing = 0.499}.validate()));
    CHECK_NOTHROW(dpo{}.validate());
}
