// SPDX-License-Identifier: MIT
#include "support/finite_difference.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <cmath>

using prefer::test::derivative;
using prefer::test::derivative_estimate;
using prefer::test::family;
using prefer::test::second_derivative;

namespace {

void check(derivative_estimate estimate, double truth) {
    CAPTURE(estimate.value, estimate.error, truth);
    CHECK_CLOSE(estimate.value, truth, family::finite_difference);
    // The estimate of the error is an upper one, and not a useless one.
    CHECK(std::fabs(estimate.value - truth) <= estimate.error);
    CHECK(estimate.error <= 1e-8 * std::fmax(1.0, std::fabs(truth)));
}

}  // namespace

TEST_CASE("derivative of smooth functions") {
    for (double const x : {-20.0, -3.0, -0.5, 0.0, 0.25, 1.0, 4.0, 15.0}) {
        CAPTURE(x);
        check(derivative([](double t) { return std::sin(t); }, x), std::cos(x));
        check(derivative([](double t) { return std::exp(t / 4); }, x), std::exp(x / 4) / 4);
        check(derivative([](double t) { return t * t * t; }, x), 3 * x * x);
        check(derivative([](double t) { return std::log1p(std::exp(-t)); }, x),
              -1 / (1 + std::exp(x)));
        check(derivative([](double) { return 7.0; }, x), 0.0);
    }
}

TEST_CASE("derivative: the step keeps both arguments on one side of a branch") {
    auto const hinge = [](double t) { return t < 1.0 ? 1.0 - t : 0.0; };
    check(derivative(hinge, 0.99, 0.005), -1.0);
    check(derivative(hinge, 1.01, 0.005), 0.0);
}

TEST_CASE("derivative: a kink within the first steps is left behind") {
    check(derivative([](double t) { return std::fabs(t - 0.01); }, 0.0), -1.0);
}

TEST_CASE("derivative: what is not finite has no derivative") {
    auto const estimate = derivative([](double t) { return std::log(t); }, -1.0);
    CHECK(std::isnan(estimate.value));
    CHECK(std::isinf(estimate.error));
}

TEST_CASE("second_derivative") {
    for (double const x : {-3.0, 0.0, 0.5, 2.0}) {
        CAPTURE(x);
        auto const estimate = second_derivative([](double t) { return std::exp(t); }, x);
        CAPTURE(estimate.value, estimate.error);
        CHECK(std::fabs(estimate.value - std::exp(x)) <= estimate.error);
        CHECK(estimate.error <= 1e-7 * std::fmax(1.0, std::exp(x)));
    }
}
