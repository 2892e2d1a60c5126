// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/log_sigmoid.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using prefer::math::log_sigmoid;
using prefer::test::check_edges;
using prefer::test::family;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::table_of;
using prefer::test::undefined;

namespace {

template <class T>
using row = prefer::test::golden_row<T>;

#include "golden/math_log_sigmoid.inc"

}  // namespace

TEMPLATE_TEST_CASE("log_sigmoid: the error is what the comment states", "", float, double) {
    auto const worst = prefer::test::largest_error<TestType>(
        log_sigmoid<TestType>, table_of<TestType>(float_rows, double_rows));
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("log_sigmoid").template of<TestType>());
}

TEST_CASE("log_sigmoid: the error in float, over many numbers") {
    prefer::test::worst_error<float> worst;
    // Every 4099th float: all magnitudes and mantissas of many kinds. log σ(x) = -log(1 + e^-x).
    for (std::uint32_t bits = 0; bits < 0x7f800000U - 4099U; bits += 4099U) {
        for (std::uint32_t const sign : {0U, 0x80000000U}) {
            auto const x = std::bit_cast<float>(bits | sign);
            double const wide = static_cast<double>(x);
            double const exact = wide < -700 ? wide : -std::log1p(std::exp(-wide));
            auto const nearest = static_cast<float>(exact);
            worst.see(std::fabs(static_cast<double>(log_sigmoid(x)) - exact) /
                          prefer::test::ulp(nearest),
                      x);
        }
    }
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("log_sigmoid").in_float);
}

TEMPLATE_TEST_CASE("log_sigmoid: the edges", "", float, double) {
    long double const minus_log_2 = -0.693147180559945309417232121458176568L;
    check_edges<TestType>(log_sigmoid<TestType>,
                          {-inf, -largest, -1.31326168751822283404899549496785565L, minus_log_2,
                           minus_log_2, minus_log_2, -0.313261687518222834048995494967855641L,
                           -0.0L, -0.0L, undefined});
}

TEST_CASE("log_sigmoid: neither underflow on the left nor a lost tail on the right (G1)") {
    CHECK_SAME(log_sigmoid(-300.0), -300.0);
    CHECK_SAME(log_sigmoid(-1000.0), -1000.0);
    CHECK_SAME(log_sigmoid(-1000.0F), -1000.0F);
    CHECK_CLOSE(log_sigmoid(20.0), -2.06115362031438070324e-9L, family::elementwise);
    CHECK_CLOSE(log_sigmoid(40.0), -4.24835425529158898630e-18L, family::elementwise);
    CHECK_CLOSE(log_sigmoid(40.0F), -4.24835425529158898630e-18L, family::elementwise);
    CHECK_DISTINGUISHES(-4.24835425529158898630e-18L, 0.0, family::elementwise);
}

TEMPLATE_TEST_CASE("log_sigmoid: log σ(x) - log σ(-x) = x, and never decreasing", "", float,
                   double) {
    TestType before = -std::numeric_limits<TestType>::infinity();
    for (int i = -4000; i <= 4000; ++i) {
        auto const x = static_cast<TestType>(i) / TestType(64);
        CAPTURE(x);
        TestType const y = log_sigmoid(x);
        REQUIRE(y >= before);
        REQUIRE(y < TestType(0));
        REQUIRE_CLOSE(y - log_sigmoid(-x), prefer::test::exactly(x), family::reduction);
        before = y;
    }
}
