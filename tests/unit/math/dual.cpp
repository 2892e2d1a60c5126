// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/edges.hpp"
#include "support/finite_difference.hpp"

#include <prefer/math/dual.hpp>
#include <prefer/math/log_sum_exp.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

namespace math = prefer::math;
using math::dual;
using prefer::test::exactly;
using prefer::test::family;

namespace {

using second = dual<dual<double>>;

/// x with first and second derivatives along itself.
second twice(double x) {
    return second::variable(dual<double>::variable(x));
}

/// One function of one variable, with its derivatives in closed form.
struct rule {
    char const* name;
    dual<double> (*of_dual)(dual<double> const&);
    second (*of_second)(second const&);
    dual<float> (*of_float)(dual<float> const&);
    double (*plain)(double);
    float (*plain_float)(float);
    long double (*slope)(long double);
    long double (*curvature)(long double);
    std::array<double, 4> at;
};

#define RULE(function)                                                                             \
    #function, [](dual<double> const& x) { return math::function(x); },                            \
        [](second const& x) { return math::function(x); },                                         \
        [](dual<float> const& x) { return math::function(x); },                                    \
        [](double x) { return math::function(x); }, [](float x) { return math::function(x); }

long double s(long double x) {
    return 1 / (1 + std::exp(-x));
}

using L = long double;

rule const rules[] = {
    {RULE(exp), [](L x) { return std::exp(x); }, [](L x) { return std::exp(x); }, {-30, -1, 0, 3}},
    {RULE(expm1),
     [](L x) { return std::exp(x); },
     [](L x) { return std::exp(x); },
     {-30, -1, 0, 3}},
    {RULE(log), [](L x) { return 1 / x; }, [](L x) { return -1 / (x * x); }, {0.25, 1, 3, 1e6}},
    {RULE(log1p),
     [](L x) { return 1 / (1 + x); },
     [](L x) { return -1 / ((1 + x) * (1 + x)); },
     {-0.5, 0, 1, 1e6}},
    {RULE(sqrt),
     [](L x) { return 1 / (2 * std::sqrt(x)); },
     [](L x) { return -1 / (4 * x * std::sqrt(x)); },
     {0.25, 1, 3, 1e6}},
    {RULE(abs), [](L x) { return x < 0 ? -1.0L : 1.0L; }, [](L) { return 0.0L; }, {-3, -1, 1, 7}},
    {RULE(sigmoid),
     [](L x) { return s(x) * s(-x); },
     [](L x) { return s(x) * s(-x) * (s(-x) - s(x)); },
     {-40, -1, 0.25, 30}},
    {RULE(softplus), [](L x) { return s(x); }, [](L x) { return s(x) * s(-x); }, {-40, -1, 0, 30}},
    {RULE(log1pexp), [](L x) { return s(x); }, [](L x) { return s(x) * s(-x); }, {-40, -1, 0, 30}},
    {RULE(log_sigmoid),
     [](L x) { return s(-x); },
     [](L x) { return -s(x) * s(-x); },
     {-40, -1, 0, 30}},
    {RULE(log1mexp),
     [](L x) { return 1 / (1 - std::exp(-x)); },
     [](L x) { return -std::exp(-x) / ((1 - std::exp(-x)) * (1 - std::exp(-x))); },
     {-20, -1, -0.5, -0.125}},
    {RULE(logit),
     [](L x) { return 1 / (x * (1 - x)); },
     [](L x) { return (2 * x - 1) / (x * x * (1 - x) * (1 - x)); },
     {0.125, 0.4, 0.5, 0.9}},
};

#undef RULE

/// (x·y + x/y - y)·x - 2·y/x, with everything that a formula uses.
template <class S>
S rational(S const& x, S const& y) {
    S r = x * y;
    r += x / y;
    r -= y;
    r *= x;
    S t = y;
    t /= x;
    return r - 2 * t;
}

}  // namespace

TEST_CASE("dual: each function has the slope and curvature of its closed form") {
    for (rule const& r : rules) {
        for (double const x : r.at) {
            CAPTURE(r.name, x);
            auto const y = r.of_dual(dual<double>::variable(x));
            CHECK_CLOSE(y.gradient[0], r.slope(static_cast<L>(x)), family::pair_loss);
            auto const z = r.of_second(twice(x));
            CHECK_CLOSE(z.value.gradient[0], r.slope(static_cast<L>(x)), family::pair_loss);
            CHECK_CLOSE(z.gradient[0].value, r.slope(static_cast<L>(x)), family::pair_loss);
            CHECK_CLOSE(z.gradient[0].gradient[0], r.curvature(static_cast<L>(x)),
                        family::pair_loss);
        }
    }
}

TEST_CASE("dual: each function has the slope of its central differences") {
    for (rule const& r : rules) {
        for (double const x : r.at) {
            CAPTURE(r.name, x);
            double const step = std::fabs(x) < 1 ? 0.03125 : std::fabs(x) / 8;
            auto const estimate = prefer::test::derivative(r.plain, x, step);
            auto const y = r.of_dual(dual<double>::variable(x));
            CHECK_CLOSE(y.gradient[0], estimate.value, family::finite_difference);
        }
    }
}

TEST_CASE("dual: values are bit for bit those of plain numbers") {
    for (rule const& r : rules) {
        for (int i = -200; i <= 200; ++i) {
            double const x = i / 16.0 + 0.0078125;
            CAPTURE(r.name, x);
            double const plain = r.plain(x);
            if (std::isnan(plain)) continue;
            CHECK_SAME_BITS(r.of_dual(dual<double>(x)).value, plain);
            CHECK_SAME_BITS(r.of_second(second(dual<double>(x))).value.value, plain);
            auto const narrow = static_cast<float>(x);
            CHECK_SAME_BITS(r.of_float(dual<float>(narrow)).value, r.plain_float(narrow));
        }
        for (double const x : prefer::test::edges<double>) {
            CAPTURE(r.name, x);
            double const plain = r.plain(x);
            double const value = r.of_dual(dual<double>::variable(x)).value;
            if (std::isnan(plain)) {
                CHECK(std::isnan(value));
            } else {
                CHECK_SAME_BITS(value, plain);
            }
        }
    }
}

TEST_CASE("dual: slopes at infinity are limits, not NaN (G1)") {
    double const inf = std::numeric_limits<double>::infinity();
    auto const slope = [](auto f, double x) { return f(dual<double>::variable(x)).gradient[0]; };
    auto const log_sigmoid = [](auto const& x) { return math::log_sigmoid(x); };
    auto const softplus = [](auto const& x) { return math::softplus(x); };
    auto const sigmoid = [](auto const& x) { return math::sigmoid(x); };
    auto const log1mexp = [](auto const& x) { return math::log1mexp(x); };
    CHECK_SAME(slope(log_sigmoid, -inf), 1.0);
    CHECK_SAME(slope(log_sigmoid, -1000), 1.0);
    CHECK_SAME(slope(log_sigmoid, 1000), 0.0);
    CHECK_SAME(slope(log_sigmoid, inf), 0.0);
    CHECK_SAME(slope(softplus, -inf), 0.0);
    CHECK_SAME(slope(softplus, inf), 1.0);
    CHECK_SAME(slope(sigmoid, -inf), 0.0);
    CHECK_SAME(slope(sigmoid, inf), 0.0);
    CHECK_SAME(slope(log1mexp, -inf), 0.0);
    CHECK_SAME(slope(log1mexp, 0.0), -inf);
    CHECK_SAME(slope(log1mexp, -0.0), -inf);
    CHECK(std::isnan(slope(softplus, std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("dual: arithmetic with two variables") {
    using D = dual<double, 2>;
    double const x = 1.5;
    double const y = -0.75;
    D const r = rational(D::variable(x, 0), D::variable(y, 1));
    CHECK_SAME_BITS(r.value, rational(x, y));
    // ∂x: 2xy + 2x/y - y + 2y/x²; ∂y: x² - x²/y² - x - 2/x
    CHECK_CLOSE(r.gradient[0], 2 * x * y + 2 * x / y - y + 2 * y / (x * x), family::gradient);
    CHECK_CLOSE(r.gradient[1], x * x - x * x / (y * y) - x - 2 / x, family::gradient);

    auto const across = prefer::test::derivative([&](double t) { return rational(t, y); }, x, 0.25);
    auto const along = prefer::test::derivative([&](double t) { return rational(x, t); }, y, 0.25);
    CHECK_CLOSE(r.gradient[0], across.value, family::finite_difference);
    CHECK_CLOSE(r.gradient[1], along.value, family::finite_difference);

    D const minus = -r;
    CHECK_SAME(minus.value, -r.value);
    CHECK_SAME(minus.gradient[1], -r.gradient[1]);
}

TEST_CASE("dual: the second derivatives of two variables are those of the formula, and symmetric") {
    using D = dual<dual<double, 2>, 2>;
    auto const variable = [](double at, std::size_t index) {
        return D::variable(dual<double, 2>::variable(at, index), index);
    };
    double const x = 1.5;
    double const y = -0.75;
    D const r = rational(variable(x, 0), variable(y, 1));
    CHECK_CLOSE(r.gradient[0].gradient[0], 2 * y + 2 / y - 4 * y / (x * x * x), family::gradient);
    CHECK_CLOSE(r.gradient[0].gradient[1], 2 * x - 2 * x / (y * y) - 1 + 2 / (x * x),
                family::gradient);
    CHECK_CLOSE(r.gradient[1].gradient[0], r.gradient[0].gradient[1], family::gradient);
    CHECK_CLOSE(r.gradient[1].gradient[1], 2 * x * x / (y * y * y), family::gradient);
}

TEST_CASE("dual: three layers give the third derivative") {
    using D = dual<dual<dual<double>>>;
    D x(second::variable(dual<double>::variable(0.7)));
    x.gradient[0] = second(1);
    D const y = math::exp(2 * x);
    CHECK_CLOSE(y.gradient[0].gradient[0].gradient[0], 8 * std::exp(1.4), family::gradient);
}

TEST_CASE("dual: numbers of any arithmetic type are constants on both sides") {
    auto const x = dual<double>::variable(3.0);
    auto const check = [](dual<double> const& y, double value, double slope) {
        CHECK_SAME(y.value, value);
        CHECK_SAME(y.gradient[0], slope);
    };
    check(x + 1, 4, 1), check(1 + x, 4, 1), check(x + 0.5F, 3.5, 1), check(0.5 + x, 3.5, 1);
    check(x - 1, 2, 1), check(1 - x, -2, -1), check(x - 0.5F, 2.5, 1), check(0.5 - x, -2.5, -1);
    check(x * 2, 6, 2), check(2 * x, 6, 2), check(x * 0.5F, 1.5, 0.5), check(-0.5 * x, -1.5, -0.5);
    check(x / 2, 1.5, 0.5), check(6 / x, 2, -2.0 / 3.0), check(x / 0.5F, 6, 2);
    dual<double> y = 2;
    y += x;
    y -= 1;
    y *= 2.0F;
    y /= 4L;
    check(y, 2, 0.5);
}

TEST_CASE("dual: a constant that is infinite or NaN does not reach the derivatives by addition") {
    double const inf = std::numeric_limits<double>::infinity();
    auto const y = dual<double>::variable(1.0) - inf;
    CHECK_SAME(y.value, -inf);
    CHECK_SAME(y.gradient[0], 1.0);
}

TEST_CASE("dual: constants take the innermost type; float duals stay float") {
    auto const x = dual<float>::variable(3.0F);
    STATIC_REQUIRE(std::same_as<decltype(0.1 * x), dual<float>>);
    STATIC_REQUIRE(std::same_as<decltype(x + 1), dual<float>>);
    STATIC_REQUIRE(std::same_as<decltype(1.0 / x), dual<float>>);
    STATIC_REQUIRE(std::same_as<decltype(math::softplus(x).value), float>);
    STATIC_REQUIRE(std::same_as<decltype(math::max(x, x)), dual<float>>);
    STATIC_REQUIRE(std::same_as<math::primal_t<dual<dual<float>, 2>>, float>);
    STATIC_REQUIRE(std::same_as<math::wide_t<dual<float, 2>>, dual<double, 2>>);
    CHECK_SAME_BITS((0.1 * x).value, 0.1F * 3.0F);
    CHECK_SAME_BITS((x / 0.1).value, 3.0F / 0.1F);
    CHECK_SAME_BITS((x + 1e-9).value, 3.0F);
    CHECK((x < 3.0000000001) == (3.0F < 3.0F));  // compared as float too
}

TEST_CASE("dual: numbers convert; another precision of a dual has to be asked for") {
    STATIC_REQUIRE(std::convertible_to<int, dual<float>>);
    STATIC_REQUIRE(std::convertible_to<float, dual<float>>);
    STATIC_REQUIRE(std::constructible_from<dual<dual<float>, 2>, double>);
    STATIC_REQUIRE(!std::convertible_to<dual<double>, dual<float>>);
    STATIC_REQUIRE(std::constructible_from<dual<float>, dual<double>>);
    STATIC_REQUIRE(!std::convertible_to<dual<double>, double>);
    dual<float> const narrow(dual<double>::variable(0.1));
    CHECK_SAME_BITS(narrow.value, 0.1F);
    CHECK_SAME_BITS(narrow.gradient[0], 1.0F);
}

TEST_CASE("dual: comparisons look at values only") {
    auto const x = dual<double>::variable(1.0);
    dual<double> const same = 1;
    dual<double> const more = 2;
    CHECK((x < more && x <= more && more > x && more >= x));
    CHECK_FALSE((x < same || x > same));
    CHECK((x <= same && x >= same));
    CHECK((x < 2 && x <= 1 && x > 0.5F && x >= 1.0));
    CHECK_FALSE((x < 1 || x > 1));
    CHECK_FALSE(x <= std::numeric_limits<double>::quiet_NaN());
    CHECK(math::is_finite(x));
    CHECK(math::is_nan(dual<double>(std::numeric_limits<double>::quiet_NaN())));
    CHECK_FALSE(math::is_finite(second(dual<double>(std::numeric_limits<double>::infinity()))));
}

TEST_CASE("dual: max and min give the slope of the larger, and of the first when equal") {
    auto const x = dual<double>::variable(1.0);
    auto const slope = [](dual<double> const& y) { return y.gradient[0]; };
    CHECK_SAME(slope(math::max(dual<double>(0), x)), 1.0);
    CHECK_SAME(slope(math::max(dual<double>(2), x)), 0.0);
    CHECK_SAME(slope(math::max(dual<double>(1), x)), 0.0);
    CHECK_SAME(slope(math::max(x, dual<double>(1))), 1.0);
    CHECK_SAME(slope(math::min(dual<double>(0), x)), 0.0);
    CHECK_SAME(slope(math::min(dual<double>(2), x)), 1.0);
    CHECK_SAME(slope(math::min(dual<double>(1), x)), 0.0);
    CHECK_SAME(slope(math::min(x, dual<double>(1))), 1.0);
    dual<double> const undefined(std::numeric_limits<double>::quiet_NaN());
    CHECK(math::is_nan(math::max(x, undefined)));
    CHECK(math::is_nan(math::max(undefined, x)));
    CHECK(math::is_nan(math::min(x, undefined)));
    CHECK(math::is_nan(math::min(undefined, x)));
}

TEST_CASE("dual: abs has slope +1 at both zeros") {
    CHECK_SAME(math::abs(dual<double>::variable(0.0)).gradient[0], 1.0);
    CHECK_SAME(math::abs(dual<double>::variable(-0.0)).gradient[0], 1.0);
}

TEST_CASE("dual: detach keeps the value and drops every derivative") {
    auto const y = math::detach(twice(3.0));
    CHECK_SAME(y.value.value, 3.0);
    CHECK_SAME(y.value.gradient[0], 0.0);
    CHECK_SAME(y.gradient[0].value, 0.0);
    auto const x = dual<double>::variable(3.0);
    CHECK_SAME((x * math::detach(x)).gradient[0], 3.0);
}

TEST_CASE("dual: logaddexp has the softmax as slopes, one half each where infinities meet") {
    using D = dual<double, 2>;
    double const inf = std::numeric_limits<double>::infinity();
    auto const at = [](double a, double b) {
        return math::logaddexp(D::variable(a, 0), D::variable(b, 1));
    };
    D const y = at(0.3, 1.1);
    CHECK_SAME_BITS(y.value, math::logaddexp(0.3, 1.1));
    CHECK_CLOSE(y.gradient[0], s(-0.8L), family::gradient);
    CHECK_CLOSE(y.gradient[1], s(0.8L), family::gradient);
    for (double const same : {-inf, inf, 2.0}) {
        CHECK_SAME(at(same, same).gradient[0], 0.5);
        CHECK_SAME(at(same, same).gradient[1], 0.5);
    }
    CHECK_SAME(at(-inf, 1).gradient[0], 0.0);
    CHECK_SAME(at(-inf, 1).gradient[1], 1.0);
    CHECK_SAME(at(inf, 1).gradient[0], 1.0);
    CHECK(std::isnan(at(std::numeric_limits<double>::quiet_NaN(), 1).gradient[0]));
}

TEMPLATE_TEST_CASE("dual: the derivative of log_sum_exp is the softmax", "", float, double) {
    using D = dual<TestType, 3>;
    std::array<TestType, 3> const x{TestType(1), TestType(-2), TestType(0.5)};
    std::array<D, 3> const variables{D::variable(x[0], 0), D::variable(x[1], 1),
                                     D::variable(x[2], 2)};
    D const y = math::log_sum_exp(variables.begin(), variables.end());
    CHECK_SAME_BITS(y.value, math::log_sum_exp(x.begin(), x.end()));
    long double const total = std::exp(1.0L) + std::exp(-2.0L) + std::exp(0.5L);
    CHECK_CLOSE(y.gradient[0], std::exp(1.0L) / total, family::gradient);
    CHECK_CLOSE(y.gradient[1], std::exp(-2.0L) / total, family::gradient);
    CHECK_CLOSE(y.gradient[2], std::exp(0.5L) / total, family::gradient);
}

TEST_CASE("dual: log_sum_exp over float duals sums as wide as over floats") {
    std::vector<float> const x(200000, 0.1F);
    std::vector<dual<float>> duals(x.begin(), x.end());
    duals[0] = dual<float>::variable(0.1F);
    auto const y = math::log_sum_exp(duals.begin(), duals.end());
    CHECK_SAME_BITS(y.value, math::log_sum_exp(x.begin(), x.end()));
    CHECK_CLOSE(y.gradient[0], 1.0 / 200000, family::gradient);
}

TEST_CASE("dual: the curvature of log_sum_exp is the variance of the softmax") {
    std::array<second, 2> const x{twice(0.4), second(dual<double>(-0.3))};
    auto const y = math::log_sum_exp(x.begin(), x.end());
    CHECK_CLOSE(y.gradient[0].gradient[0], s(0.7L) * s(-0.7L), family::gradient);
}
