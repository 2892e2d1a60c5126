// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"

#include <prefer/math/elementary.hpp>

#include <cmath>
#include <concepts>
#include <limits>

namespace math = prefer::math;
using prefer::test::check_edges;
using prefer::test::edges;
using prefer::test::inf;
using prefer::test::largest;
using prefer::test::smallest;
using prefer::test::undefined;

TEMPLATE_TEST_CASE("elementary: is_nan and is_finite tell the ten edges apart", "", float, double,
                   long double) {
    for (TestType const x : edges<TestType>) {
        CAPTURE(x);
        CHECK(math::is_nan(x) == std::isnan(x));
        CHECK(math::is_finite(x) == std::isfinite(x));
    }
    STATIC_REQUIRE(math::is_nan(math::quiet_nan<TestType>));
    STATIC_REQUIRE(!math::is_finite(math::infinity<TestType>));
    STATIC_REQUIRE(math::is_finite(TestType(0)));
}

TEST_CASE("elementary: select takes one side and leaves a NaN on the other") {
    double const not_a_number = std::numeric_limits<double>::quiet_NaN();
    CHECK_SAME(math::select(true, 1.0, not_a_number), 1.0);
    CHECK_SAME(math::select(false, not_a_number, 2.0), 2.0);
    CHECK_SAME_BITS(math::select(true, -0.0, 0.0), -0.0);
    STATIC_REQUIRE(math::select(true, 1, 2) == 1);
}

TEMPLATE_TEST_CASE("elementary: max and min of every pair of edges", "", float, double) {
    for (TestType const a : edges<TestType>) {
        for (TestType const b : edges<TestType>) {
            CAPTURE(a, b);
            if (std::isnan(a) || std::isnan(b)) {
                CHECK(std::isnan(math::max(a, b)));
                CHECK(std::isnan(math::min(a, b)));
            } else {
                CHECK_SAME(math::max(a, b), a < b ? b : a);
                CHECK_SAME(math::min(a, b), a < b ? a : b);
            }
        }
    }
}

TEST_CASE("elementary: max and min of equal numbers are the first") {
    CHECK_SAME_BITS(math::max(0.0, -0.0), 0.0);
    CHECK_SAME_BITS(math::max(-0.0, 0.0), -0.0);
    CHECK_SAME_BITS(math::min(0.0, -0.0), 0.0);
    CHECK_SAME_BITS(math::min(-0.0, 0.0), -0.0);
}

TEMPLATE_TEST_CASE("elementary: abs, exp, log and their kin at the edges", "", float, double) {
    check_edges<TestType>(math::abs<TestType>, {inf, largest, 1.0L, 0.0L, 0.0L, smallest, 1.0L,
                                                largest, inf, undefined});
    check_edges<TestType>(math::exp<TestType>,
                          {0.0L, 0.0L, 0.367879441171442321595523770161460867L, 1.0L, 1.0L, 1.0L,
                           2.71828182845904523536028747135266250L, inf, inf, undefined});
    check_edges<TestType>(math::expm1<TestType>,
                          {-1.0L, -1.0L, -0.632120558828557678404476229838539133L, -0.0L, 0.0L,
                           smallest, 1.71828182845904523536028747135266250L, inf, inf, undefined});
    check_edges<TestType>(
        math::log1p<TestType>,
        {undefined, undefined, -inf, -0.0L, 0.0L, smallest, 0.693147180559945309417232121458176568L,
         std::same_as<TestType, float> ? 88.7228390520683530537L : 709.782712893383996732L, inf,
         undefined});
    check_edges<TestType>(
        math::log<TestType>,
        {undefined, undefined, undefined, -inf, -inf,
         std::same_as<TestType, float> ? -103.278929903431851103L : -744.440071921381262314L, 0.0L,
         std::same_as<TestType, float> ? 88.7228390520683530537L : 709.782712893383996732L, inf,
         undefined});
    check_edges<TestType>(
        math::sqrt<TestType>,
        {undefined, undefined, undefined, -0.0L, 0.0L,
         std::same_as<TestType, float> ? 3.74339213057464375351e-23L : 2.22275874948507748e-162L,
         1.0L,
         std::same_as<TestType, float> ? 1.84467435239537295360e19L : 1.34078079299425963e154L, inf,
         undefined});
}

TEST_CASE("elementary: the type of the argument is the type of the result") {
    STATIC_REQUIRE(std::same_as<decltype(math::exp(1.0F)), float>);
    STATIC_REQUIRE(std::same_as<decltype(math::max(1.0F, 2.0F)), float>);
    STATIC_REQUIRE(std::same_as<decltype(math::log1p(1.0L)), long double>);
    STATIC_REQUIRE(std::same_as<math::primal_t<float>, float>);
    CHECK_SAME_BITS(math::detach(-0.0), -0.0);
}
