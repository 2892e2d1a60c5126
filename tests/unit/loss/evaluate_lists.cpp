// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/list_batch.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_lists.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/plackett_luce.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using prefer::evaluate_lists;
using prefer::half;
using prefer::list_batch;
using prefer::list_gradients;
using prefer::loss::dpo;
using prefer::loss::plackett_luce;
using prefer::test::family;

namespace {

double const undefined = std::numeric_limits<double>::quiet_NaN();

template <class T>
struct columns {
    std::vector<T> policy, reference, d;
    std::vector<int> offsets{0};

    /// A list with these log-ratios.
    void push(std::vector<double> const& ratios) {
        auto const stored = [](double x) {
            return static_cast<T>(static_cast<prefer::compute_t<T>>(x));
        };
        for (double const ratio : ratios) {
            policy.push_back(stored(-20 + ratio));
            reference.push_back(stored(-20));
            d.push_back(stored(-77.5));
        }
        offsets.push_back(static_cast<int>(policy.size()));
    }
    auto batch() const { return list_batch{policy, reference, offsets}; }
    auto gradients() { return list_gradients{d}; }
};

template <class T>
columns<T> of(std::vector<std::vector<double>> const& lists) {
    columns<T> c;
    for (auto const& list : lists) c.push(list);
    return c;
}

// Of the list 3, 1, -2 at β = 0.1.
double const loss_3 = 1.44029456213699;
std::array const slope_3{-0.0587673314420422, -0.00879729453896245, 0.0675646259810046};

}  // namespace

TEST_CASE("evaluate_lists: the mean loss, its gradients and the metrics; short lists say so") {
    auto c = of<double>({{3, 1, -2}, {}, {5}, {6, 0}});
    auto const s = evaluate_lists(plackett_luce{}, c.batch(), c.gradients());
    CHECK(s.lists == 2);
    CHECK(s.short_lists == 2);
    CHECK(s.responses == 5);
    CHECK_CLOSE(s.loss, (loss_3 + 0.43748795048588563) / 2, family::quoted);
    CHECK_CLOSE(c.d,
                (std::array{slope_3[0] / 2, slope_3[1] / 2, slope_3[2] / 2, 0.0,
                            -0.0354343693774205 / 2, 0.0354343693774205 / 2}),
                family::quoted);
    CHECK_SAME_BITS(c.d[3], 0.0);
    CHECK_SAME(s.accuracy, 1.0);
    CHECK_SAME(s.pair_accuracy, 1.0);
    CHECK_CLOSE(s.reward_first, 0.45, family::reduction);
    CHECK_CLOSE(s.reward_last, -0.1, family::reduction);
    CHECK_CLOSE(s.margin, 0.55, family::reduction);
    CHECK_CLOSE(s.gradient_scale, (0.1351292519620092 / 3 + 0.0354343693774205) / 2,
                family::quoted);
}

TEST_CASE("evaluate_lists: lists of two are pairs") {
    std::vector<double> const margins{6, 0, -10, 250, 1};
    columns<double> c;
    std::vector<double> pc, pr, reference(5, -20.0), dc(5), dr(5), w{1, 2, 0.5, 1, 0};
    for (double const h : margins) {
        c.push({h, 0});
        pc.push_back(-20 + h);
        pr.push_back(-20);
    }
    auto const expected =
        evaluate_pairs(dpo{}, prefer::pair_batch{pc, pr, reference, reference}.with_weights(w),
                       prefer::pair_gradients{dc, dr});
    auto const s = evaluate_lists(plackett_luce{}, c.batch().with_weights(w), c.gradients());
    CHECK(s.lists == expected.pairs);
    CHECK_CLOSE(s.loss, expected.loss, family::reduction);
    CHECK_CLOSE(s.accuracy, expected.accuracy, family::reduction);
    CHECK_CLOSE(s.pair_accuracy, expected.accuracy, family::reduction);
    CHECK_CLOSE(s.margin, expected.margin, family::reduction);
    CHECK_CLOSE(s.gradient_scale, expected.gradient_scale, family::reduction);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK_CLOSE(c.d[2 * i], dc[i], family::gradient);
        CHECK_CLOSE(c.d[2 * i + 1], dr[i], family::gradient);
    }
}

TEST_CASE("evaluate_lists: accuracies of wrong orders, ties and partial rankings") {
    auto const of_one = [](std::vector<double> const& ratios, std::size_t top = 0) {
        return evaluate_lists(plackett_luce{.top = top}, of<double>({ratios}).batch());
    };
    CHECK_SAME(of_one({1, 2, 3}).accuracy, 0.0);
    CHECK_SAME(of_one({1, 2, 3}).pair_accuracy, 0.0);
    CHECK_CLOSE(of_one({2, 3, 1, 0}).pair_accuracy, 5.0 / 6, family::reduction);
    CHECK_CLOSE(of_one({2, 2, 2}).accuracy, 1.0 / 3, family::reduction);
    CHECK_SAME(of_one({2, 2, 2}).pair_accuracy, 0.5);
    CHECK_SAME(of_one({2, 1, 2}).accuracy, 0.5);
    CHECK_CLOSE(of_one({2, 1, 2}).pair_accuracy, 0.5, family::reduction);  // 1 + 1/2 + 0
    // Only the first place is ranked: pairs with the first count, the order behind does not.
    CHECK_SAME(of_one({3, 0, 1, 2}, 1).pair_accuracy, 1.0);
    CHECK_CLOSE(of_one({2, 0, 1, 3}, 1).pair_accuracy, 2.0 / 3, family::reduction);
    CHECK_CLOSE(of_one({4, 0, 1, 2}, 2).pair_accuracy, 3.0 / 5, family::reduction);
    // Against counting all pairs.
    std::vector<double> ratios;
    for (std::size_t k = 0; k < 29; ++k) ratios.push_back(static_cast<double>(k * k * 7 % 13));
    double ordered = 0;
    for (std::size_t i = 0; i < 29; ++i) {
        for (std::size_t j = i + 1; j < 29; ++j) {
            ordered += ratios[i] > ratios[j] ? 1 : ratios[i] < ratios[j] ? 0 : 0.5;
        }
    }
    CHECK_CLOSE(of_one(ratios).pair_accuracy, ordered / (29 * 28 / 2), family::reduction);
}

TEST_CASE("evaluate_lists: any split with the global normalizer adds up, in any order (F18)") {
    std::vector<std::vector<double>> lists{{3, 1, -2},      {0, 0}, {5, -1, 2, 4}, {7}, {-4, 9},
                                           {1, 2, 3, 4, 5}, {}};
    auto whole = of<double>(lists);
    auto const expected = evaluate_lists(plackett_luce{}, whole.batch(), whole.gradients());
    CHECK(expected.lists == 5);
    CHECK(expected.short_lists == 2);
    for (std::size_t cut = 0; cut <= lists.size(); ++cut) {
        auto const middle = lists.begin() + static_cast<std::ptrdiff_t>(cut);
        auto a = of<double>({lists.begin(), middle});
        auto b = of<double>({middle, lists.end()});
        auto const first =
            evaluate_lists(plackett_luce{}, a.batch(), a.gradients(), {.normalizer = 5});
        auto const second =
            evaluate_lists(plackett_luce{}, b.batch(), b.gradients(), {.normalizer = 5});
        CHECK_CLOSE(first.loss + second.loss, expected.loss, family::reduction);
        a.d.insert(a.d.end(), b.d.begin(), b.d.end());
        CHECK_SAME_BITS(a.d, whole.d);
        prefer::list_sums sums = first.sums;
        sums += second.sums;
        auto const both = prefer::summarize(sums);
        CHECK(both.lists == 5);
        CHECK(both.short_lists == 2);
        CHECK(both.responses == expected.responses);
        CHECK_CLOSE(both.loss, expected.loss, family::reduction);
        CHECK_CLOSE(both.accuracy, expected.accuracy, family::reduction);
        CHECK_CLOSE(both.pair_accuracy, expected.pair_accuracy, family::reduction);
        CHECK_CLOSE(both.margin, expected.margin, family::reduction);
        CHECK_CLOSE(both.gradient_scale, expected.gradient_scale, family::reduction);
    }
    std::reverse(lists.begin(), lists.end());
    auto const backward = evaluate_lists(plackett_luce{}, of<double>(lists).batch());
    CHECK_CLOSE(backward.loss, expected.loss, family::reduction);
    CHECK_CLOSE(backward.pair_accuracy, expected.pair_accuracy, family::reduction);
}

TEST_CASE("evaluate_lists: the value is the same without gradients; a weight of 0 masks a list") {
    auto c = of<double>({{3, 1, -2}, {6, 0}});
    auto const expected = evaluate_lists(plackett_luce{}, c.batch());
    CHECK_SAME_BITS(evaluate_lists(plackett_luce{}, c.batch(), c.gradients()).loss, expected.loss);
    c.policy[4] = undefined;
    std::vector<double> const w{2, 0};
    auto const s = evaluate_lists(plackett_luce{}, c.batch().with_weights(w), c.gradients());
    CHECK(s.lists == 1);
    CHECK_CLOSE(s.loss, 2 * loss_3, family::quoted);
    CHECK_CLOSE(c.d[0], 2 * slope_3[0], family::quoted);
    CHECK_SAME_BITS(c.d[3], 0.0);
    CHECK_SAME_BITS(c.d[4], 0.0);

    columns<double> none;
    auto const e = evaluate_lists(plackett_luce{}, none.batch(), none.gradients());
    CHECK(e.lists == 0);
    CHECK_SAME(e.loss, 0.0);
}

TEMPLATE_TEST_CASE("evaluate_lists: the element types agree", "", float, half) {
    auto c = of<TestType>({{3, 1, -2}, {5}});
    auto const s = evaluate_lists(plackett_luce{}, c.batch(), c.gradients());
    CHECK_CLOSE(static_cast<float>(s.loss), loss_3, family::reduction);
    for (std::size_t k = 0; k < 3; ++k) {
        CHECK(std::abs(static_cast<double>(static_cast<float>(c.d[k])) - slope_3[k]) < 1e-4);
    }
}

TEST_CASE("evaluate_lists: what is wrong is said before anything is written") {
    auto const fresh = of<double>({{3, 1, -2}, {6, 0}});
    auto c = fresh;
    auto const refuse_value = [&](auto const& batch, char const* words, plackett_luce loss = {},
                                  prefer::list_options options = {}) {
        CHECK_THROWS_MESSAGE(evaluate_lists(loss, batch, c.gradients(), options),
                             prefer::value_error, words);
        CHECK_THROWS_MESSAGE(evaluate_lists(loss, batch, options), prefer::value_error, words);
        CHECK_SAME(c.d, fresh.d);
    };
    c.policy[2] = undefined;
    refuse_value(c.batch(), "prefer::evaluate_lists: policy[2] is nan");
    c = fresh;
    c.reference[4] = undefined;
    refuse_value(c.batch(), "reference[4] is nan");
    c = fresh;
    std::vector<double> const negative{1, -1}, three{1, 1, 1};
    refuse_value(c.batch().with_weights(negative), "weights[1] is -1");
    refuse_value(list_batch{c.policy, c.offsets}, "needs the reference's log-probs");
    refuse_value(c.batch(), "beta is 0", {.beta = 0});
    refuse_value(c.batch(), "normalizer is 0", {}, {.normalizer = 0});

    auto const refuse_shape = [&](auto const& batch, char const* words) {
        CHECK_THROWS_MESSAGE(evaluate_lists(plackett_luce{}, batch, c.gradients()),
                             prefer::shape_error, words);
        CHECK_SAME(c.d, fresh.d);
    };
    refuse_shape(c.batch().with_weights(three), "weights has size 3");
    std::vector<int> const falling{0, 3, 2, 5}, few{0, 3}, none;
    refuse_shape(list_batch{c.policy, c.reference, falling}, "offsets[2] is 2");
    refuse_shape(list_batch{c.policy, c.reference, few}, "policy has size 5");
    refuse_shape(list_batch{c.policy, c.reference, none}, "offsets is empty");
    refuse_shape(list_batch{c.policy, three, c.offsets}, "reference has size 3");
    std::vector<double> narrow(3, -1);
    CHECK_THROWS_MESSAGE(evaluate_lists(plackett_luce{}, c.batch(), list_gradients{narrow}),
                         prefer::shape_error, "d_policy has size 3");
    CHECK_THROWS_MESSAGE(prefer::summarize(prefer::list_sums{}, {.normalizer = -1}),
                         prefer::value_error, "prefer::summarize: normalizer is -1");
}
