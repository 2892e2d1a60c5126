// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/bco.hpp>

#include <limits>

using prefer::example;
using prefer::loss::bco;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("bco: values and slopes of either kind, shifted") {
    CHECK_SAME(bco{}.beta, 0.1);
    CHECK_SAME(bco{}.shift, 0.0);
    bco const loss{.beta = 0.1, .shift = 0.2};
    auto const good = value_and_grad(loss, example<double>{{-14, -20, 4}, 1});
    auto const bad = value_and_grad(loss, example<double>{{-14, -20, 4}, 0});
    CHECK_CLOSE(good.loss, 0.513015252400, family::quoted);  // log(1 + e^-0.4)
    CHECK_CLOSE(bad.loss, 0.913015252400, family::quoted);   // log(1 + e^0.4)
    CHECK_CLOSE(good.d_policy, -0.0401312339888, family::quoted);
    CHECK_CLOSE(bad.d_policy, 0.0598687660112, family::quoted);
    CHECK_DISTINGUISHES(0.513015252400, 0.437487950486, family::quoted);  // no shift
    CHECK_CLOSE(loss(example<double>{{-18, -20, 4}, 1}), 0.693147180560, family::quoted);
}

TEST_CASE("bco: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -1.0, inf, nan}) {
        CHECK_THROWS_MESSAGE((bco{.beta = bad}.validate()), prefer::value_error,
                             "prefer::loss::bco: beta is ");
    }
    for (double const bad : {inf, -inf, nan}) {
        CHECK_THROWS_MESSAGE((bco{.shift = bad}.validate()), prefer::value_error,
                             "prefer::loss::bco: shift is ");
    }
    CHECK_NOTHROW((bco{.shift = -3}.validate()));
}
