// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/logit.hpp>

#include <cmath>
#include <concepts>
#include <limits>

using prefer::math::logit;
using prefer::test::check_edges;
using prefer::test::family;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::table_of;
using prefer::test::undefined;

namespace {

template <class T>
using row = prefer::test::golden_row<T>;

#include "golden/math_logit.inc"

}  // namespace

TEMPLATE_TEST_CASE("logit: the error is what the comment states", "", float, double) {
    auto const worst = prefer::test::largest_error<TestType>(
        logit<TestType>, table_of<TestType>(float_rows, double_rows));
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("logit").template of<TestType>());
}

TEMPLATE_TEST_CASE("logit: the edges", "", float, double) {
    long double const smallest_value =
        std::same_as<TestType, float> ? -103.278929903431851103168L : -744.440071921381262314107L;
    check_edges<TestType>(logit<TestType>, {undefined, undefined, undefined, -inf, -inf,
                                            smallest_value, inf, undefined, undefined, undefined});
    CHECK_SAME_BITS(logit(TestType(0.5)), TestType(0));
    // The closest numbers outside [0, 1].
    CHECK(std::isnan(logit(-std::numeric_limits<TestType>::denorm_min())));
    CHECK(std::isnan(logit(std::nextafter(TestType(1), TestType(2)))));
    CHECK(std::isnan(logit(TestType(-0.25))));
}

TEMPLATE_TEST_CASE("logit: either side of its branches, it rises", "", float, double) {
    for (TestType const branch : {TestType(0.3L), TestType(0.5L), TestType(0.65L)}) {
        TestType x = branch;
        for (int i = 0; i < 8; ++i) x = std::nextafter(x, TestType(0));
        TestType before = logit(x);
        TestType const first = before;
        for (int i = 0; i < 16; ++i) {
            x = std::nextafter(x, TestType(1));
            // Two forms that are each right to a few ULP may step back by as much where they meet.
            CHECK(logit(x) >= before - 4 * std::numeric_limits<TestType>::epsilon());
            before = logit(x);
        }
        CHECK(before > first);
    }
}

TEMPLATE_TEST_CASE("logit: next to one half it is 4 (p - 1/2)", "", float, double) {
    TestType const half = 0.5;
    TestType const above = std::nextafter(half, TestType(1));
    TestType const below = std::nextafter(half, TestType(0));
    CHECK_CLOSE(logit(above), prefer::test::exactly(4 * (above - half)), family::elementwise);
    CHECK_CLOSE(logit(below), prefer::test::exactly(4 * (below - half)), family::elementwise);
}

TEMPLATE_TEST_CASE("logit: undoes sigmoid, and logit(p) = -logit(1 - p)", "", float, double) {
    for (int i = 1; i < 256; ++i) {
        TestType const p = static_cast<TestType>(i) / TestType(256);  // 1 - p is exact
        CAPTURE(p);
        auto const expected = static_cast<long double>(-logit(TestType(1) - p));
        CHECK_CLOSE(logit(p), expected, family::elementwise);
    }
}
