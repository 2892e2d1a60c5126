// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses.hpp"

#include <prefer/loss/ipo.hpp>

#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::ipo;
using prefer::loss::ipo_target;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("ipo: defaults and inputs") {
    ipo const loss;
    CHECK_SAME(loss.beta, 0.1);
    CHECK(loss.margin_of == log_probs::averaged);
    CHECK(loss.target == ipo_target::half_inverse_beta);
    CHECK(loss.inputs().reference);
    CHECK(loss.inputs().lengths);
    CHECK_FALSE(ipo{.margin_of = log_probs::summed}.inputs().lengths);
}

TEST_CASE("ipo: sums and averages are two losses (F1)") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};  // margins: 3 of sums, 1 of averages
    auto const summed = value_and_grad(ipo{.margin_of = log_probs::summed}, p);
    CHECK_CLOSE(summed.loss, 4.0, family::pair_loss);
    CHECK_CLOSE(summed.d_chosen, -4.0, family::pair_loss);
    CHECK_CLOSE(summed.d_rejected, 4.0, family::pair_loss);
    auto const averaged = value_and_grad(ipo{}, p);
    CHECK_CLOSE(averaged.loss, 16.0, family::pair_loss);
    CHECK_CLOSE(averaged.d_chosen, -4.0, family::pair_loss);   // 2·(1 - 5)/2
    CHECK_CLOSE(averaged.d_rejected, 2.0, family::pair_loss);  // -2·(1 - 5)/4
    CHECK_DISTINGUISHES(4.0, 16.0, family::pair_loss);
}

TEST_CASE("ipo: past its target it pulls the margin back (F2)") {
    auto const y = value_and_grad(ipo{.margin_of = log_probs::summed}, pair_with_margin(6));
    CHECK_CLOSE(y.loss, 1.0, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, 2.0, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, -2.0, family::pair_loss);
    CHECK_DISTINGUISHES(1.0, 0.437487950, family::pair_loss);  // dpo
    CHECK_DISTINGUISHES(1.0, 0.4, family::pair_loss);          // hinge
}

TEST_CASE("ipo: both targets in print") {
    for (double const beta : {0.25, 0.5, 4.0}) {
        CAPTURE(beta);
        ipo const inverse{beta, log_probs::summed, ipo_target::half_inverse_beta};
        ipo const direct{beta, log_probs::summed, ipo_target::half_beta};
        CHECK_CLOSE(inverse(pair_with_margin(0)), 1 / (4 * beta * beta), family::pair_loss);
        CHECK_CLOSE(direct(pair_with_margin(0)), beta * beta / 4, family::pair_loss);
        CHECK_SAME(inverse(pair<double>{{1 / (2 * beta), 0, 1}, {0, 0, 1}}), 0.0);
        CHECK_SAME(direct(pair<double>{{beta / 2, 0, 1}, {0, 0, 1}}), 0.0);
    }
    // At β = 1 they are one.
    CHECK_SAME((ipo{1, log_probs::summed, ipo_target::half_beta}(pair_with_margin(3))),
               (ipo{1, log_probs::summed, ipo_target::half_inverse_beta}(pair_with_margin(3))));
}

TEST_CASE("ipo: the value at zero margin, whatever the lengths (F16)") {
    pair<double> const p{{-11.3, -11.3, 4}, {-7.9, -7.9, 2}};
    CHECK_CLOSE(ipo{}(p), 25.0, family::pair_loss);
}

TEST_CASE("ipo: an empty response has average 0 and gradient 0") {
    pair<double> const p{{-2, -3, 0}, {-8, -6, 4}};
    auto const y = value_and_grad(ipo{}, p);
    CHECK_CLOSE(y.loss, 20.25, family::pair_loss);  // (0 + 0.5 - 5)²
    CHECK_SAME(y.d_chosen, 0.0);
    CHECK_CLOSE(y.d_rejected, 2.25, family::pair_loss);
    auto const none = value_and_grad(ipo{}, pair<double>{{0, 0, 0}, {0, 0, 0}});
    CHECK_CLOSE(none.loss, 25.0, family::pair_loss);
    CHECK_SAME(none.d_chosen, 0.0);
    CHECK_SAME(none.d_rejected, 0.0);
}

TEST_CASE("ipo: hyper-parameters out of range are refused in words (F2)") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const beta : {0.0, -0.1, inf, nan}) {
        CHECK_THROWS_MESSAGE(ipo{.beta = beta}.validate(), prefer::value_error,
                             "prefer::loss::ipo: beta is ");
    }
    for (int const bad : {-1, 2}) {
        CHECK_THROWS_MESSAGE((ipo{.margin_of = static_cast<log_probs>(bad)}.validate()),
                             prefer::value_error, "prefer::loss::ipo: margin_of is ");
        CHECK_THROWS_MESSAGE((ipo{.target = static_cast<ipo_target>(bad)}.validate()),
                             prefer::value_error, "target is ");
    }
    CHECK_NOTHROW(ipo{}.validate());
    CHECK_NOTHROW((ipo{1, log_probs::summed, ipo_target::half_beta}.validate()));
}
