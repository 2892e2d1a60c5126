// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/sigmoid.hpp>

#include <cmath>
#include <limits>

using prefer::math::sigmoid;
using prefer::test::check_edges;
using prefer::test::family;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::table_of;
using prefer::test::undefined;

namespace {

template <class T>
using row = prefer::test::golden_row<T>;

#include "golden/math_sigmoid.inc"

}  // namespace

TEMPLATE_TEST_CASE("sigmoid: the error is what the comment states", "", float, double) {
    auto const worst = prefer::test::largest_error<TestType>(
        sigmoid<TestType>, table_of<TestType>(float_rows, double_rows));
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("sigmoid").template of<TestType>());
}

TEMPLATE_TEST_CASE("sigmoid: the edges", "", float, double) {
    check_edges<TestType>(sigmoid<TestType>,
                          {0.0L, 0.0L, 0.268941421369995120748840758178163726L, 0.5L, 0.5L, 0.5L,
                           0.731058578630004879251159241821836274L, 1.0L, 1.0L, undefined});
}

TEMPLATE_TEST_CASE("sigmoid: σ(x) + σ(-x) = 1, never decreasing, within [0, 1]", "", float,
                   double) {
    TestType before = 0;
    for (int i = -4000; i <= 4000; ++i) {
        auto const x = static_cast<TestType>(i) / TestType(64);
        CAPTURE(x);
        TestType const y = sigmoid(x);
        REQUIRE(y >= before);
        REQUIRE(y > TestType(0));
        REQUIRE(y <= TestType(1));
        REQUIRE_CLOSE(y + sigmoid(-x), 1, family::elementwise);
        before = y;
    }
}

TEST_CASE("sigmoid: the derivative of log σ is right in both tails (G1)") {
    CHECK_SAME(sigmoid(1000.0), 1.0);
    CHECK_SAME(sigmoid(-1000.0), 0.0);
    CHECK_SAME(sigmoid(static_cast<double>(inf)), 1.0);
    CHECK_CLOSE(sigmoid(-40.0), 4.24835425529158897728e-18L, family::elementwise);
    CHECK(sigmoid(-745.0) > 0);
}
