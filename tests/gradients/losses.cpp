// SPDX-License-Identifier: MIT

/// \file
/// Every loss against the oracles: closed forms, central differences, dual numbers (what
/// value_and_grad is), and invariants. The fourth, high-precision literals, is golden/losses.cpp.

#include "support/losses.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/finite_difference.hpp"

#include <prefer/math/dual.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using prefer::pair;
using prefer::loss::value_and_grad;
using prefer::math::dual;
using prefer::test::family;
using prefer::test::loss_facts;
using prefer::test::pair_losses;
using prefer::test::pair_with_margin;
using prefer::test::closed_form::wide;

namespace {

double const margins[] = {-4000,    -250, -30, -10.25, -3,    -0.5, -0.015625, 0,
                          0.015625, 0.5,  3,   9.75,   10.25, 30,   250,       4000};

/// Pairs of all margins, with different references and lengths.
std::vector<pair<double>> pairs() {
    std::vector<pair<double>> all;
    double k = 0;
    for (double const h : margins) {
        all.push_back(pair_with_margin(h));
        all.push_back({{-30.25 - k + h, -30.25 - k, 3 + k}, {-8.5 + k / 4, -8.5 + k / 4, 17 - k}});
        all.push_back({{-4, -4 - h / 2, 1}, {-7.75 - h / 2, -7.75, 25}});
        k += 1;
    }
    return all;
}

template <class L, class Check>
void for_each_case(Check check) {
    for (L const& loss : loss_facts<L>::instances()) {
        for (pair<double> const& p : pairs()) check(loss, p);
    }
}

template <class T>
pair<T> narrow(pair<double> const& p) {
    auto const response = [](prefer::response<double> const& r) {
        return prefer::response<T>{static_cast<T>(r.policy), static_cast<T>(r.reference),
                                   static_cast<T>(r.length)};
    };
    return {response(p.chosen), response(p.rejected)};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are the closed forms", "", pair_losses) {
    for_each_case<TestType>([](TestType const& loss, pair<double> const& p) {
        CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy,
                p.chosen.reference, p.rejected.reference);
        auto const expected = loss_facts<TestType>::closed_form(loss, wide(p));
        auto const actual = value_and_grad(loss, p);
        CHECK_CLOSE(actual.loss, expected.loss, family::pair_loss);
        CHECK_CLOSE(actual.d_chosen, expected.d_chosen, family::pair_loss);
        CHECK_CLOSE(actual.d_rejected, expected.d_rejected, family::pair_loss);
        CHECK_SAME_BITS(actual.loss, loss(p));
    });
}

TEMPLATE_LIST_TEST_CASE("losses: gradients are the central differences, beside each corner", "",
                        pair_losses) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        auto const corners = loss_facts<TestType>::corners(loss);
        std::vector<double> at(std::begin(margins) + 2, std::end(margins) - 2);
        for (double const corner : corners) {
            at.insert(at.end(), {corner - 0.25, corner - 0.0625, corner + 0.0625, corner + 0.25});
        }
        for (double const h : at) {
            double step = 0.5;
            for (double const corner : corners) step = std::min(step, std::fabs(h - corner) / 2);
            if (step < 1e-3) continue;  // on the corner itself
            CAPTURE(loss_facts<TestType>::name(), h, step);
            pair<double> const p = pair_with_margin(h);
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

TEMPLATE_LIST_TEST_CASE("losses: at a corner the slope is that behind it", "", pair_losses) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const corner : loss_facts<TestType>::corners(loss)) {
            CAPTURE(loss_facts<TestType>::name(), corner);
            auto const at = value_and_grad(loss, pair_with_margin(corner));
            auto const behind = value_and_grad(loss, pair_with_margin(corner + 1));
            auto const before = value_and_grad(loss, pair_with_margin(corner - 1));
            CHECK_SAME(at.d_chosen, behind.d_chosen);
            CHECK_SAME(at.d_rejected, behind.d_rejected);
            CHECK(before.d_chosen < at.d_chosen);
        }
    }
    SUCCEED();
}

TEMPLATE_LIST_TEST_CASE("losses: the value where all log-probs are equal", "", pair_losses) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        pair<double> const p{{-12.5, -12.5, 3}, {-12.5, -12.5, 7}};
        CAPTURE(loss_facts<TestType>::name());
        CHECK_CLOSE(loss(p), loss_facts<TestType>::at_zero(loss, wide(p)), family::pair_loss);
    }
}

TEMPLATE_LIST_TEST_CASE("losses: finite for log-ratios from -1e4 to 1e4, in float and double", "",
                        pair_losses) {
    auto const check = []<class T>(TestType const& loss, pair<T> const& p) {
        auto const y = value_and_grad(loss, p);
        CHECK(std::isfinite(y.loss));
        CHECK(std::isfinite(y.d_chosen));
        CHECK(std::isfinite(y.d_rejected));
        CHECK_SAME_BITS(y.loss, loss(p));
    };
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-2e4, -1e4, -1e3, -89.0, 0.0, 89.0, 1e3, 1e4, 2e4}) {
            CAPTURE(loss_facts<TestType>::name(), h);
            check(loss, pair_with_margin(h));
            check(loss, narrow<float>(pair_with_margin(h)));
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: float gradients are those of double, to float accuracy", "",
                        pair_losses) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0}) {
            CAPTURE(loss_facts<TestType>::name(), h);
            auto const wide = value_and_grad(loss, pair_with_margin(h));
            auto const actual = value_and_grad(loss, narrow<float>(pair_with_margin(h)));
            CHECK_CLOSE(actual.loss, wide.loss, family::pair_loss);
            CHECK_CLOSE(actual.d_chosen, wide.d_chosen, family::gradient);
            CHECK_CLOSE(actual.d_rejected, wide.d_rejected, family::gradient);
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: a monotone loss never rewards the rejected (F21)", "",
                        pair_losses) {
    bool some_rise = false;
    for_each_case<TestType>([&](TestType const& loss, pair<double> const& p) {
        CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy);
        auto const y = value_and_grad(loss, p);
        if (loss_facts<TestType>::monotone(loss)) {
            CHECK(y.d_chosen <= 0);
            CHECK(y.d_rejected >= 0);
        } else {
            some_rise = some_rise || y.d_chosen > 0;
        }
        // Every loss pulls a badly ordered pair the right way.
        if (p.margin() < 0 && p.chosen.policy < p.rejected.policy) CHECK(y.d_chosen < 0);
    });
    bool every_instance_is = true;
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        every_instance_is = every_instance_is && loss_facts<TestType>::monotone(loss);
    }
    CHECK(some_rise == !every_instance_is);  // a loss that is not monotone shows it somewhere
}

TEMPLATE_LIST_TEST_CASE("losses: a step down the gradient raises the margin (F21)", "",
                        pair_losses) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-2.0, 0.0}) {
            CAPTURE(loss_facts<TestType>::name(), h);
            pair<double> p = pair_with_margin(h - 1e-3);
            auto const y = value_and_grad(loss, p);
            p.chosen.policy -= 1e-3 * y.d_chosen;
            p.rejected.policy -= 1e-3 * y.d_rejected;
            CHECK(p.margin() > h - 1e-3);
            CHECK(loss(p) < y.loss);
        }
    }
}

TEMPLATE_LIST_TEST_CASE("losses: convex in both log-probs, by second derivatives", "",
                        pair_losses) {
    for_each_case<TestType>([](TestType const& loss, pair<double> const& p) {
        CAPTURE(loss_facts<TestType>::name(), p.chosen.policy, p.rejected.policy);
        using S = dual<double, 2>;
        pair<S> const q{
            {S::variable(p.chosen.policy, 0), p.chosen.reference, p.chosen.length},
            {S::variable(p.rejected.policy, 1), p.rejected.reference, p.rejected.length}};
        auto const y = value_and_grad(loss, q);
        double const ww = y.d_chosen.gradient[0];
        double const wl = y.d_chosen.gradient[1];
        double const lw = y.d_rejected.gradient[0];
        double const ll = y.d_rejected.gradient[1];
        CHECK_CLOSE(wl, lw, family::gradient);
        CHECK(ww >= 0);
        CHECK(ll >= 0);
        // These losses are functions of one line: the determinant is zero up to rounding.
        CHECK(ww * ll - wl * lw >= -1e-15 * (1 + ww * ll));
        auto const flat = value_and_grad(loss, p);
        CHECK_SAME_BITS(y.loss.value, flat.loss);
        CHECK_SAME_BITS(y.d_chosen.value, flat.d_chosen);
    });
}

TEMPLATE_LIST_TEST_CASE("losses: second derivatives are the central differences of gradients", "",
                        pair_losses) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        for (double const h : {-9.0, -3.0, 0.375, 3.0, 20.0}) {
            double step = 0.5;
            for (double const corner : loss_facts<TestType>::corners(loss)) {
                step = std::min(step, std::fabs(h - corner) / 2);
            }
            CAPTURE(loss_facts<TestType>::name(), h, step);
            pair<double> const p = pair_with_margin(h);
            using S = dual<double>;
            pair<S> const q{{S::variable(p.chosen.policy), p.chosen.reference, p.chosen.length},
                            {p.rejected.policy, p.rejected.reference, p.rejected.length}};
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

TEST_CASE("losses: every one has a name of its own, and the defaults among its settings") {
    std::vector<std::string> names;
    std::apply(
        [&](auto const&... loss) {
            (names.push_back(loss_facts<std::remove_cvref_t<decltype(loss)>>::name()), ...);
            (loss.validate(), ...);
        },
        pair_losses{});
    CHECK(names.size() == 5);
    std::sort(names.begin(), names.end());
    CHECK(std::unique(names.begin(), names.end()) == names.end());
}
