// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/discopop.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::discopop;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("discopop: defaults and inputs") {
    CHECK_SAME(discopop{}.beta, 0.1);
    CHECK_SAME(discopop{}.tau, 0.05);
    STATIC_REQUIRE(discopop::inputs().reference);
    STATIC_REQUIRE(!discopop::inputs().lengths);
}

TEST_CASE("discopop: logistic below 0, exponential above, and the rise between") {
    auto const at = [](double z) {
        return value_and_grad(discopop{.beta = 1}, pair_with_margin(z));
    };
    CHECK_CLOSE(at(0).loss, 0.8465735902799726547086L, family::pair_loss);  // (1 + log 2)/2
    CHECK_CLOSE(at(0).d_chosen, 0.7842640972002734529138L, family::pair_loss);
    auto const scaled = value_and_grad(discopop{}, pair_with_margin(6));  // z = 0.6
    CHECK_CLOSE(scaled.loss, 0.5488109521018646941536L, family::pair_loss);
    CHECK_CLOSE(scaled.d_chosen, -0.05487967614898508620906L, family::pair_loss);
    auto const low = value_and_grad(discopop{}, pair_with_margin(-6));
    CHECK_CLOSE(low.loss, 1.03749277139482572459L, family::pair_loss);
    CHECK_CLOSE(low.d_rejected, 0.06455671170303807206068L, family::pair_loss);
}

TEST_CASE("discopop: no overflow for margins far below 0") {
    for (double const z : {-100.0, -1000.0, -10000.0}) {
        auto const y = value_and_grad(discopop{.beta = 1}, pair_with_margin(z));
        CHECK_CLOSE(y.loss, -z, family::pair_loss);  // e^-z alone is infinite from -710 on
        CHECK_CLOSE(y.d_chosen, -1.0, family::pair_loss);
    }
    discopop const unit{.beta = 1, .tau = 1};
    CHECK_CLOSE(unit(pair_with_margin(-1000)), 1001.0, family::pair_loss);
}

TEST_CASE("discopop: with tau above 1 it overflows to infinity, never to NaN") {
    discopop const loss{.beta = 1, .tau = 2};
    CHECK_CLOSE(loss(pair_with_margin(-10)), 157.3529685393091920006L, family::pair_loss);
    auto const y = value_and_grad(loss, pair_with_margin(-10000));
    CHECK(std::isinf(y.loss));
    CHECK(y.d_chosen < 0);
    CHECK(y.d_rejected > 0);
}

TEST_CASE("discopop: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(discopop{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::discopop: beta is ");
        CHECK_THROWS_MESSAGE(discopop{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {0.0, -1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(discopop{.tau = bad}.validate(), prefer::value_error,
                             "prefer::loss::discopop: tau is ");
        CHECK_THROWS_MESSAGE(discopop{.tau = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    CHECK_NOTHROW(discopop{}.validate());
}
