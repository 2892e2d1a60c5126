// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/ipo.hpp>
#include <prefer/loss/online_ipo.hpp>

#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::ipo;
using prefer::loss::online_ipo;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("online_ipo: defaults and inputs") {
    CHECK_SAME(online_ipo{}.beta, 0.1);
    CHECK(online_ipo{}.margin_of == log_probs::averaged);
    STATIC_REQUIRE(online_ipo{}.inputs().reference);
    STATIC_REQUIRE(online_ipo{}.inputs().lengths);
    STATIC_REQUIRE(online_ipo{}.inputs().labels);
    STATIC_REQUIRE(!online_ipo{.margin_of = log_probs::summed}.inputs().lengths);
}

TEST_CASE("online_ipo: sums and averages are two losses (F1)") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}, 0.75};  // margins: 3 of sums, 1 of averages
    auto const summed = value_and_grad(online_ipo{.margin_of = log_probs::summed}, p);
    CHECK_CLOSE(summed.loss, 0.25, family::pair_loss);  // (3 - 2.5)²
    CHECK_CLOSE(summed.d_chosen, 1.0, family::pair_loss);
    CHECK_CLOSE(summed.d_rejected, -1.0, family::pair_loss);
    auto const averaged = value_and_grad(online_ipo{}, p);
    CHECK_CLOSE(averaged.loss, 2.25, family::pair_loss);
    CHECK_CLOSE(averaged.d_chosen, -1.5, family::pair_loss);
    CHECK_CLOSE(averaged.d_rejected, 0.75, family::pair_loss);
}

TEST_CASE("online_ipo: a certain winner is ipo, with either order of the pair") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};
    for (auto const which : {log_probs::summed, log_probs::averaged}) {
        auto const hard = value_and_grad(ipo{.beta = 0.3, .margin_of = which}, p);
        auto const soft = value_and_grad(online_ipo{.beta = 0.3, .margin_of = which}, p);
        CHECK_CLOSE(soft.loss, hard.loss, family::pair_loss);
        CHECK_CLOSE(soft.d_chosen, hard.d_chosen, family::pair_loss);
        pair<double> const lost{p.rejected, p.chosen, 0};
        auto const swapped = value_and_grad(online_ipo{.beta = 0.3, .margin_of = which}, lost);
        CHECK_CLOSE(swapped.loss, hard.loss, family::pair_loss);
        CHECK_CLOSE(swapped.d_rejected, hard.d_chosen, family::pair_loss);
    }
}

TEST_CASE("online_ipo: the gradient is the mean over drawn labels, the value is not") {
    double const p = 0.7;
    double const beta = 0.25;
    pair<double> const won{{-2, -3, 2}, {-8, -6, 4}};
    pair<double> const lost{won.rejected, won.chosen};
    ipo const hard{.beta = beta, .margin_of = log_probs::summed};
    auto const a = value_and_grad(hard, won);
    auto const b = value_and_grad(hard, lost);
    pair<double> soft = won;
    soft.label = p;
    auto const y = value_and_grad(online_ipo{.beta = beta, .margin_of = log_probs::summed}, soft);
    CHECK_CLOSE(y.d_chosen, p * a.d_chosen + (1 - p) * b.d_rejected, family::gradient);
    CHECK_CLOSE(y.loss, p * a.loss + (1 - p) * b.loss - p * (1 - p) / (beta * beta),
                family::gradient);
}

TEST_CASE("online_ipo: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(online_ipo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::online_ipo: beta is ");
        CHECK_THROWS_MESSAGE(online_ipo{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_THROWS_MESSAGE((online_ipo{.margin_of = static_cast<log_probs>(2)}.validate()),
                         prefer::value_error, "prefer::loss::online_ipo: margin_of is 2");
    CHECK_NOTHROW(online_ipo{}.validate());
}
