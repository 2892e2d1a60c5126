// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Every loss of a group against the oracles: closed forms, central differences, dual numbers (what
/// value_and_grad is), and invariants. The fourth, high-precision literals, is in golden/. The
/// source that includes this defines `group` first, as one of the lists of support/losses/.

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/finite_difference.hpp"

#include <prefer/math/dual.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using prefer::pair;
using prefer::loss::value_and_grad;
using prefer::math::dual;
using prefer::test::family;
using prefer::test::loss_facts;
using prefer::test::pair_with_margin;
using prefer::test::closed_form::wide;

namespace {

double const margins[] = {-4000,    -250, -30, -10.25, -3,    -0.5, -0.015625, 0,
                          0.015625, 0.5,  3,   9.75,   10.25, 30,   250,       4000};

/// Pairs of all margins, with different references, lengths and scores; log-probs are negative.
template <class L>
std::vector<pair<double>> pairs() {
    std::vector<pair<double>> all;
    auto const add = [&](pair<double> const& p) {
        for (pair<double> const& q : prefer::test::annotated<L>(p)) all.push_back(q);
    };
    double k = 0;
    for (double const h : margins) {
        double const up = std::fmax(h, 0.0);
        double const down = std::fmin(h, 0.0);
        add(pair_with_margin(h));
        add({{-30.25 - k + down, -30.25 - k, 3 + k, 1.5},
             {-8.5 - k / 4 - up, -8.5 - k / 4, 17 - k, 0.25}});
        add({{-4 + down / 2, -4 - up / 2, 1, -0.75}, {-7.75 - up / 2, -7.75 + down / 2, 25, 2}});
        k += 1;
    }
    return all;
}

/// The pairs with the margin `h`.
template <class L>
std::vector<pair<double>> pairs_at(double h) {
    return prefer::test::annotated<L>(pair_with_margin(h));
}

template <class L, class Check>
void for_each_case(Check check) {
    for (L const& loss : loss_facts<L>::instances()) {
        for (pair<double> const& p : pairs<L>()) check(loss, p);
    }
}

/// `p` with these log-probs of the policy, of another scalar type.
template <class S>
pair<S> lifted(pair<double> const& p, S const& chosen, S const& rejected) {
    return {{chosen, p.chosen.reference, p.chosen.length, p.chosen.score},
            {rejected, p.rejected.reference, p.rejected.length, p.rejected.score},
            p.label,
            p.offset};
}

/// Terms of order one may cancel in the loss or its slope: `static constexpr bool cancels = true`.
template <class L>
constexpr family tolerance() {
    if constexpr (requires { loss_facts<L>::cancels; }) {
        return loss_facts<L>::cancels ? family::gradient : family::pair_loss;
    } else {
        return family::pair_loss;
    }
}

/// The loss may overflow to infinity for finite input: `static constexpr bool overflows = true`.
template <class L>
constexpr bool overflows() {
    if constexpr (requires { loss_facts<L>::overflows; }) return loss_facts<L>::overflows;
    return false;
}

/// The slope may point the wrong way at margin 0: `static bool rises_at_zero(L const&)`.
template <class L>
bool rises_at_zero(L const& loss) {
    if constexpr (requires { loss_facts<L>::rises_at_zero(loss); }) {
        return loss_facts<L>::rises_at_zero(loss);
    } else {
        return false;
    }
}

/// Whether the chosen response is better because it is the chosen one, whatever else is said of it.
template <class L>
bool trusts_the_order(L const& loss) {
    prefer::pair_inputs const reads = loss.inputs();
    return !reads.scores && !reads.labels && !reads.offsets;
}

/// Beside a huge value, central differences lose a slope of order one; such a loss tries margins up
/// to `static constexpr double differences_within` only.
template <class L>
constexpr double differences_within() {
    if constexpr (requires { loss_facts<L>::differences_within; }) {
        return loss_facts<L>::differences_within;
    } else {
        return std::numeric_limits<double>::infinity();
    }
}

/// What is too large for a double is infinite there.
long double in_range(long double x) {
    auto const top = static_cast<long double>(std::numeric_limits<double>::max());
    if (x > top) return std::numeric_limits<long double>::infinity();
    if (x < -top) return -std::numeric_limits<long double>::infinity();
    return x;
}

template <class T>
pair<T> narrow(pair<double> const& p) {
    auto const response = [](prefer::response<double> const& r) {
        return prefer::response<T>{static_cast<T>(r.policy), static_cast<T>(r.reference),
                                   static_cast<T>(r.length), static_cast<T>(r.score)};
    };
    return {response(p.chosen), response(p.rejected), static_cast<T>(p.label),
            static_cast<T>(p.offset)};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are the closed forms", "", group) {
    for_each_case<TestType>([](TestType const& loss, pair<double> const& p) {
        CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy,
                p.chosen.reference, p.rejected.reference);
        auto const expected = loss_facts<TestType>::closed_form(loss, wide(p));
        auto const actual = value_and_grad(loss, p);
        auto const f = tolerance<TestType>();
        CHECK_CLOSE(actual.loss, in_range(expected.loss), f);
        CHECK_CLOSE(actual.d_chosen, in_range(expected.d_chosen), f);
        CHECK_CLOSE(actual.d_rejected, in_range(expected.d_rejected), f);
        CHECK_SAME_BITS(actual.loss, loss(p));
    });
}

TEMPLATE_LIST_TEST_CASE("losses: gradients are the central differences, beside each corner", "",
                        group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        auto const corners = loss_facts<TestType>::corners(loss);
        std::vector<double> at(std::begin(margins) + 2, std::end(margins) - 2);
        for (double const corner : corners) {
            at.insert(at.end(), {corner - 0.25, corner - 0.0625, corner + 0.0625, corner + 0.25});
        }
        for (double const h : at) {
            if (std::fabs(h) > differences_within<TestType>()) continue;
            double step = 0.5;
            for (double const corner : corners) step = std::min(step, std::fabs(h - corner) / 2);
            if (step < 1e-3) continue;  // on the corner itself
            CAPTURE(loss_facts<TestType>::name(), h, step);
            for (pair<double> const& p : pairs_at<TestType>(h)) {
                auto const actual = value_and_grad(loss, p);
                auto const chosen = [&](double x) {
                    pair<double> q = p;
                    q.chosen.policy = x;
                    return loss(q);
                };
                auto const rejected = [&](double x) {
                    pair<double> q = p;
                    q.rejected.policy = x;
                    return loss(q);
                };
                using prefer::test::derivative;
                CHECK_CLOSE(actual.d_chosen, derivative(chosen, p.chosen.policy, step).value,
                            family::finite_difference);
                CHECK_CLOSE(actual.d_rejected, derivative(rejected, p.rejected.policy, step).value,
                            family::finite_difference);
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: at a corner the slope is that behind it", "", group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const corner : loss_facts<TestType>::corners(loss)) {
            CAPTURE(loss_facts<TestType>::name(), corner);
            // Close by, where what is curved beside the corner has hardly moved.
            auto const at = value_and_grad(loss, pair_with_margin(corner));
            auto const behind = value_and_grad(loss, pair_with_margin(corner + 0x1p-10));
            auto const before = value_and_grad(loss, pair_with_margin(corner - 0x1p-10));
            double const jump = at.d_chosen - before.d_chosen;
            CHECK(jump > 0);
            CHECK(std::fabs(at.d_chosen - behind.d_chosen) <= 0.01 * jump);
            CHECK(std::fabs(at.d_rejected - behind.d_rejected) <=
                  0.01 * std::fabs(at.d_rejected - before.d_rejected));
        }
    }
    SUCCEED();
}

TEMPLATE_LIST_TEST_CASE("losses: the value where all log-probs are equal", "", group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        pair<double> const equal{{-12.5, -12.5, 3, 0.5}, {-12.5, -12.5, 7, 0.5}};
        CAPTURE(loss_facts<TestType>::name());
        for (pair<double> const& p : prefer::test::annotated<TestType>(equal)) {
            CHECK_CLOSE(loss(p), loss_facts<TestType>::at_zero(loss, wide(p)),
                        tolerance<TestType>());
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: finite for log-ratios from -1e4 to 1e4, in float and double", "",
                        group) {
    auto const check = []<class T>(TestType const& loss, pair<T> const& p) {
        auto const y = value_and_grad(loss, p);
        if (overflows<TestType>()) {
            CHECK(!std::isnan(y.loss));
            CHECK(!std::isnan(y.d_chosen));
            CHECK(!std::isnan(y.d_rejected));
        } else {
            CHECK(std::isfinite(y.loss));
            CHECK(std::isfinite(y.d_chosen));
            CHECK(std::isfinite(y.d_rejected));
        }
        CHECK_SAME_BITS(y.loss, loss(p));
    };
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-2e4, -1e4, -1e3, -89.0, 0.0, 89.0, 1e3, 1e4, 2e4}) {
            CAPTURE(loss_facts<TestType>::name(), h);
            for (pair<double> const& p : pairs_at<TestType>(h)) {
                check(loss, p);
                check(loss, narrow<float>(p));
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: one-token and empty responses give no NaN (L3)", "", group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const length : {0.0, 1.0}) {
            pair<double> const shortened{{-0.25, -0.5, length, 1}, {0, 0, 0, 1}};
            for (pair<double> const& p : prefer::test::annotated<TestType>(shortened)) {
                CAPTURE(loss_facts<TestType>::name(), length);
                auto const y = value_and_grad(loss, p);
                CHECK(!std::isnan(y.loss));
                CHECK(!std::isnan(y.d_chosen));
                CHECK(!std::isnan(y.d_rejected));
                auto const narrowed = value_and_grad(loss, narrow<float>(p));
                CHECK(!std::isnan(narrowed.loss));
                CHECK(!std::isnan(narrowed.d_chosen));
                CHECK(!std::isnan(narrowed.d_rejected));
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: the limits for margins far from 0", "", group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        auto const expected = loss_facts<TestType>::at_infinity(loss);
        auto const check = [&](long double limit, double sign) {
            double const far = loss(pair_with_margin(sign * 1e6));
            double const farther = loss(pair_with_margin(sign * 2e6));
            CAPTURE(loss_facts<TestType>::name(), sign, far, farther, limit);
            if (std::isinf(limit)) {
                CHECK((limit > 0 ? farther >= far : farther <= far));
                CHECK(std::fabs(farther) > 10);
            } else {
                CHECK_CLOSE(farther, limit, tolerance<TestType>());
            }
        };
        check(expected.below, -1);
        check(expected.above, 1);
    }
}

TEMPLATE_LIST_TEST_CASE("losses: a difference of scores ignores what both responses share", "",
                        group) {
    if constexpr (prefer::score_difference_loss<TestType>) {
        for_each_case<TestType>([](TestType const& loss, pair<double> const& p) {
            CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy);
            pair<double> q = p;
            q.chosen.policy -= 2 * p.chosen.length;
            q.rejected.policy -= 2 * p.rejected.length;
            q.chosen.reference -= 2 * p.chosen.length;
            q.rejected.reference -= 2 * p.rejected.length;
            auto const y = value_and_grad(loss, p);
            auto const moved = value_and_grad(loss, q);
            CHECK_SAME_BITS(y.loss, moved.loss);
            CHECK_SAME_BITS(y.d_chosen, moved.d_chosen);
            CHECK_SAME_BITS(y.d_rejected, moved.d_rejected);
        });
    }
    SUCCEED();
}

TEMPLATE_LIST_TEST_CASE("losses: float gradients are those of double, to float accuracy", "",
                        group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0}) {
            CAPTURE(loss_facts<TestType>::name(), h);
            for (pair<double> const& p : pairs_at<TestType>(h)) {
                auto const wide = value_and_grad(loss, p);
                auto const actual = value_and_grad(loss, narrow<float>(p));
                CHECK_CLOSE(actual.loss, wide.loss, tolerance<TestType>());
                CHECK_CLOSE(actual.d_chosen, wide.d_chosen, family::gradient);
                CHECK_CLOSE(actual.d_rejected, wide.d_rejected, family::gradient);
            }
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: a monotone loss never rewards the rejected (F21)", "", group) {
    bool some_rise = false;
    for_each_case<TestType>([&](TestType const& loss, pair<double> const& p) {
        CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy);
        auto const y = value_and_grad(loss, p);
        if (loss_facts<TestType>::monotone(loss)) {
            CHECK(y.d_chosen <= 0);
            CHECK(y.d_rejected >= 0);
        } else {
            some_rise = some_rise || y.d_chosen > 0 || y.d_rejected < 0;
        }
        // A convex one on the margin pulls a badly ordered pair the right way.
        if constexpr (prefer::score_difference_loss<TestType>) {
            if (loss_facts<TestType>::convex(loss) && trusts_the_order(loss) && p.margin() < 0 &&
                p.mean_margin() < 0) {
                CHECK(y.d_chosen < 0);
            }
        }
    });
    bool every_instance_is = true;
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        every_instance_is = every_instance_is && loss_facts<TestType>::monotone(loss);
    }
    CHECK(some_rise == !every_instance_is);  // a loss that is not monotone shows it somewhere
}

TEMPLATE_LIST_TEST_CASE("losses: a step down the gradient raises the margin (F21)", "", group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-2.0, 0.0}) {
            if (h >= 0 && rises_at_zero(loss)) continue;
            CAPTURE(loss_facts<TestType>::name(), h);
            pair<double> p = pair_with_margin(h - 1e-3);
            p.chosen.score =
                4;  // for the losses that regress to scores: a larger gap than this one
            auto const y = value_and_grad(loss, p);
            p.chosen.policy -= 1e-3 * y.d_chosen;
            p.rejected.policy -= 1e-3 * y.d_rejected;
            CHECK(p.margin() > h - 1e-3);
            CHECK(loss(p) < y.loss);
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: convex where it says so, by second derivatives", "", group) {
    for_each_case<TestType>([](TestType const& loss, pair<double> const& p) {
        CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy);
        using S = dual<double, 2>;
        auto const y = value_and_grad(
            loss, lifted(p, S::variable(p.chosen.policy, 0), S::variable(p.rejected.policy, 1)));
        double const ww = y.d_chosen.gradient[0];
        double const wl = y.d_chosen.gradient[1];
        double const lw = y.d_rejected.gradient[0];
        double const ll = y.d_rejected.gradient[1];
        CHECK_CLOSE(wl, lw, family::gradient);
        if (loss_facts<TestType>::convex(loss)) {
            CHECK(ww >= 0);
            CHECK(ll >= 0);
            // For functions of the margin the determinant is zero up to rounding.
            CHECK(ww * ll - wl * lw >= -1e-15 * (1 + ww * ll));
        }
        auto const flat = value_and_grad(loss, p);
        CHECK_SAME_BITS(y.loss.value, flat.loss);
        CHECK_SAME_BITS(y.d_chosen.value, flat.d_chosen);
    });
}

TEMPLATE_LIST_TEST_CASE("losses: second derivatives are the central differences of gradients", "",
                        group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-9.0, -3.0, 0.375, 3.0, 20.0}) {
            if (std::fabs(h) > differences_within<TestType>()) continue;
            double step = 0.5;
            for (double const corner : loss_facts<TestType>::corners(loss)) {
                step = std::min(step, std::fabs(h - corner) / 2);
            }
            CAPTURE(loss_facts<TestType>::name(), h, step);
            for (pair<double> const& p : pairs_at<TestType>(h)) {
                using S = dual<double>;
                auto const q = lifted(p, S::variable(p.chosen.policy), S(p.rejected.policy));
                auto const slope = [&](double x) {
                    pair<double> moved = p;
                    moved.chosen.policy = x;
                    return value_and_grad(loss, moved).d_chosen;
                };
                auto const estimate = prefer::test::derivative(slope, p.chosen.policy, step);
                CHECK_CLOSE(value_and_grad(loss, q).d_chosen.gradient[0], estimate.value,
                            family::finite_difference);
            }
        }
    }
}
