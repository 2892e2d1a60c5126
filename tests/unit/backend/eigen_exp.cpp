// SPDX-License-Identifier: MIT
#include <prefer/backend/eigen/exp.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::detail::eigen_buffer;
using prefer::detail::eigen_exp;
using prefer::detail::eigen_exp_constants;
using prefer::detail::eigen_exp_of;
using prefer::detail::eigen_map;
using prefer::test::ulp_distance;

TEMPLATE_TEST_CASE("within 2 ULP of the exponential", "", float, double) {
    TestType const lowest = eigen_exp_constants<TestType>::smallest;
    TestType const normal = std::numeric_limits<TestType>::min();
    std::uint64_t worst = 0;
    int const steps = 200000;
    for (int i = 0; i <= steps; ++i) {
        TestType const x = lowest * static_cast<TestType>(i) / static_cast<TestType>(steps);
        long double const exact = std::exp(static_cast<long double>(x));
        auto const nearest = static_cast<TestType>(exact);
        if (nearest < normal) continue;
        worst = std::max(worst, ulp_distance(eigen_exp_of(x), nearest));
    }
    CAPTURE(worst);
    CHECK(worst <= 2);
}

TEMPLATE_TEST_CASE("special values of the exponential", "", float, double) {
    TestType const infinity = std::numeric_limits<TestType>::infinity();
    eigen_buffer<TestType> out;
    for (Eigen::Index const n : {1, 15, 16, 17, 1024}) {
        eigen_buffer<TestType> x;
        x.setConstant(TestType(3));
        x[0] = -infinity;
        x[n - 1] = n == 1 ? -infinity : TestType(2);
        out.setConstant(TestType(9));
        eigen_exp(eigen_map<TestType>(x.data(), n), TestType(3), out);
        CHECK_SAME_BITS(out[0], TestType(0));
        if (n > 2) CHECK_SAME_BITS(out[1], TestType(1));
        if (n > 1) {
            CHECK(ulp_distance(out[n - 1], static_cast<TestType>(0.36787944117144232)) <= 2);
        }
    }
    CHECK_SAME_BITS(eigen_exp_of(eigen_exp_constants<TestType>::smallest), TestType(0));
    TestType const lowest = std::numeric_limits<TestType>::lowest();
    eigen_exp(eigen_map<TestType>(&lowest, 1), -lowest, out);
    CHECK_SAME_BITS(out[0], TestType(0));
}

}  // namespace
