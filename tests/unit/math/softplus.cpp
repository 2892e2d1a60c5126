// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/softplus.hpp>

#include <cmath>
#include <limits>

using prefer::math::softplus;
using prefer::test::check_edges;
using prefer::test::family;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::table_of;
using prefer::test::undefined;

namespace {

template <class T>
using row = prefer::test::golden_row<T>;

#include "golden/math_softplus.inc"

}  // namespace

TEMPLATE_TEST_CASE("softplus: the error is what the comment states", "", float, double) {
    auto const worst = prefer::test::largest_error<TestType>(
        softplus<TestType>, table_of<TestType>(float_rows, double_rows));
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("softplus").template of<TestType>());
}

TEMPLATE_TEST_CASE("softplus: the edges", "", float, double) {
    long double const log_2 = 0.693147180559945309417232121458176568L;
    check_edges<TestType>(softplus<TestType>,
                          {0.0L, 0.0L, 0.313261687518222834048995494967855641L, log_2, log_2, log_2,
                           1.31326168751822283404899549496785565L, largest, inf, undefined});
}

TEMPLATE_TEST_CASE("softplus: softplus(x) - softplus(-x) = x, rising, above max(x, 0)", "", float,
                   double) {
    TestType before = 0;
    for (int i = -4000; i <= 4000; ++i) {
        auto const x = static_cast<TestType>(i) / TestType(64);
        CAPTURE(x);
        TestType const y = softplus(x);
        REQUIRE(y >= before);
        REQUIRE(y > TestType(0));
        REQUIRE(y >= x);
        REQUIRE_CLOSE(y - softplus(-x), prefer::test::exactly(x), family::reduction);
        before = y;
    }
}

TEST_CASE("softplus: both tails") {
    CHECK_SAME(softplus(1e6), 1e6);
    CHECK_CLOSE(softplus(-40.0), 4.24835425529158898630e-18L, family::elementwise);
    CHECK_CLOSE(softplus(-700.0), 9.85967654375977085671e-305L, family::elementwise);
    CHECK(softplus(-745.0) > 0);   // the smallest subnormal number
    CHECK(softplus(-103.0F) > 0);  // the same in float
}

TEMPLATE_TEST_CASE("log1pexp is softplus", "", float, double) {
    for (TestType const x : prefer::test::edges<TestType>) {
        if (std::isnan(x)) continue;
        CHECK_SAME_BITS(prefer::math::log1pexp(x), softplus(x));
    }
}
