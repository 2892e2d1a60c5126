// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/log1mexp.hpp>

#include <cmath>
#include <limits>

using prefer::math::log1mexp;
using prefer::test::check_edges;
using prefer::test::family;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::table_of;
using prefer::test::undefined;

namespace {

template <class T>
using row = prefer::test::golden_row<T>;

#include "golden/math_log1mexp.inc"

}  // namespace

TEMPLATE_TEST_CASE("log1mexp: the error is what the comment states", "", float, double) {
    auto const worst = prefer::test::largest_error<TestType>(
        log1mexp<TestType>, table_of<TestType>(float_rows, double_rows));
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("log1mexp").template of<TestType>());
}

TEMPLATE_TEST_CASE("log1mexp: the edges", "", float, double) {
    // log(1 - e^-1); at zero the limit; no probability above one.
    check_edges<TestType>(log1mexp<TestType>,
                          {-0.0L, -0.0L, -0.458675145387081891021643645067329702L, -inf, -inf,
                           undefined, undefined, undefined, undefined, undefined});
}

TEMPLATE_TEST_CASE("log1mexp: both sides of the branch at -log 2", "", float, double) {
    auto const branch = static_cast<TestType>(-0.693147180559945309417232121458176568L);
    TestType const above = std::nextafter(branch, TestType(0));
    TestType const below = std::nextafter(branch, TestType(-1));
    // There 1 - e^x = 1/2, with slope -1: next to it the result is -2 log 2 - x, to first order.
    for (TestType const x : {below, branch, above}) {
        CAPTURE(x);
        long double const expected =
            -1.38629436111989061883446424291635314L - static_cast<long double>(x);
        CHECK_CLOSE(log1mexp(x), expected, family::elementwise);
    }
    CHECK(log1mexp(below) >= log1mexp(branch));
    CHECK(log1mexp(branch) >= log1mexp(above));
}

TEMPLATE_TEST_CASE("log1mexp: is its own inverse, and never increasing", "", float, double) {
    TestType before = 0;
    for (int i = 512; i >= 1; --i) {
        auto const x = static_cast<TestType>(-i) / TestType(64);
        CAPTURE(x);
        TestType const y = log1mexp(x);
        REQUIRE(y <= before);
        before = y;
        if (x > TestType(-4)) {
            REQUIRE_CLOSE(log1mexp(y), prefer::test::exactly(x), family::gradient);
        }
    }
}

TEST_CASE("log1mexp: log-odds near probability one (F7)") {
    auto const log_odds = [](auto x) { return x - log1mexp(x); };
    CHECK_CLOSE(log_odds(-1e-8), 18.4206807389523654470547L, family::elementwise);
    CHECK_CLOSE(log_odds(-1e-3), 6.90725523731547071178243L, family::elementwise);
    CHECK_CLOSE(log_odds(-1.0), -0.541324854612918108978357L, family::elementwise);
    CHECK_CLOSE(log_odds(-30.0), -29.9999999999999064237703L, family::elementwise);
    CHECK_SAME(log_odds(0.0), static_cast<double>(inf));  // the limit, and no NaN
    CHECK_CLOSE(log_odds(-1e-8F), 18.4206807L, family::quoted);
    // The repairs that add an epsilon inside the logarithm.
    CHECK_DISTINGUISHES(18.4206807389523654470547L, 9.2104, family::elementwise);
    CHECK_DISTINGUISHES(6.90725523731547071178243L, 6.8119, family::elementwise);
    CHECK_DISTINGUISHES(-0.541324854612918108978357L, -0.541483, family::elementwise);

    double const difference = log_odds(-1.0) - log_odds(-2.0);
    CHECK_CLOSE(difference, 1.31326168751822283L, family::reduction);
    CHECK_CLOSE(std::log1p(std::exp(-difference)), 0.238183026, family::quoted);
}
