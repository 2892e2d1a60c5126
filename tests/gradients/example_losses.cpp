// SPDX-License-Identifier: MIT

/// \file
/// Every loss of single responses against the oracles: closed forms, central differences, dual
/// numbers (what value_and_grad is), and invariants. High-precision literals are in golden/.

#include "support/examples.hpp"

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/finite_difference.hpp"

#include <prefer/math/dual.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

using prefer::example;
using prefer::loss::value_and_grad;
using prefer::math::dual;
using prefer::test::example_facts;
using prefer::test::example_losses;
using prefer::test::family;
using prefer::test::closed_form::wide;

namespace {

double const ratios[] = {-4000,    -250, -30, -10.25, -3,    -0.5, -0.015625, 0,
                         0.015625, 0.5,  3,   9.75,   10.25, 30,   250,       4000};

/// Examples with this log-ratio and all labels; log-probs are negative.
template <class L>
std::vector<example<double>> examples_at(double d, double k = 0) {
    std::vector<example<double>> all;
    double const reference = -20.5 - k - std::fmax(d, 0.0);
    for (double const label : example_facts<L>::labels()) {
        for (double const score : {-0.75, 2.5}) {
            all.push_back({{reference + d, reference, 3 + k, score}, label});
        }
    }
    return all;
}

template <class L, class Check>
void for_each_case(Check check) {
    for (L const& loss : example_facts<L>::instances()) {
        double k = 0;
        for (double const d : ratios) {
            for (example<double> const& x : examples_at<L>(d, k)) {
                CAPTURE(example_facts<L>::name(), d, x.label, x.completion.score);
                check(loss, x);
            }
            k += 1;
        }
    }
}

template <class T>
example<T> narrow(example<double> const& x) {
    auto const& r = x.completion;
    return {{static_cast<T>(r.policy), static_cast<T>(r.reference), static_cast<T>(r.length),
             static_cast<T>(r.score)},
            static_cast<T>(x.label)};
}

/// `x` with this log-prob of the policy, of another scalar type.
template <class S>
example<S> lifted(example<double> const& x, S const& policy) {
    auto const& r = x.completion;
    return {{policy, r.reference, r.length, r.score}, x.label};
}

template <class L>
constexpr family tolerance() {
    if constexpr (requires { example_facts<L>::cancels; }) return family::gradient;
    return family::pair_loss;
}

/// A function of log π(y) whose derivative at `x` is the gradient.
template <class L>
double moved(L const& loss, example<double> const& x, double policy) {
    if constexpr (requires { example_facts<L>::differentiable(loss, x, policy); }) {
        return example_facts<L>::differentiable(loss, x, policy);
    } else {
        example<double> y = x;
        y.completion.policy = policy;
        return loss(y);
    }
}

}  // namespace

TEST_CASE("example losses: every one has a name of its own, valid defaults, named parameters") {
    std::vector<std::string> names;
    auto const look = [&]<class L>(L const& loss) {
        STATIC_REQUIRE(prefer::example_loss<L>);
        names.emplace_back(example_facts<L>::name());
        CAPTURE(names.back());
        CHECK_NOTHROW(loss.validate());
        for (L const& each : example_facts<L>::instances()) CHECK_NOTHROW(each.validate());
        std::vector<std::string> parameters;
        std::apply([&](auto const&... p) { (parameters.emplace_back(p.name), ...); },
                   L::parameters());
        std::sort(parameters.begin(), parameters.end());
        CHECK(std::unique(parameters.begin(), parameters.end()) == parameters.end());
    };
    std::apply([&](auto const&... loss) { (look(loss), ...); }, example_losses{});
    std::sort(names.begin(), names.end());
    CHECK(std::unique(names.begin(), names.end()) == names.end());
}

TEMPLATE_LIST_TEST_CASE("example losses: value and gradient are the closed forms", "",
                        example_losses) {
    for_each_case<TestType>([](TestType const& loss, example<double> const& x) {
        auto const expected = example_facts<TestType>::closed_form(loss, wide(x));
        auto const actual = value_and_grad(loss, x);
        CHECK_CLOSE(actual.loss, expected.loss, tolerance<TestType>());
        CHECK_CLOSE(actual.d_policy, expected.d_policy, tolerance<TestType>());
        CHECK_SAME_BITS(actual.loss, loss(x));
    });
}

TEMPLATE_LIST_TEST_CASE("example losses: gradients are the central differences", "",
                        example_losses) {
    for (TestType const& loss : example_facts<TestType>::instances()) {
        for (double const d : {-30.0, -10.25, -3.0, -0.5, 0.0, 0.5, 3.0, 9.75, 30.0}) {
            for (example<double> const& x : examples_at<TestType>(d)) {
                CAPTURE(example_facts<TestType>::name(), d, x.label);
                auto const f = [&](double policy) { return moved(loss, x, policy); };
                auto const estimate = prefer::test::derivative(f, x.completion.policy, 0.5);
                CHECK_CLOSE(value_and_grad(loss, x).d_policy, estimate.value,
                            family::finite_difference);
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("example losses: second derivatives are those of the gradient", "",
                        example_losses) {
    using S = dual<double>;
    for_each_case<TestType>([](TestType const& loss, example<double> const& x) {
        auto const y = value_and_grad(loss, lifted(x, S::variable(x.completion.policy)));
        auto const flat = value_and_grad(loss, x);
        CHECK_SAME_BITS(y.loss.value, flat.loss);
        CHECK_SAME_BITS(y.d_policy.value, flat.d_policy);
        if (example_facts<TestType>::convex(loss)) CHECK(y.d_policy.gradient[0] >= 0);
    });
    for (TestType const& loss : example_facts<TestType>::instances()) {
        for (double const d : {-9.0, -3.0, 0.375, 3.0, 20.0}) {
            for (example<double> const& x : examples_at<TestType>(d)) {
                if constexpr (std::is_same_v<TestType, prefer::loss::nash_md>) {
                    // Its slope depends on the log-ratio, which is held.
                    auto const y = value_and_grad(loss, lifted(x, S::variable(-4.0)));
                    CHECK_SAME(y.d_policy.gradient[0], 0.0);
                } else {
                    auto const slope = [&](double policy) {
                        example<double> y = x;
                        y.completion.policy = policy;
                        return value_and_grad(loss, y).d_policy;
                    };
                    auto const y =
                        value_and_grad(loss, lifted(x, S::variable(x.completion.policy)));
                    auto const estimate = prefer::test::derivative(slope, x.completion.policy, 0.5);
                    CHECK_CLOSE(y.d_policy.gradient[0], estimate.value, family::finite_difference);
                }
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("example losses: finite for log-ratios from -1e4 to 1e4", "",
                        example_losses) {
    auto const check = []<class T>(TestType const& loss, example<T> const& x) {
        auto const y = value_and_grad(loss, x);
        CHECK(std::isfinite(y.loss));
        CHECK(std::isfinite(y.d_policy));
        CHECK_SAME_BITS(y.loss, loss(x));
    };
    for (TestType const& loss : example_facts<TestType>::instances()) {
        for (double const d : {-1e4, -1e3, -89.0, 0.0, 89.0, 1e3, 1e4}) {
            for (example<double> x : examples_at<TestType>(d)) {
                for (double const length : {0.0, 1.0, 50.0}) {
                    x.completion.length = length;
                    CAPTURE(example_facts<TestType>::name(), d, x.label, length);
                    check(loss, x);
                    check(loss, narrow<float>(x));
                }
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("example losses: float results are those of double, to float accuracy", "",
                        example_losses) {
    for (TestType const& loss : example_facts<TestType>::instances()) {
        for (double const d : {-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0}) {
            for (example<double> const& x : examples_at<TestType>(d)) {
                CAPTURE(example_facts<TestType>::name(), d, x.label);
                auto const wide = value_and_grad(loss, x);
                auto const actual = value_and_grad(loss, narrow<float>(x));
                CHECK_CLOSE(actual.loss, wide.loss, family::gradient);
                CHECK_CLOSE(actual.d_policy, wide.d_policy, family::gradient);
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("example losses: desirable is pulled up, undesirable is not (F21)", "",
                        example_losses) {
    bool some_other = false;
    for_each_case<TestType>([&](TestType const& loss, example<double> const& x) {
        double const slope = value_and_grad(loss, x).d_policy;
        bool const good = x.label > 0 ? slope <= 0 : slope >= 0;
        if (example_facts<TestType>::monotone(loss)) {
            CHECK((good || (x.label > 0 && x.label < 1)));
        } else {
            some_other = some_other || !good;
        }
    });
    bool every_instance_is = true;
    for (TestType const& loss : example_facts<TestType>::instances()) {
        every_instance_is = every_instance_is && example_facts<TestType>::monotone(loss);
    }
    CHECK(some_other == !every_instance_is);
}
