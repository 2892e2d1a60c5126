// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/ulp.hpp"

#include <prefer/math/log_sum_exp.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <forward_list>
#include <limits>
#include <vector>

using prefer::math::log_sum_exp;
using prefer::test::family;

namespace {

struct sequence_row {
    std::size_t n;
    double scale;
    double offset;
    double nearest;
    double residual;
};

#include "golden/math_log_sum_exp.inc"

template <class T>
std::vector<T> sequence(sequence_row const& row) {
    std::vector<T> values(row.n);
    for (std::size_t i = 0; i < row.n; ++i) {
        double const step = static_cast<double>(37 * i % 101) - 50;
        values[i] = static_cast<T>(row.offset + row.scale * step);
    }
    return values;
}

template <class T>
T over(std::vector<T> const& values) {
    return log_sum_exp(values.begin(), values.end());
}

}  // namespace

TEMPLATE_TEST_CASE("log_sum_exp: the error is what the comment states", "", float, double) {
    prefer::test::worst_error<TestType> worst;
    for (auto const& row : sequence_rows) {
        auto const values = sequence<TestType>(row);
        TestType const top = *std::max_element(values.begin(), values.end());
        TestType const unit =
            std::max({std::fabs(top), TestType(1), std::log(static_cast<TestType>(row.n))});
        double const off = static_cast<double>(over(values)) - row.nearest;
        double const error = std::fabs(off - row.residual * prefer::test::ulp(row.nearest));
        worst.see(error / prefer::test::ulp(unit), static_cast<TestType>(row.n));
    }
    CAPTURE(worst.ulps, worst.at);
    CHECK(worst.ulps <= prefer::test::documented_ulp("log_sum_exp").template of<TestType>());
}

TEMPLATE_TEST_CASE("log_sum_exp: infinite, NaN and no terms", "", float, double) {
    TestType const inf = std::numeric_limits<TestType>::infinity();
    TestType const nan = std::numeric_limits<TestType>::quiet_NaN();
    std::vector<TestType> const none;
    CHECK_SAME(over(none), -inf);
    CHECK_SAME(over<TestType>({-inf}), -inf);
    CHECK_SAME(over<TestType>({-inf, -inf}), -inf);
    CHECK_SAME(over<TestType>({-inf, 3}), TestType(3));
    CHECK_SAME(over<TestType>({3, -inf}), TestType(3));
    CHECK_SAME(over<TestType>({inf, 3, -inf}), inf);
    CHECK_SAME(over<TestType>({3, inf, inf}), inf);
    for (std::size_t at = 0; at < 3; ++at) {
        for (TestType const other : {-inf, TestType(0), inf}) {
            std::vector<TestType> values(3, other);
            values[at] = nan;
            CHECK(std::isnan(over(values)));
        }
    }
    for (TestType const x : prefer::test::edges<TestType>) CHECK_SAME(over<TestType>({x}), x);
}

TEMPLATE_TEST_CASE("log_sum_exp: neither overflow nor underflow", "", float, double) {
    long double const log_2 = 0.693147180559945309417232121458176568L;
    CHECK_CLOSE(over<TestType>({2000, 2000}), 2000 + log_2, family::elementwise);
    CHECK_CLOSE(over<TestType>({-2000, -2000}), -2000 + log_2, family::elementwise);
    TestType const big = std::numeric_limits<TestType>::max();
    CHECK_SAME(over<TestType>({big, -big}), big);
    CHECK_SAME(over<TestType>({-big, -big}), -big);
}

TEST_CASE("log_sum_exp: a float sum goes on past 2^24 equal terms") {
    // A sum in float stops at 2^24, 16.6 in the logarithm.
    std::size_t const n = (std::size_t{1} << 24U) + (std::size_t{1} << 23U);
    std::vector<float> const zeros(n, 0.0F);
    CHECK_CLOSE(over(zeros), 17.0409974415468518079916L, family::elementwise);  // log(1.5 * 2^24)
    CHECK_DISTINGUISHES_IN(float, 17.0409974415468518079916L, 16.6355323334386874,
                           family::elementwise);
}

TEST_CASE("log_sum_exp: takes forward iterators and plain arrays") {
    std::array<double, 2> const values{0.0, 1.0};
    double const expected = log_sum_exp(values.begin(), values.end());
    CHECK_CLOSE(expected, 1.31326168751822283404899549496785564L, family::elementwise);
    std::forward_list<double> const list(values.begin(), values.end());
    CHECK_SAME_BITS(log_sum_exp(list.begin(), list.end()), expected);
    CHECK_SAME_BITS(log_sum_exp(values.data(), values.data() + 2), expected);
}
