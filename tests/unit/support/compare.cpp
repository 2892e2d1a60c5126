// SPDX-License-Identifier: MIT
#include "support/compare.hpp"
#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using prefer::test::allow_empty;
using prefer::test::close;
using prefer::test::exactly;
using prefer::test::family;
using prefer::test::far_from;
using prefer::test::same;
using prefer::test::same_bits;
using prefer::test::tolerance_of;
using prefer::test::ulp_distance;

namespace {

constexpr std::array all_families{
    family::exact,    family::elementwise, family::reduction,         family::log_prob,
    family::gradient, family::pair_loss,   family::finite_difference, family::statistical,
    family::quoted};

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

}  // namespace

TEMPLATE_TEST_CASE("close: a scalar that is wrong fails in every family", "", float, double) {
    for (family const f : all_families) {
        CAPTURE(static_cast<int>(f));
        CHECK_FALSE(close(static_cast<TestType>(1.1), 1.0, f));
        CHECK_FALSE(close(TestType{-1}, 1.0, f));
        CHECK_FALSE(close(TestType{1}, 0.0, f));
        CHECK(close(TestType{1}, 1.0, f));
        CHECK(close(TestType{0}, 0.0, f));
    }
}

TEMPLATE_TEST_CASE("close: NaN is close to nothing", "", float, double) {
    for (family const f : all_families) {
        CAPTURE(static_cast<int>(f));
        CHECK_FALSE(close(not_a_number<TestType>, 1.0, f));
        CHECK_FALSE(close(TestType{1}, not_a_number<double>, f));
        CHECK_FALSE(close(not_a_number<TestType>, not_a_number<double>, f));
        CHECK_FALSE(close(not_a_number<TestType>, infinity<double>, f));
        CHECK_FALSE(close(infinity<TestType>, not_a_number<double>, f));
    }
}

TEMPLATE_TEST_CASE("close: an infinity is close to itself only", "", float, double) {
    for (family const f : all_families) {
        CAPTURE(static_cast<int>(f));
        CHECK(close(infinity<TestType>, infinity<double>, f));
        CHECK(close(-infinity<TestType>, -infinity<double>, f));
        CHECK_FALSE(close(-infinity<TestType>, infinity<double>, f));
        CHECK_FALSE(close(std::numeric_limits<TestType>::max(), infinity<double>, f));
        CHECK_FALSE(close(infinity<TestType>, 1e30, f));
        CHECK_FALSE(close(TestType{0}, infinity<double>, f));
    }
}

TEST_CASE("close: ranges") {
    SECTION("a range of one wrong element fails") {
        CHECK_FALSE(close(std::vector{1.0}, std::vector{1.1}, family::gradient));
        CHECK(close(std::vector{1.0}, std::vector{1.0}, family::gradient));
    }
    SECTION("one wrong element out of 100 fails, wherever it is") {
        std::vector<double> const expected(100, 2.0);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            auto actual = expected;
            actual[i] = 2.1;
            auto const result = close(actual, expected, family::reduction);
            CHECK_FALSE(result);
            CHECK(result.message().find("1 of 100 elements") != std::string::npos);
            CHECK(result.message().find("element " + std::to_string(i) + ":") != std::string::npos);
            actual[i] = not_a_number<double>;
            CHECK_FALSE(close(actual, expected, family::reduction));
        }
    }
    SECTION("different lengths fail") {
        CHECK_FALSE(close(std::vector{1.0}, std::vector{1.0, 1.0}, family::exact));
        CHECK_FALSE(close(std::vector{1.0, 1.0}, std::vector{1.0}, family::exact));
        CHECK_FALSE(close(std::vector<double>{}, std::vector{1.0}, family::exact));
        CHECK_FALSE(close(std::vector{1.0}, std::vector<double>{}, family::exact, allow_empty));
    }
    SECTION("two empty ranges fail unless that is asked for") {
        std::vector<double> const empty;
        CHECK_FALSE(close(empty, empty, family::exact));
        CHECK(close(empty, empty, family::exact, allow_empty));
        CHECK_FALSE(same(empty, empty));
        CHECK(same(empty, empty, allow_empty));
        CHECK_FALSE(same_bits(empty, empty));
    }
    SECTION("containers and arrays mix") {
        double const raw[] = {1.0, 2.0};
        CHECK(close(raw, std::array{1.0, 2.0}, family::exact));
        CHECK(close(std::vector{1.0F, 2.0F}, raw, family::exact));
    }
}

TEMPLATE_TEST_CASE("close: the limit itself, from both sides", "", float, double) {
    for (family const f : all_families) {
        auto const t = tolerance_of<TestType>(f);
        CAPTURE(static_cast<int>(f));
        // Around 1024 the relative part decides unless it is zero, around 0 the absolute part.
        long double const limit = 1024.0L * static_cast<long double>(t.relative) +
                                  (t.relative > 0 ? 0.0L : static_cast<long double>(t.absolute));
        CHECK(close(TestType{1024}, 1024.0L + 0.99L * limit, f));
        CHECK(close(TestType{1024}, 1024.0L - 0.99L * limit, f));
        if (limit > 0) {
            CHECK_FALSE(close(TestType{1024}, 1024.0L + 1.01L * limit / (1 - limit / 1024), f));
            CHECK_FALSE(close(TestType{1024}, 1024.0L - 1.01L * limit, f));
        }
        if (t.relative < 1e-3 && t.absolute > 0) {
            CHECK(close(TestType{0}, t.absolute, f));
            CHECK_FALSE(close(TestType{0}, 2.0 * t.absolute, f));
        }
    }
}

TEST_CASE("close: float is compared with the wider expected value, not with its rounding") {
    CHECK(close(0.1F, 0.1, family::elementwise));
    CHECK_FALSE(close(0.1F, 0.1, family::exact));
    CHECK(close(0.1F, static_cast<double>(0.1F), family::exact));
    CHECK(close(0.1, 0.1L, family::elementwise));
}

TEST_CASE("close: exact expected values of any type") {
    CHECK(close(0.5, exactly(0.5F), family::exact));
    CHECK(close(2.0, 2, family::exact));
    CHECK(close(2.0F, 2U, family::exact));
    CHECK_FALSE(close(2.0, 3, family::exact));
}

TEST_CASE("tolerance table: a narrower type never has a tighter tolerance") {
    for (family const f : all_families) {
        CAPTURE(static_cast<int>(f));
        CHECK(tolerance_of<float>(f).relative >= tolerance_of<double>(f).relative);
        CHECK(tolerance_of<float>(f).absolute >= tolerance_of<double>(f).absolute);
    }
    STATIC_REQUIRE(tolerance_of<double>(family::exact).relative == 0.0);
    STATIC_REQUIRE(tolerance_of<double>(family::gradient).relative == 1e-12);
    STATIC_REQUIRE(tolerance_of<double>(family::quoted).relative == 1e-8);
    STATIC_REQUIRE(tolerance_of<float>(family::quoted).relative == 1e-6);
}

TEST_CASE("same: NaN equals NaN, infinities by sign") {
    CHECK(same(not_a_number<double>, not_a_number<double>));
    CHECK(same(not_a_number<float>, not_a_number<double>));
    CHECK(same(infinity<float>, infinity<double>));
    CHECK(same(0.0, -0.0));
    CHECK(same(std::vector{1.0, not_a_number<double>}, std::vector{1.0, not_a_number<double>}));
    CHECK_FALSE(same(infinity<double>, -infinity<double>));
    CHECK_FALSE(same(not_a_number<double>, 1.0));
    CHECK_FALSE(same(1.0, not_a_number<double>));
    CHECK_FALSE(same(not_a_number<double>, infinity<double>));
    CHECK_FALSE(same(1.0, std::nextafter(1.0, 2.0)));
    CHECK_FALSE(same(std::vector{1.0, 2.0}, std::vector{1.0}));
}

TEST_CASE("same_bits") {
    CHECK(same_bits(1.0, 1.0));
    CHECK(same_bits(not_a_number<float>, not_a_number<float>));
    CHECK_FALSE(same_bits(0.0, -0.0));
    CHECK_FALSE(same_bits(1.0F, std::nextafter(1.0F, 2.0F)));
    CHECK(same_bits(std::vector{1, 2}, std::vector{1, 2}));
    CHECK_FALSE(same_bits(std::vector{1, 2}, std::vector{1, 3}));
}

TEMPLATE_TEST_CASE("ulp_distance", "", float, double) {
    using limits = std::numeric_limits<TestType>;
    TestType const one{1};
    TestType const zero{0};
    CHECK(ulp_distance(one, one) == 0);
    CHECK(ulp_distance(zero, -zero) == 0);
    CHECK(ulp_distance(one, std::nextafter(one, TestType{2})) == 1);
    CHECK(ulp_distance(std::nextafter(one, zero), one) == 1);
    CHECK(ulp_distance(-limits::denorm_min(), limits::denorm_min()) == 2);
    CHECK(ulp_distance(limits::max(), limits::infinity()) == 1);
    CHECK(ulp_distance(-limits::infinity(), limits::lowest()) == 1);
    CHECK(ulp_distance(not_a_number<TestType>, one) == std::numeric_limits<std::uint64_t>::max());
    CHECK(ulp_distance(one, TestType{2}) == std::uint64_t{1} << (limits::digits - 1));
}

TEST_CASE("far_from: at least 100 tolerances away") {
    // log-sigmoid loss at margin 0.2: right sign, reversed sign
    CHECK_DISTINGUISHES(0.59813886938159, 0.79813886938159, family::quoted);
    CHECK_DISTINGUISHES_IN(float, 0.59813886938159, 0.79813886938159, family::gradient);
    CHECK_FALSE(far_from<double>(1.0L, 1.0L, family::exact));
    CHECK_FALSE(far_from<double>(1.0L, 1.0L + 0.9e-10L, family::gradient));
    CHECK(far_from<double>(1.0L, 1.0L + 1.1e-10L, family::gradient));
    CHECK_FALSE(far_from<float>(1.0L, 1.0L + 1.1e-10L, family::gradient));
    CHECK(far_from<double>(1.0L, infinity<long double>, family::gradient));
    CHECK(far_from<double>(1.0L, not_a_number<long double>, family::gradient));
    CHECK_FALSE(
        far_from<double>(not_a_number<long double>, not_a_number<long double>, family::gradient));
}

TEST_CASE("close: the message shows both values in decimal and hexadecimal, and the distance") {
    auto const message = close(1.0, 1.5, family::gradient).message();
    CHECK(message.find("1 (0x1p+0)") != std::string::npos);
    CHECK(message.find("1.5 (0x1.8p+0)") != std::string::npos);
    CHECK(message.find("off by 0.5") != std::string::npos);
    CHECK(message.find("ulp") != std::string::npos);
}
