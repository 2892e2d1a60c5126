// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/slic.hpp>

#include <cmath>
#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::slic;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

double const none = std::numeric_limits<double>::quiet_NaN();  // not given

pair<double> policies(double chosen, double rejected) {
    return {{chosen, none, none}, {rejected, none, none}};
}

}  // namespace

TEST_CASE("slic: defaults and inputs") {
    slic const loss;
    CHECK_SAME(loss.margin, 1.0);
    CHECK_SAME(loss.nll_weight, 0.1);
    CHECK(loss.nll_of == log_probs::summed);
    CHECK_FALSE(loss.inputs().reference);
    CHECK_FALSE(loss.inputs().lengths);
    CHECK(slic{.nll_of = log_probs::averaged}.inputs().lengths);
}

TEST_CASE("slic: without the likelihood term, the margin at equal log-probs, 0 once ahead by it") {
    slic const loss{.margin = 1.5, .nll_weight = 0};
    auto const equal = value_and_grad(loss, policies(-7, -7));
    CHECK_SAME(equal.loss, 1.5);
    CHECK_SAME(equal.d_chosen, -1.0);
    CHECK_SAME(equal.d_rejected, 1.0);
    for (double const chosen : {-5.5, -5.0, 0.0}) {
        auto const ahead = value_and_grad(loss, policies(chosen, -7));
        CHECK_SAME(ahead.loss, 0.0);
        CHECK_SAME(ahead.d_chosen, 0.0);
        CHECK_SAME(ahead.d_rejected, 0.0);
    }
}

TEST_CASE("slic: the likelihood term is on the sum or on the average, and linear in its weight") {
    pair<double> const p{{-8, none, 4}, {-20, none, 9}};  // ahead by 12: the hinge is 0
    for (double const weight : {0.1, 0.5, 2.0}) {
        CAPTURE(weight);
        auto const summed = value_and_grad(slic{.nll_weight = weight}, p);
        CHECK_CLOSE(summed.loss, 8 * weight, family::pair_loss);
        CHECK_CLOSE(summed.d_chosen, -weight, family::pair_loss);
        CHECK_SAME(summed.d_rejected, 0.0);
        auto const averaged =
            value_and_grad(slic{.nll_weight = weight, .nll_of = log_probs::averaged}, p);
        CHECK_CLOSE(averaged.loss, 2 * weight, family::pair_loss);
        CHECK_CLOSE(averaged.d_chosen, -weight / 4, family::pair_loss);
    }
}

TEST_CASE("slic: it reads no reference, and no length unless it averages") {
    auto const y = value_and_grad(slic{}, policies(-3, -2));
    CHECK_CLOSE(y.loss, 2.3, family::pair_loss);  // 1 + 3 - 2 + 0.1·3
    CHECK_CLOSE(y.d_chosen, -1.1, family::pair_loss);
    CHECK_SAME(y.d_rejected, 1.0);
    slic const averaged{.nll_of = log_probs::averaged};
    CHECK(std::isnan(averaged(policies(-3, -2))));  // and shows it where the length is missing
}

TEST_CASE("slic: an empty chosen response has no likelihood term") {
    slic const loss{.nll_of = log_probs::averaged};
    auto const y = value_and_grad(loss, pair<double>{{0, none, 0}, {-20, none, 9}});
    CHECK_SAME(y.loss, 0.0);
    CHECK_SAME(y.d_chosen, 0.0);
}

TEST_CASE("slic: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, -inf, none}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(slic{.margin = bad}.validate(), prefer::value_error,
                             "prefer::loss::slic: margin is ");
        CHECK_THROWS_MESSAGE(slic{.nll_weight = bad}.validate(), prefer::value_error,
                             "prefer::loss::slic: nll_weight is ");
    }
    CHECK_THROWS_MESSAGE(slic{.nll_of = static_cast<log_probs>(2)}.validate(), prefer::value_error,
                         "prefer::loss::slic: nll_of is 2, but must be a named enumerator");
    CHECK_NOTHROW((slic{0, 0, log_probs::averaged}.validate()));
}
