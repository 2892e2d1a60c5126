// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/reward_regression.hpp>
#include <prefer/math/dual.hpp>

#include <cmath>
#include <limits>

using prefer::example;
using prefer::loss::reward_regression;
using prefer::loss::value_and_grad;

namespace {

template <class T>
example<T> predicted(T reward, T target) {
    example<T> x;
    x.completion.policy = reward;
    x.completion.score = target;
    return x;
}

}  // namespace

TEST_CASE("reward_regression: a loss of single responses, which reads scores") {
    STATIC_REQUIRE(prefer::example_loss<reward_regression>);
    STATIC_REQUIRE(!prefer::pair_loss<reward_regression>);
    STATIC_REQUIRE(reward_regression::inputs().scores);
    STATIC_REQUIRE(!reward_regression::inputs().reference);
    STATIC_REQUIRE(!reward_regression::inputs().lengths);
    STATIC_REQUIRE(!reward_regression::inputs().labels);
    CHECK_NOTHROW(reward_regression{}.validate());
}

TEST_CASE("reward_regression: the squared distance, without a half, and its slope") {
    auto const check = []<class T>(T) {
        auto const y = value_and_grad(reward_regression{}, predicted(T(1.5), T(-0.5)));
        CHECK_SAME(y.loss, T(4));
        CHECK_SAME(y.d_policy, T(4));
        auto const below = value_and_grad(reward_regression{}, predicted(T(-1), T(-0.5)));
        CHECK_SAME(below.loss, T(0.25));
        CHECK_SAME(below.d_policy, T(-1));
        auto const met = value_and_grad(reward_regression{}, predicted(T(3), T(3)));
        CHECK_SAME(met.loss, T(0));
        CHECK_SAME(met.d_policy, T(0));
    };
    check(1.0F);
    check(1.0);
}

TEST_CASE("reward_regression: the curvature is 2") {
    using S = prefer::math::dual<double>;
    example<S> x;
    x.completion.policy = S::variable(7.25);
    x.completion.score = -3;
    CHECK_SAME(value_and_grad(reward_regression{}, x).d_policy.gradient[0], 2.0);
}

TEST_CASE("reward_regression: finite over the whole range; a missing score shows") {
    for (double const r : {-1e4, 0.0, 1e4}) {
        auto const y = value_and_grad(reward_regression{}, predicted(r, -r));
        CHECK_SAME(y.loss, 4 * r * r);
        CHECK_SAME(y.d_policy, 4 * r);
        auto const narrow =
            value_and_grad(reward_regression{}, predicted(static_cast<float>(r), 0.0F));
        CHECK(std::isfinite(narrow.loss));
    }
    example<double> x;
    x.completion.policy = 1;
    CHECK(std::isnan(reward_regression{}(x)));
    // -100 marks a missing attribute elsewhere; here it is a target like any other.
    CHECK_SAME(reward_regression{}(predicted(1.0, -100.0)), 10201.0);
}
