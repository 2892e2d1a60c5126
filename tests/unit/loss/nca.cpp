// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/nca.hpp>

#include <limits>

using prefer::pair;
using prefer::loss::nca;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("nca: defaults and inputs") {
    CHECK_SAME(nca{}.beta, 0.1);
    STATIC_REQUIRE(nca::inputs().reference);
    STATIC_REQUIRE(!nca::inputs().lengths);
}

TEST_CASE("nca: value and gradient at rewards 0.3 and -0.2") {
    pair<double> const p{{-2, -5, 2}, {-8, -6, 4}};
    auto const y = value_and_grad(nca{}, p);
    CHECK_CLOSE(y.loss, 1.280602301393586598064L, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.01383362247825115192719L, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.02250830013437610457204L, family::pair_loss);
}

TEST_CASE("nca: where policy and reference agree") {
    auto const y = value_and_grad(nca{}, pair<double>{{-3, -3, 2}, {-5, -5, 2}});
    CHECK_CLOSE(y.loss, 1.386294361119890618835L, family::pair_loss);  // 2 log 2
    CHECK_CLOSE(y.d_chosen, -0.025, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.025, family::pair_loss);
}

TEST_CASE("nca: the chosen reward stops at log 2, the rejected one falls for ever") {
    double const log_2 = 0.693147180559945309417;
    auto const slope = [](double chosen, double rejected) {
        return value_and_grad(nca{.beta = 1}, pair<double>{{chosen, 0, 1}, {rejected, 0, 1}});
    };
    CHECK_CLOSE(slope(log_2, 0).d_chosen, 0.0, family::gradient);
    CHECK(slope(log_2 - 0.25, 0).d_chosen < 0);
    CHECK(slope(log_2 + 0.25, 0).d_chosen > 0);
    CHECK(slope(0, -30).d_rejected > 0);
}

TEST_CASE("nca: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(nca{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::nca: beta is ");
        CHECK_THROWS_MESSAGE(nca{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(nca{}.validate());
}
