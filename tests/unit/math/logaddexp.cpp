// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/logaddexp.hpp>

#include <cmath>
#include <limits>

using prefer::math::logaddexp;
using prefer::test::check_edge;
using prefer::test::edge_values;
using prefer::test::edges;
using prefer::test::family;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::table_of;
using prefer::test::undefined;

namespace {

template <class T>
using row = prefer::test::golden_row<T, 2>;

#include "golden/math_logaddexp.inc"

}  // namespace

TEMPLATE_TEST_CASE("logaddexp: the error is what the comment states", "", float, double) {
    prefer::test::worst_error<TestType> worst;
    for (auto const& r : table_of<TestType>(float_rows, double_rows)) {
        TestType const unit =
            std::fmax(std::fmax(std::fabs(r.x[0]), std::fabs(r.x[1])), TestType(1));
        TestType const actual = logaddexp(r.x[0], r.x[1]);
        worst.see(prefer::test::ulp_error_in(unit, actual, r.nearest, r.residual), r.x[0]);
        CHECK_SAME_BITS(actual, logaddexp(r.x[1], r.x[0]));
    }
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("logaddexp").template of<TestType>());
}

TEMPLATE_TEST_CASE("logaddexp: every pair of edges", "", float, double) {
    long double const log_2 = 0.693147180559945309417232121458176568L;
    long double const at_1 = 1.31326168751822283404899549496785564L;         // log(1 + e)
    long double const at_minus_1 = 0.313261687518222834048995494967855642L;  // log(1 + 1/e)
    // log(e + 1/e) and log(2 e^±1)
    long double const mixed = 1.12692801104297249644146821554408454L;
    long double const one = 1 + log_2;
    long double const minus_one = -1 + log_2;
    // Rows: a; columns: b; in the order of `edges`.
    // -0 next to a vanishing part is +0.
    edge_values const expected[] = {
        {-inf, -largest, -1.0L, 0.0L, 0.0L, prefer::test::smallest, 1.0L, largest, inf, undefined},
        {-largest, -largest, -1.0L, 0.0L, 0.0L, prefer::test::smallest, 1.0L, largest, inf,
         undefined},
        {-1.0L, -1.0L, minus_one, at_minus_1, at_minus_1, at_minus_1, mixed, largest, inf,
         undefined},
        {0.0L, 0.0L, at_minus_1, log_2, log_2, log_2, at_1, largest, inf, undefined},
        {0.0L, 0.0L, at_minus_1, log_2, log_2, log_2, at_1, largest, inf, undefined},
        {prefer::test::smallest, prefer::test::smallest, at_minus_1, log_2, log_2, log_2, at_1,
         largest, inf, undefined},
        {1.0L, 1.0L, mixed, at_1, at_1, at_1, one, largest, inf, undefined},
        {largest, largest, largest, largest, largest, largest, largest, largest, inf, undefined},
        {inf, inf, inf, inf, inf, inf, inf, inf, inf, undefined},
        {undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined,
         undefined, undefined},
    };
    for (std::size_t i = 0; i < edges<TestType>.size(); ++i) {
        for (std::size_t j = 0; j < edges<TestType>.size(); ++j) {
            CAPTURE(i, j);
            TestType const a = edges<TestType>[i];
            TestType const b = edges<TestType>[j];
            check_edge<TestType>(logaddexp(a, b), expected[i][j]);
        }
    }
}

TEMPLATE_TEST_CASE("logaddexp: shifts, ordering and complement", "", float, double) {
    for (int i = -40; i <= 40; ++i) {
        auto const d = static_cast<TestType>(i) / TestType(4);
        CAPTURE(d);
        TestType const y = logaddexp(TestType(0), d);
        CHECK(y >= std::fmax(TestType(0), d));
        CHECK(y >= logaddexp(TestType(0), d - TestType(0.25)));
        // log(e^c + e^(c + d)) = c + log(1 + e^d)
        CHECK_CLOSE(logaddexp(TestType(64), TestType(64) + d), static_cast<long double>(y) + 64,
                    family::elementwise);
    }
    // p and 1 - p
    CHECK_CLOSE(logaddexp(std::log(TestType(0.25)), std::log(TestType(0.75))), 0.0L,
                family::reduction);
}
