// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/ulp.hpp"

#include <prefer/core/random.hpp>
#include <prefer/math/math.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace math = prefer::math;
using math::dual;
using math::lanes_t;
using math::pack;
using prefer::test::family;
using prefer::test::golden_row;
using prefer::test::table_of;

namespace {

template <class T>
using row = golden_row<T>;

template <class T>
using row2 = golden_row<T, 2>;

namespace softplus_table {
#include "golden/math_softplus.inc"
}
namespace sigmoid_table {
#include "golden/math_sigmoid.inc"
}
namespace log1mexp_table {
#include "golden/math_log1mexp.inc"
}
namespace logit_table {
#include "golden/math_logit.inc"
}

/// A function of packs as a function of numbers.
template <class T, class Function>
auto on_lanes(Function function) {
    return [function](T x) -> T { return function(lanes_t<T>(x))[0]; };
}

/// The largest error in ULP against a function in long double, over numbers with a normal result.
template <class T, class Function, class Exact>
double scan(Function function, Exact exact, double low, double high, bool exponents) {
    prefer::philox rng(7);
    double worst = 0;
    for (int k = 0; k < 20000; ++k) {
        double const u = low + (high - low) * prefer::uniform01<double>(rng);
        double const sign = low < 0 && k % 2 == 0 ? -1 : 1;
        T const x = static_cast<T>(exponents ? sign * std::exp2(u) : u);
        long double const y = exact(static_cast<long double>(x));
        T const nearest = static_cast<T>(y);
        if (!(std::fabs(nearest) >= std::numeric_limits<T>::min()) || std::isinf(nearest)) continue;
        long double const off = static_cast<long double>(function(lanes_t<T>(x))[0]) - y;
        double const error = std::fabs(static_cast<double>(off)) / prefer::test::ulp(nearest);
        worst =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : std::fmax(worst, error);
    }
    return worst;
}

}  // namespace

TEMPLATE_TEST_CASE("pack: exp, expm1, log and log1p are within 2 ULP", "", float, double) {
    using T = TestType;
    using P = lanes_t<T>;
    double const top = std::is_same_v<T, float> ? 88 : 709;
    double const least = std::is_same_v<T, float> ? -148 : -1070;
    double const most = std::is_same_v<T, float> ? 127 : 1023;
    auto const exp = [](P const& x) { return math::exp(x); };
    auto const expm1 = [](P const& x) { return math::expm1(x); };
    auto const log = [](P const& x) { return math::log(x); };
    auto const log1p = [](P const& x) { return math::log1p(x); };
    auto const wide_exp = [](long double x) { return std::exp(x); };
    auto const wide_expm1 = [](long double x) { return std::expm1(x); };
    auto const wide_log = [](long double x) { return std::log(x); };
    auto const wide_log1p = [](long double x) { return std::log1p(x); };
    CHECK(scan<T>(exp, wide_exp, -top, top, false) <= 2);
    CHECK(scan<T>(exp, wide_exp, -2, 2, false) <= 2);
    CHECK(scan<T>(expm1, wide_expm1, -top, top, false) <= 2);
    CHECK(scan<T>(expm1, wide_expm1, -2, 2, false) <= 2);
    CHECK(scan<T>(expm1, wide_expm1, -30, 0, true) <= 2);
    CHECK(scan<T>(log, wide_log, 0.5, 2, false) <= 2);
    CHECK(scan<T>(log, [&](long double x) { return std::log(std::fabs(x)); }, 0, most, true) <= 2);
    CHECK(scan<T>([&](P const& x) { return log(math::abs(x)); },
                  [](long double x) { return std::log(std::fabs(x)); }, least, 0, true) <= 2);
    CHECK(scan<T>(log1p, wide_log1p, -1, 3, false) <= 2);
    CHECK(scan<T>(log1p, wide_log1p, -60, 0, true) <= 2);
}

TEMPLATE_TEST_CASE("pack: the edges of exp, expm1, log and log1p are those of plain numbers", "",
                   float, double) {
    using T = TestType;
    using P = lanes_t<T>;
    T const inf = std::numeric_limits<T>::infinity();
    T const largest = std::numeric_limits<T>::max();
    T const least = std::numeric_limits<T>::denorm_min();
    T const some[] = {T(0),    T(-0.0),  inf,   -inf,  std::numeric_limits<T>::quiet_NaN(),
                      largest, -largest, T(-1), T(-2), T(-1e4),
                      T(1e4)};
    for (T const x : some) {
        CAPTURE(x);
        CHECK(std::signbit(math::expm1(P(x))[0]) == std::signbit(std::expm1(x)));
        if (!std::isnan(x)) {
            CHECK_CLOSE(math::exp(P(x))[0], std::exp(x), family::elementwise);
            CHECK_CLOSE(math::expm1(P(x))[0], std::expm1(x), family::elementwise);
            CHECK_CLOSE(math::softplus(P(x))[0], math::softplus(x), family::elementwise);
        }
        if (x >= 0) CHECK_CLOSE(math::log(P(x))[0], std::log(x), family::elementwise);
        if (x >= -1) CHECK_CLOSE(math::log1p(P(x))[0], std::log1p(x), family::elementwise);
        if (x < 0) CHECK(std::isnan(math::log(P(x))[0]));
        if (x < -1) CHECK(std::isnan(math::log1p(P(x))[0]));
    }
    P const undefined(std::numeric_limits<T>::quiet_NaN());
    CHECK(std::isnan(math::exp(undefined)[0]));
    CHECK(std::isnan(math::expm1(undefined)[0]));
    CHECK(std::isnan(math::log(undefined)[0]));
    CHECK(std::isnan(math::log1p(undefined)[0]));
    CHECK(std::isnan(math::max(undefined, P(T(1)))[0]));
    CHECK(std::isnan(math::min(P(T(1)), undefined)[0]));
    CHECK_SAME(math::log1p(P(least))[0], least);
    CHECK_SAME(math::expm1(P(-least))[0], -least);
    CHECK(math::exp(P(std::log(least)))[0] > 0);  // subnormal results exist
}

TEMPLATE_TEST_CASE("pack: the stable functions keep their documented accuracy", "", float, double) {
    using T = TestType;
    using P = lanes_t<T>;
    auto const check = [](char const* name, auto function, auto const& rows, double more) {
        prefer::test::worst_error<T> worst;
        auto const on_numbers = on_lanes<T>(function);
        for (auto const& row : rows) {
            if (std::fabs(row.nearest) < std::numeric_limits<T>::min()) {
                CHECK(std::fabs(on_numbers(row.x[0])) <= std::numeric_limits<T>::min());
                continue;
            }
            worst.see(prefer::test::ulp_error(on_numbers(row.x[0]), row.nearest, row.residual),
                      row.x[0]);
        }
        CAPTURE(name, worst.ulps, worst.at);
        CHECK(worst.ulps <= prefer::test::documented_ulp(name).template of<T>() + more);
    };
    check(
        "softplus", [](P const& x) { return math::softplus(x); },
        table_of<T>(softplus_table::float_rows, softplus_table::double_rows), 0);
    check(
        "sigmoid", [](P const& x) { return math::sigmoid(x); },
        table_of<T>(sigmoid_table::float_rows, sigmoid_table::double_rows), 0);
    check(
        "log1mexp", [](P const& x) { return math::log1mexp(x); },
        table_of<T>(log1mexp_table::float_rows, log1mexp_table::double_rows), 1);
    check(
        "logit", [](P const& x) { return math::logit(x); },
        table_of<T>(logit_table::float_rows, logit_table::double_rows), 1);
}

TEMPLATE_TEST_CASE("pack: lanes do not see each other", "", float, double) {
    using T = TestType;
    using P = pack<T, 16 / sizeof(T)>;
    P x;
    for (std::size_t i = 0; i < 16 / sizeof(T); ++i) x.v[i] = static_cast<T>(i) - T(0.5);
    P const y = math::select(x < P(T(0)), math::exp(x), math::sqrt(math::abs(x))) / P(T(2));
    for (std::size_t i = 0; i < 16 / sizeof(T); ++i) {
        T const z = static_cast<T>(i) - T(0.5);
        CHECK_CLOSE(y[i], (z < 0 ? std::exp(z) : std::sqrt(z)) / 2, family::elementwise);
    }
    CHECK(math::any_of(x < P(T(0))));
    CHECK(!math::all_of(x < P(T(0))));
    CHECK(math::all_of(math::is_finite(x)));
    x.v[1] = std::numeric_limits<T>::infinity();
    CHECK(!math::all_of(math::is_finite(x)));
    CHECK(!math::any_of(math::is_nan(x)));
}

TEMPLATE_TEST_CASE("pack: dual numbers of packs carry each lane's derivative", "", float, double) {
    using T = TestType;
    using P = lanes_t<T>;
    using D = dual<P, 2>;
    D const x = D::variable(P(T(0.75)), 0);
    D const y = D::variable(P(T(-2)), 1);
    using S = dual<T, 2>;
    S const a = S::variable(T(0.75), 0);
    S const b = S::variable(T(-2), 1);
    auto const formula = [](auto const& u, auto const& v) {
        using V = std::remove_cvref_t<decltype(u)>;
        V const z = math::softplus(u * v - 1) + 0.5 * math::abs(v);
        return math::select(u > v, z / (2 + u), V(0)) + math::max(V(0), v) - math::log1mexp(v);
    };
    D const actual = formula(x, y);
    S const expected = formula(a, b);
    CHECK_CLOSE(actual.value[0], expected.value, family::gradient);
    CHECK_CLOSE(actual.gradient[0][0], expected.gradient[0], family::gradient);
    CHECK_CLOSE(actual.gradient[1][0], expected.gradient[1], family::gradient);
}
