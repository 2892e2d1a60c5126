// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/plackett_luce.hpp>
#include <prefer/math/dual.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using prefer::pair;
using prefer::vector_view;
using prefer::loss::dpo;
using prefer::loss::plackett_luce;
using prefer::loss::value_and_grad;
using prefer::math::dual;
using prefer::test::family;

namespace {

template <class T>
vector_view<T const> view(std::vector<T> const& v) {
    return {v.data(), v.size()};
}

template <class T>
vector_view<T> view(std::vector<T>& v) {
    return {v.data(), v.size()};
}

/// The formula as it is read, for any scalar: a softmax over what is left, place by place.
template <class S>
S plain(std::vector<S> const& d, double beta, std::size_t places) {
    S loss(0.0);
    for (std::size_t k = 0; k < places; ++k) {
        std::vector<S> left;
        for (std::size_t j = k; j < d.size(); ++j) left.push_back(beta * d[j]);
        loss += prefer::math::log_sum_exp(left.begin(), left.end()) - left[0];
    }
    return loss;
}

}  // namespace

TEST_CASE("plackett_luce: a list of three, ranked wholly or in its first place") {
    STATIC_REQUIRE(prefer::list_loss<plackett_luce>);
    CHECK_SAME(plackett_luce{}.beta, 0.1);
    CHECK(plackett_luce{}.top == 0);
    std::vector<double> const d{3, 1, -2};
    std::vector<double> g(3);
    CHECK_CLOSE(plackett_luce{}.value_and_grad(view(d), view(g)), 1.44029456213699, family::quoted);
    CHECK_CLOSE(g, (std::array{-0.0587673314420422, -0.00879729453896245, 0.0675646259810046}),
                family::quoted);
    plackett_luce const first{.beta = 0.1, .top = 1};
    CHECK_CLOSE(first.value_and_grad(view(d), view(g)), 0.885939317668456, family::quoted);
    CHECK_CLOSE(g, (std::array{-0.0587673314420422, 0.0337584537798716, 0.0250088776621705}),
                family::quoted);
    plackett_luce const more{.beta = 0.1, .top = 7};  // than there are choices
    CHECK_SAME_BITS(more(view(d)), plackett_luce{}(view(d)));
}

TEST_CASE("plackett_luce: equal responses") {
    std::vector<double> const d(3, -7.5);
    CHECK_CLOSE(plackett_luce{}(view(d)), 1.79175946922805500L,
                family::pair_loss);  // log 3 + log 2
    CHECK_CLOSE((plackett_luce{.top = 1}(view(d))), 1.09861228866810969L, family::pair_loss);
}

TEST_CASE("plackett_luce: a list of two is dpo, the value bit for bit") {
    for (double const h : {-4000.0, -30.0, -0.3, 0.0, 0.7, 10.0, 4000.0}) {
        for (double const beta : {0.1, 2.5}) {
            pair<double> const p{{-20.1 + h, -20.1, 4}, {-17.7, -18.9, 4}};
            std::vector<double> const d{p.chosen.log_ratio(), p.rejected.log_ratio()};
            std::vector<double> g(2);
            auto const expected = value_and_grad(dpo{beta}, p);
            auto const value = plackett_luce{beta}.value_and_grad(view(d), view(g));
            CAPTURE(h, beta);
            CHECK_SAME_BITS(value, expected.loss);
            CHECK_CLOSE(g[0], expected.d_chosen, family::pair_loss);
            CHECK_CLOSE(g[1], expected.d_rejected, family::pair_loss);
        }
    }
}

TEST_CASE("plackett_luce: the gradient is that of dual numbers on the plain formula") {
    constexpr std::size_t size = 7;
    using S = dual<double, size>;
    std::vector<double> d(size);
    for (double const scale : {0.25, 2.0, 30.0}) {
        for (std::size_t seed = 0; seed < 20; ++seed) {
            std::vector<S> x;
            for (std::size_t k = 0; k < size; ++k) {
                d[k] = scale * (static_cast<double>((seed * 31 + k * k * 17 + k * 5) % 23) - 11);
                x.push_back(S::variable(d[k], k));
            }
            for (std::size_t const top : {0U, 1U, 3U, 6U}) {
                plackett_luce const loss{0.3, top};
                CAPTURE(scale, seed, top);
                S const expected = plain(x, 0.3, loss.ranked(size));
                std::vector<double> g(size);
                double const value = loss.value_and_grad(view(d), view(g));
                CHECK_CLOSE(value, expected.value, family::gradient);
                CHECK_SAME_BITS(value, loss(view(d)));
                double sum = 0;
                for (std::size_t k = 0; k < size; ++k) {
                    CHECK_CLOSE(g[k], expected.gradient[k], family::gradient);
                    sum += g[k];
                }
                CHECK_CLOSE(sum, 0.0, family::gradient);
                CHECK(g[0] <= 0);
                CHECK(g[size - 1] >= 0);
            }
        }
    }
}

TEST_CASE("plackett_luce: lists that rank nothing") {
    std::vector<double> const none, one{-3};
    std::vector<double> g0, g1{-9};
    CHECK_SAME(plackett_luce{}(view(none)), 0.0);
    CHECK_SAME(plackett_luce{}.value_and_grad(view(none), view(g0)), 0.0);
    CHECK_SAME(plackett_luce{}.value_and_grad(view(one), view(g1)), 0.0);
    CHECK_SAME(g1[0], 0.0);
    CHECK(plackett_luce{}.ranked(0) == 0);
    CHECK(plackett_luce{}.ranked(1) == 0);
    CHECK(plackett_luce{}.ranked(2) == 1);
    CHECK((plackett_luce{.top = 2}.ranked(9) == 2));
}

TEMPLATE_TEST_CASE("plackett_luce: finite for log-ratios from -1e4 to 1e4", "", float, double) {
    for (double const beta : {0.01, 0.1, 5.0}) {
        std::vector<TestType> d{TestType(1e4), TestType(-1e4), 0, TestType(1e4), TestType(-1e4)};
        std::vector<TestType> g(d.size());
        CHECK(std::isfinite(plackett_luce{beta}.value_and_grad(view(d), view(g))));
        for (TestType const x : g) CHECK(std::isfinite(x));
    }
}

TEST_CASE("plackett_luce: a common part of the log-ratios changes no bit; strides are followed") {
    std::array<double, 6> const wide{1e9 + 3, -1, 1e9 + 1, -1, 1e9 - 2, -1};
    std::vector<double> const d{3, 1, -2};
    std::array<double, 6> gradient{};
    std::vector<double> g(3);
    auto const value = plackett_luce{}.value_and_grad(view(d), view(g));
    auto const strided = plackett_luce{}.value_and_grad(
        vector_view<double const>(wide.data(), 3, 2), vector_view<double>(gradient.data(), 3, 2));
    CHECK_SAME_BITS(strided, value);
    for (std::size_t k = 0; k < 3; ++k) {
        CHECK_SAME_BITS(gradient[2 * k], g[k]);
        CHECK_SAME_BITS(gradient[2 * k + 1], 0.0);
    }
}

TEST_CASE("plackett_luce: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (double const bad : {0.0, -1.0, nan}) {
        CHECK_THROWS_MESSAGE((plackett_luce{.beta = bad}.validate()), prefer::value_error,
                             "prefer::loss::plackett_luce: beta is ");
    }
}
