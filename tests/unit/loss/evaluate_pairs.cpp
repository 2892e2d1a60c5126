// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/loss.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

using prefer::bfloat16;
using prefer::evaluate_pairs;
using prefer::half;
using prefer::log_probs;
using prefer::pair;
using prefer::pair_batch;
using prefer::pair_gradients;
using prefer::shape_error;
using prefer::value_error;
using prefer::vector_view;
using prefer::loss::dpo;
using prefer::loss::ipo;
using prefer::loss::slic;
using prefer::test::family;

namespace {

double const undefined = std::numeric_limits<double>::quiet_NaN();
double const inf = std::numeric_limits<double>::infinity();
double const sentinel = -77.5;

/// Vectors of `B` pairs, with room for their gradients.
template <class T>
struct columns {
    std::vector<T> policy_chosen, policy_rejected, reference_chosen, reference_rejected;
    std::vector<int> length_chosen, length_rejected;
    std::vector<T> d_chosen, d_rejected;

    auto batch() const {
        return pair_batch{policy_chosen, policy_rejected, reference_chosen, reference_rejected};
    }
    auto gradients() { return pair_gradients{d_chosen, d_rejected}; }
};

/// Pairs with these margins of log-ratios: references -20 and -18, lengths 4 and 5.
template <class T>
columns<T> with_margins(std::vector<double> const& margins) {
    columns<T> c;
    for (double const h : margins) {
        c.policy_chosen.push_back(static_cast<T>(static_cast<prefer::compute_t<T>>(-20 + h)));
        c.policy_rejected.push_back(static_cast<T>(prefer::compute_t<T>(-18)));
        c.reference_chosen.push_back(static_cast<T>(prefer::compute_t<T>(-20)));
        c.reference_rejected.push_back(static_cast<T>(prefer::compute_t<T>(-18)));
        c.length_chosen.push_back(4);
        c.length_rejected.push_back(5);
    }
    T const empty = static_cast<T>(static_cast<prefer::compute_t<T>>(sentinel));
    c.d_chosen.assign(margins.size(), empty);
    c.d_rejected.assign(margins.size(), empty);
    return c;
}

/// z = 0.6, 0 and -1 at β = 0.1 (F18).
std::vector<double> const f18{6, 0, -10};
double const loss_06 = 0.43748795048588573;     // log(1 + e^-0.6)
double const loss_0 = 0.69314718055994531;      // log 2
double const loss_1 = 1.3132616875182228;       // log(1 + e)
double const slope_06 = -0.035434369377420455;  // -0.1·σ(-0.6)
double const slope_0 = -0.05;
double const slope_1 = -0.073105857863000488;  // -0.1·σ(1)

/// A loss as a user writes it: a smooth hinge in a dozen lines.
struct squared_hinge {
    double beta = 0.1;

    static constexpr prefer::pair_inputs inputs() { return {.reference = true, .lengths = false}; }

    template <class S>
    S operator()(pair<S> const& p) const {
        using prefer::math::max;
        S const gap = max(S(0), 1 - beta * p.margin());
        return gap * gap;
    }
};

bool all_are(double value, std::vector<double> const& d) {
    return std::all_of(d.begin(), d.end(), [&](double x) { return !(x < value || x > value); });
}

/// Nothing was written: the mistake is one of the call.
bool untouched(std::vector<double> const& d) {
    return all_are(sentinel, d);
}

/// Nothing of a batch with a bad number is left to train on.
bool discarded(std::vector<double> const& d) {
    return all_are(0, d);
}

}  // namespace

TEST_CASE("evaluate_pairs: the mean loss, its gradients and the metrics (F18)") {
    auto c = with_margins<double>(f18);
    auto const s = evaluate_pairs(dpo{.beta = 0.1}, c.batch(), c.gradients());
    CHECK(s.pairs == 3);
    CHECK_CLOSE(s.loss, 0.81463227285468459, family::reduction);
    CHECK_CLOSE(c.d_chosen, (std::array{slope_06 / 3, slope_0 / 3, slope_1 / 3}), family::gradient);
    CHECK_CLOSE(c.d_rejected, (std::array{-slope_06 / 3, -slope_0 / 3, -slope_1 / 3}),
                family::gradient);
    CHECK_CLOSE(s.accuracy, 0.5, family::reduction);  // right, tied, wrong
    CHECK_CLOSE(s.strict_accuracy, 1.0 / 3, family::reduction);
    CHECK_CLOSE(s.margin, -0.4 / 3, family::reduction);
    CHECK_CLOSE(s.reward_chosen, -0.4 / 3, family::reduction);
    CHECK_SAME(s.reward_rejected, 0.0);
    CHECK_CLOSE(s.log_prob_chosen, -20 - 4.0 / 3, family::reduction);
    CHECK_CLOSE(s.log_prob_rejected, -18.0, family::reduction);
    CHECK_CLOSE(s.gradient_scale, -(slope_06 + slope_0 + slope_1) / 3, family::reduction);
    CHECK_CLOSE(s.sums.weighted_loss, loss_06 + loss_0 + loss_1, family::reduction);
    CHECK_SAME(s.sums.correct, 1.0);
    CHECK_SAME(s.sums.ties, 1.0);
}

TEST_CASE("evaluate_pairs: policy equals reference: log 2, no rewards, ties (F16, G9)") {
    std::vector<double> const chosen{-11.3, -0.7};
    std::vector<double> const rejected{-7.9, -3.1};
    std::vector<double> dc(2), dr(2);
    // The same arrays in both slots give exactly nothing.
    auto const s = evaluate_pairs(dpo{}, pair_batch{chosen, rejected, chosen, rejected},
                                  pair_gradients{dc, dr});
    CHECK_CLOSE(s.loss, 0.693147180559945309417L, family::pair_loss);
    CHECK_SAME(s.reward_chosen, 0.0);
    CHECK_SAME(s.reward_rejected, 0.0);
    CHECK_SAME(s.margin, 0.0);
    CHECK_SAME(s.accuracy, 0.5);
    CHECK_SAME(s.strict_accuracy, 0.0);
    CHECK_CLOSE(dc, (std::array{-0.025, -0.025}), family::gradient);
    CHECK_CLOSE(dr, (std::array{0.025, 0.025}), family::gradient);
}

TEST_CASE("evaluate_pairs: any split with the global normalizer adds up (F18)") {
    std::vector<double> const margins{6, 0, -10, 3, 250, -4000, 1, 1, -2.5};
    auto whole = with_margins<double>(margins);
    auto const expected = evaluate_pairs(dpo{}, whole.batch(), whole.gradients());
    double const pairs = static_cast<double>(margins.size());
    for (std::size_t cut = 0; cut <= margins.size(); ++cut) {
        CAPTURE(cut);
        auto c = with_margins<double>(margins);
        auto const part = [&](std::size_t first, std::size_t count) {
            auto const of = [&](std::vector<double>& v) {
                return vector_view<double>(v.data(), v.size()).slice(first, count);
            };
            return evaluate_pairs(dpo{},
                                  pair_batch{of(c.policy_chosen), of(c.policy_rejected),
                                             of(c.reference_chosen), of(c.reference_rejected)},
                                  pair_gradients{of(c.d_chosen), of(c.d_rejected)},
                                  {.normalizer = pairs});
        };
        auto const a = part(0, cut);
        auto const b = part(cut, margins.size() - cut);
        CHECK_CLOSE(a.loss + b.loss, expected.loss, family::reduction);
        CHECK_SAME_BITS(c.d_chosen, whole.d_chosen);
        CHECK_SAME_BITS(c.d_rejected, whole.d_rejected);

        prefer::pair_sums sums = a.sums;
        sums += b.sums;
        auto const both = prefer::summarize(sums);
        CHECK(both.pairs == margins.size());
        CHECK_CLOSE(both.loss, expected.loss, family::reduction);
        CHECK_CLOSE(both.accuracy, expected.accuracy, family::reduction);
        CHECK_CLOSE(both.strict_accuracy, expected.strict_accuracy, family::reduction);
        CHECK_CLOSE(both.margin, expected.margin, family::reduction);
        CHECK_CLOSE(both.reward_chosen, expected.reward_chosen, family::reduction);
        CHECK_CLOSE(both.reward_rejected, expected.reward_rejected, family::reduction);
        CHECK_CLOSE(both.log_prob_chosen, expected.log_prob_chosen, family::reduction);
        CHECK_CLOSE(both.log_prob_rejected, expected.log_prob_rejected, family::reduction);
        CHECK_CLOSE(both.gradient_scale, expected.gradient_scale, family::reduction);
    }
    // The mean of the means of 1 + 2 pairs is not the mean.
    CHECK_DISTINGUISHES(0.814632273, 0.720346192, family::reduction);
}

TEST_CASE("evaluate_pairs: a normalizer divides the loss and the gradients, not the metrics") {
    auto c = with_margins<double>(f18);
    auto const s = evaluate_pairs(dpo{}, c.batch(), c.gradients(), {.normalizer = 6});
    CHECK_CLOSE(s.loss, (loss_06 + loss_0 + loss_1) / 6, family::reduction);
    CHECK_CLOSE(c.d_chosen, (std::array{slope_06 / 6, slope_0 / 6, slope_1 / 6}), family::gradient);
    CHECK_CLOSE(s.margin, -0.4 / 3, family::reduction);
    CHECK_CLOSE(s.gradient_scale, -(slope_06 + slope_0 + slope_1) / 3, family::reduction);
}

TEST_CASE("evaluate_pairs: a masked pair is not read, not counted, and gets gradient 0 (D8)") {
    auto c = with_margins<double>(f18);
    c.policy_chosen[1] = undefined;
    c.policy_rejected[1] = inf;
    c.reference_chosen[1] = -inf;
    c.reference_rejected[1] = undefined;
    std::vector<double> const mask{1, 0, 1};
    auto const s = evaluate_pairs(dpo{}, c.batch().with_weights(mask), c.gradients());
    CHECK(s.pairs == 2);
    CHECK_CLOSE(s.loss, 0.87537481900205427, family::reduction);
    CHECK_DISTINGUISHES(0.875374819, 0.583583213, family::reduction);  // divided by three
    CHECK_CLOSE(c.d_chosen, (std::array{slope_06 / 2, 0.0, slope_1 / 2}), family::gradient);
    CHECK_SAME_BITS(c.d_chosen[1], 0.0);
    CHECK_SAME_BITS(c.d_rejected[1], 0.0);
    CHECK_SAME(s.accuracy, 0.5);
    CHECK_CLOSE(s.margin, -0.2, family::reduction);
}

TEST_CASE("evaluate_pairs: a weight multiplies its pair's loss and gradient, and no metric") {
    auto c = with_margins<double>(f18);
    std::vector<double> const weights{2, 0.5, 1};
    auto const s = evaluate_pairs(dpo{}, c.batch().with_weights(weights), c.gradients());
    CHECK(s.pairs == 3);
    CHECK_CLOSE(s.loss, (2 * loss_06 + 0.5 * loss_0 + loss_1) / 3, family::reduction);
    CHECK_CLOSE(c.d_chosen, (std::array{2 * slope_06 / 3, slope_0 / 6, slope_1 / 3}),
                family::gradient);
    CHECK_CLOSE(s.margin, -0.4 / 3, family::reduction);
    CHECK_CLOSE(s.gradient_scale, -(slope_06 + slope_0 + slope_1) / 3, family::reduction);
}

TEST_CASE("evaluate_pairs: all masked, and no pairs at all, give 0 and say so (D8)") {
    auto c = with_margins<double>(f18);
    for (double& x : c.policy_chosen) x = undefined;
    std::vector<double> const mask(3, 0.0);
    auto const s = evaluate_pairs(dpo{}, c.batch().with_weights(mask), c.gradients());
    CHECK(s.pairs == 0);
    CHECK_SAME(s.loss, 0.0);
    CHECK_SAME(s.accuracy, 0.0);
    CHECK_SAME(s.margin, 0.0);
    CHECK_SAME(c.d_chosen, (std::array{0.0, 0.0, 0.0}));
    CHECK_SAME(c.d_rejected, (std::array{0.0, 0.0, 0.0}));
    CHECK_SAME(evaluate_pairs(dpo{}, c.batch().with_weights(mask), {.normalizer = 8}).loss, 0.0);

    columns<double> none;
    auto const e = evaluate_pairs(dpo{}, none.batch(), none.gradients());
    CHECK(e.pairs == 0);
    CHECK_SAME(e.loss, 0.0);
    CHECK_SAME(e.gradient_scale, 0.0);
}

TEST_CASE("evaluate_pairs: a batch of one is value_and_grad") {
    auto c = with_margins<double>({6});
    auto const s = evaluate_pairs(dpo{}, c.batch(), c.gradients());
    auto const y = prefer::loss::value_and_grad(dpo{}, pair<double>{{-14, -20, 1}, {-18, -18, 1}});
    CHECK_CLOSE(s.loss, y.loss, family::pair_loss);
    CHECK_CLOSE(c.d_chosen[0], y.d_chosen, family::pair_loss);
    CHECK_CLOSE(c.d_rejected[0], y.d_rejected, family::pair_loss);
    CHECK_SAME(s.accuracy, 1.0);
    CHECK_SAME(s.strict_accuracy, 1.0);
}

TEMPLATE_TEST_CASE("evaluate_pairs: inputs stay as they are (G6)", "", dpo, ipo, slic) {
    auto c = with_margins<double>({6, 0, -10, 3, 250, -4000});
    auto const before = c;
    auto const batch = c.batch().with_lengths(c.length_chosen, c.length_rejected);
    evaluate_pairs(TestType{}, batch, c.gradients(), {.normalizer = 7});
    CHECK_SAME_BITS(c.policy_chosen, before.policy_chosen);
    CHECK_SAME_BITS(c.policy_rejected, before.policy_rejected);
    CHECK_SAME_BITS(c.reference_chosen, before.reference_chosen);
    CHECK_SAME_BITS(c.reference_rejected, before.reference_rejected);
}

TEST_CASE("evaluate_pairs: the order of pairs does not matter, to rounding") {
    std::vector<double> margins;
    for (int i = 0; i < 200; ++i) margins.push_back((i * 37 % 101 - 50) * 0.5);
    auto c = with_margins<double>(margins);
    auto const forward = evaluate_pairs(dpo{}, c.batch(), c.gradients());
    std::vector<double> reversed(margins.rbegin(), margins.rend());
    auto r = with_margins<double>(reversed);
    auto const backward = evaluate_pairs(dpo{}, r.batch(), r.gradients());
    CHECK_CLOSE(backward.loss, forward.loss, family::reduction);
    CHECK_CLOSE(backward.margin, forward.margin, family::reduction);
    CHECK_SAME(backward.accuracy, forward.accuracy);
    std::reverse(r.d_chosen.begin(), r.d_chosen.end());
    CHECK_SAME_BITS(r.d_chosen, c.d_chosen);
}

TEST_CASE("evaluate_pairs: strided inputs and gradients, the places between left alone (G8)") {
    auto plain = with_margins<double>(f18);
    auto const expected = evaluate_pairs(dpo{}, plain.batch(), plain.gradients());
    // Interleaved: column 0 chosen, column 1 rejected; the rejected run backwards in memory.
    std::array<double, 6> policy{}, reference{}, gradient{};
    gradient.fill(sentinel);
    for (std::size_t i = 0; i < 3; ++i) {
        policy[2 * i] = plain.policy_chosen[i];
        policy[5 - 2 * i] = plain.policy_rejected[i];
        reference[2 * i] = plain.reference_chosen[i];
        reference[5 - 2 * i] = plain.reference_rejected[i];
    }
    auto const up = [](auto& a) { return vector_view(a.data(), 3, 2); };
    auto const down = [](auto& a) { return vector_view(a.data() + 5, 3, -2); };
    auto const s =
        evaluate_pairs(dpo{}, pair_batch{up(policy), down(policy), up(reference), down(reference)},
                       pair_gradients{up(gradient), down(gradient)});
    CHECK_SAME_BITS(s.loss, expected.loss);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK_SAME_BITS(gradient[2 * i], plain.d_chosen[i]);
        CHECK_SAME_BITS(gradient[5 - 2 * i], plain.d_rejected[i]);
    }

    std::array<double, 9> sparse{};
    sparse.fill(sentinel);
    std::vector<double> rejected(3);
    evaluate_pairs(dpo{}, plain.batch(),
                   pair_gradients{vector_view(sparse.data() + 1, 3, 3), rejected});
    for (std::size_t i = 0; i < 9; ++i) {
        CHECK_SAME_BITS(sparse[i], i % 3 == 1 ? plain.d_chosen[i / 3] : sentinel);
    }
}

TEMPLATE_TEST_CASE("evaluate_pairs: the element types agree (G3)", "", float, double, half,
                   bfloat16) {
    auto c = with_margins<TestType>(f18);  // these log-probs are exact in all of them
    auto const s = evaluate_pairs(dpo{}, c.batch(), c.gradients());
    using C = prefer::compute_t<TestType>;
    CHECK_CLOSE(static_cast<C>(s.loss), 0.81463227285468459, family::reduction);
    std::array const expected{slope_06 / 3, slope_0 / 3, slope_1 / 3};
    for (std::size_t i = 0; i < 3; ++i) {
        auto const d = static_cast<double>(static_cast<C>(c.d_chosen[i]));
        // One rounding to the stored type, of a float result.
        double const stored = std::is_same_v<TestType, bfloat16> ? 0x1p-8
                              : std::is_same_v<TestType, half>   ? 0x1p-11
                                                                 : 0;
        double const tolerance =
            std::max(stored, prefer::test::tolerance_of<C>(family::gradient).relative);
        CHECK(std::fabs(d - expected[i]) <= tolerance * std::fabs(expected[i]));
    }
    CHECK_SAME(s.accuracy, 0.5);
}

TEST_CASE("evaluate_pairs: half inputs are widened before any difference (G3)") {
    // 60000 - -60000 is infinite in half.
    std::vector<half> const chosen{half(-60000.0F)};
    std::vector<half> const rejected{half(-3.0F)};
    std::vector<half> const reference_chosen{half(-3.0F)};
    std::vector<half> const reference_rejected{half(-60000.0F)};
    std::vector<float> dc(1), dr(1);
    auto const s = evaluate_pairs(
        dpo{.beta = 1}, pair_batch{chosen, rejected, reference_chosen, reference_rejected},
        pair_gradients{dc, dr});
    // 60000 is exact in half: the margin is -2·59997.
    CHECK_CLOSE(static_cast<float>(s.loss), 119994.0, family::pair_loss);
    CHECK_SAME(dc[0], -1.0F);
    CHECK_SAME(dr[0], 1.0F);
}

TEST_CASE("evaluate_pairs: gradients may be of another element type than the log-probs") {
    auto c = with_margins<float>(f18);
    std::vector<double> dc(3), dr(3);
    evaluate_pairs(dpo{}, c.batch(), pair_gradients{dc, dr});
    evaluate_pairs(dpo{}, c.batch(), c.gradients());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK_SAME(dc[i], static_cast<double>(c.d_chosen[i]));
        CHECK_SAME(dr[i], static_cast<double>(c.d_rejected[i]));
    }
}

TEST_CASE("evaluate_pairs: losses that average use the lengths, of any integer type (F1)") {
    std::vector<double> const pc{-2}, pr{-8}, rc{-3}, rr{-6};
    auto const check = [&](auto const& lc, auto const& lr) {
        pair_batch const batch{pc, pr, rc, rr};
        CHECK_CLOSE(evaluate_pairs(ipo{}, batch.with_lengths(lc, lr)).loss, 16.0,
                    family::pair_loss);
        CHECK_CLOSE(evaluate_pairs(ipo{.margin_of = log_probs::summed}, batch).loss, 4.0,
                    family::pair_loss);
        CHECK_CLOSE(evaluate_pairs(dpo{}, batch.with_lengths(lc, lr)).loss, 0.554355244468526993,
                    family::pair_loss);
    };
    check(std::vector<std::int32_t>{2}, std::vector<std::int32_t>{4});
    check(std::vector<std::int64_t>{2}, std::vector<std::int64_t>{4});
    check(std::vector<std::uint8_t>{2}, std::vector<std::uint8_t>{4});
    check(std::vector<std::size_t>{2}, std::vector<std::size_t>{4});
}

TEST_CASE("evaluate_pairs: an empty response counts, with gradient 0 for its side") {
    auto c = with_margins<double>({2, 2});
    std::vector<int> const chosen{0, 4};
    std::vector<int> const rejected{5, 0};
    auto const s = evaluate_pairs(ipo{}, c.batch().with_lengths(chosen, rejected), c.gradients());
    CHECK(s.pairs == 2);
    CHECK(std::isfinite(s.loss));
    CHECK_SAME(c.d_chosen[0], 0.0);
    CHECK_SAME(c.d_rejected[1], 0.0);
    CHECK(c.d_chosen[1] < 0);
}

TEST_CASE("evaluate_pairs: rewards of a reference-free loss are its log-probs") {
    auto c = with_margins<double>({6});
    auto const free = evaluate_pairs(slic{}, pair_batch{c.policy_chosen, c.policy_rejected});
    CHECK_SAME(free.reward_chosen, -14.0);
    CHECK_SAME(free.margin, 4.0);
    // A reference that is there changes nothing for a loss that does not read it.
    auto const given = evaluate_pairs(slic{}, c.batch());
    CHECK_SAME_BITS(given.loss, free.loss);
    CHECK_SAME_BITS(given.reward_chosen, free.reward_chosen);
    CHECK_SAME_BITS(given.margin, free.margin);
}

TEST_CASE("evaluate_pairs: a user's struct has exact gradients and everything else") {
    auto c = with_margins<double>({6, 0, -10, 30});
    auto const s = evaluate_pairs(squared_hinge{}, c.batch(), c.gradients(), {.normalizer = 1});
    // (1 - z)² with slope -2β(1 - z), for z = 0.6, 0, -1; nothing at z = 3.
    CHECK_CLOSE(s.loss, 0.16 + 1 + 4, family::reduction);
    CHECK_CLOSE(c.d_chosen, (std::array{-0.08, -0.2, -0.4, 0.0}), family::gradient);
    CHECK_CLOSE(c.d_rejected, (std::array{0.08, 0.2, 0.4, 0.0}), family::gradient);
    CHECK_CLOSE(s.reward_chosen, 0.65, family::reduction);  // its beta scales the rewards
    CHECK_THROWS_MESSAGE(
        evaluate_pairs(squared_hinge{}, pair_batch{c.policy_chosen, c.policy_rejected}),
        value_error, "needs the reference");
}

TEST_CASE("evaluate_pairs: a user's lambda has exact gradients") {
    auto const cubic = [](auto const& p) {
        auto const gap = 1 - 0.1 * p.margin();
        return gap * gap * gap;
    };
    auto c = with_margins<double>({6, 0, -10});
    auto const s = evaluate_pairs(cubic, c.batch(), c.gradients(), {.normalizer = 1});
    CHECK_CLOSE(s.loss, 0.064 + 1 + 8, family::reduction);
    CHECK_CLOSE(c.d_chosen, (std::array{-0.048, -0.3, -1.2}), family::gradient);
    CHECK_CLOSE(s.margin, -4.0 / 3, family::reduction);  // no beta: rewards are log-ratios
    auto f = with_margins<float>({6, 0, -10});
    CHECK_CLOSE(static_cast<float>(evaluate_pairs(cubic, f.batch(), f.gradients()).loss), 9.064 / 3,
                family::reduction);

    auto const free = [](auto const& p) { return p.rejected.policy - p.chosen.policy; };
    auto const r = evaluate_pairs(free, pair_batch{c.policy_chosen, c.policy_rejected});
    CHECK_CLOSE(r.reward_chosen, -20 - 4.0 / 3, family::reduction);  // no reference: log-probs
}

TEST_CASE("evaluate_pairs: each argument of another size is named, and nothing is written") {
    auto c = with_margins<double>(f18);
    std::vector<double> const two(2, -1.0);
    std::vector<int> const short_lengths(2, 4);
    auto const& pc = c.policy_chosen;
    auto const& pr = c.policy_rejected;
    auto const& rc = c.reference_chosen;
    auto const& rr = c.reference_rejected;
    auto const refuse = [&](auto const& batch, char const* words) {
        CHECK_THROWS_MESSAGE(evaluate_pairs(dpo{}, batch, c.gradients()), shape_error, words);
        CHECK_THROWS_MESSAGE(evaluate_pairs(dpo{}, batch), shape_error, words);
        CHECK(untouched(c.d_chosen));
        CHECK(untouched(c.d_rejected));
    };
    refuse(pair_batch{pc, two, rc, rr}, "policy_rejected has size 2, but policy_chosen has size 3");
    refuse(pair_batch{pc, pr, two, rr}, "reference_chosen has size 2");
    refuse(pair_batch{pc, pr, rc, two}, "reference_rejected has size 2");
    refuse(c.batch().with_weights(two), "weights has size 2");
    refuse(c.batch().with_lengths(short_lengths, c.length_rejected), "length_chosen has size 2");
    refuse(c.batch().with_lengths(c.length_chosen, short_lengths), "length_rejected has size 2");

    std::vector<double> narrow(2, sentinel);
    CHECK_THROWS_MESSAGE(evaluate_pairs(dpo{}, c.batch(), pair_gradients{narrow, c.d_rejected}),
                         shape_error, "d_policy_chosen has size 2");
    CHECK_THROWS_MESSAGE(evaluate_pairs(dpo{}, c.batch(), pair_gradients{c.d_chosen, narrow}),
                         shape_error, "d_policy_rejected has size 2");
    CHECK(untouched(narrow));
    CHECK(untouched(c.d_chosen));
    CHECK(untouched(c.d_rejected));
}

TEST_CASE("evaluate_pairs: a bad number is named with its place, and no gradient is left") {
    auto const fresh = with_margins<double>(f18);
    auto const refuse = [](auto loss, columns<double>& c, auto const& batch, char const* words,
                           prefer::pair_options options = {}) {
        CHECK_THROWS_MESSAGE(evaluate_pairs(loss, batch, c.gradients(), options), value_error,
                             words);
        CHECK_THROWS_MESSAGE(evaluate_pairs(loss, batch, options), value_error, words);
        CHECK(discarded(c.d_chosen));
        CHECK(discarded(c.d_rejected));
    };
    for (double const bad : {undefined, inf, -inf}) {
        CAPTURE(bad);
        auto c = fresh;
        c.policy_chosen[2] = bad;
        refuse(dpo{}, c, c.batch(), "prefer::evaluate_pairs: policy_chosen[2] is ");
        c = fresh;
        c.policy_rejected[1] = bad;
        refuse(dpo{}, c, c.batch(), "policy_rejected[1] is ");
        c = fresh;
        c.reference_chosen[0] = bad;
        refuse(dpo{}, c, c.batch(), "reference_chosen[0] is ");
        c = fresh;
        c.reference_rejected[2] = bad;
        refuse(dpo{}, c, c.batch(), "reference_rejected[2] is ");
        c = fresh;
        std::vector<double> const weights{1, 1, bad};
        refuse(dpo{}, c, c.batch().with_weights(weights), "weights[2] is ");
    }
    auto c = fresh;
    std::vector<double> const negative{1, -0.5, 1};
    refuse(dpo{}, c, c.batch().with_weights(negative),
           "weights[1] is -0.5, but must be finite and at least 0");
    std::vector<int> const lengths{4, 4, -1};
    refuse(dpo{}, c, c.batch().with_lengths(lengths, c.length_rejected),
           "length_chosen[2] is -1, but must be at least 0");
    refuse(dpo{}, c, c.batch().with_lengths(c.length_chosen, lengths), "length_rejected[2] is -1");
}

TEST_CASE("evaluate_pairs: a wrong option is refused before anything is written") {
    auto c = with_margins<double>(f18);
    auto const refuse = [&](auto loss, char const* words, prefer::pair_options options = {}) {
        CHECK_THROWS_MESSAGE(evaluate_pairs(loss, c.batch(), c.gradients(), options), value_error,
                             words);
        CHECK_THROWS_MESSAGE(evaluate_pairs(loss, c.batch(), options), value_error, words);
        CHECK(untouched(c.d_chosen));
        CHECK(untouched(c.d_rejected));
    };
    for (double const bad : {0.0, -3.0, undefined, inf}) {
        refuse(dpo{}, "normalizer is ", {.normalizer = bad});
    }
    refuse(dpo{.beta = 0}, "prefer::loss::dpo: beta is 0");
    refuse(dpo{.beta = 0.1, .label_smoothing = 0.5}, "label_smoothing is 0.5");
}

TEST_CASE("evaluate_pairs: an input that the loss needs and the batch lacks is an error") {
    auto c = with_margins<double>(f18);
    pair_batch const free{c.policy_chosen, c.policy_rejected};
    CHECK_THROWS_MESSAGE(evaluate_pairs(dpo{}, free, c.gradients()), value_error,
                         "needs the reference's log-probs, but the batch has none");
    CHECK_THROWS_MESSAGE(evaluate_pairs(ipo{}, c.batch(), c.gradients()), value_error,
                         "averages over tokens, but the batch has no lengths");
    slic const averaged{.nll_of = log_probs::averaged};
    CHECK_THROWS_MESSAGE(evaluate_pairs(averaged, free, c.gradients()), value_error, "no lengths");
    CHECK(untouched(c.d_chosen));
    CHECK(untouched(c.d_rejected));
    // An undeclared need shows as NaN, and is refused as well.
    auto const reads_anyway = [](auto const& p) { return -p.margin(); };
    CHECK_THROWS_MESSAGE(evaluate_pairs(reads_anyway, free, c.gradients()), value_error,
                         "the loss is NaN at pair 0, though its inputs are finite");
    CHECK(discarded(c.d_chosen));
    CHECK(discarded(c.d_rejected));
    // Also where there are no pairs: the mistake is in the call.
    columns<double> none;
    pair_batch const nothing{none.policy_chosen, none.policy_rejected};
    CHECK_THROWS_AS(evaluate_pairs(dpo{}, nothing), value_error);
}

TEST_CASE("evaluate_pairs: a loss that is NaN is refused, at the first counted pair where it is") {
    auto c = with_margins<double>(f18);
    std::vector<double> const mask{0, 1, 1};
    auto const broken = [](auto const& p) { return p.margin() / 0 * 0; };
    CHECK_THROWS_MESSAGE(evaluate_pairs(broken, c.batch().with_weights(mask), c.gradients()),
                         value_error, "NaN at pair 1");
    CHECK(discarded(c.d_chosen));
}

TEST_CASE("summarize: sums of no pairs, and of an explicit normalizer") {
    CHECK_SAME(prefer::summarize({}).loss, 0.0);
    CHECK(prefer::summarize({}).pairs == 0);
    prefer::pair_sums const sums{.pairs = 4, .weighted_loss = 6, .correct = 1, .ties = 2};
    CHECK_SAME(prefer::summarize(sums).loss, 1.5);
    CHECK_SAME(prefer::summarize(sums, {.normalizer = 12}).loss, 0.5);
    CHECK_SAME(prefer::summarize(sums).accuracy, 0.5);
    CHECK_SAME(prefer::summarize(sums).strict_accuracy, 0.25);
}

TEST_CASE("summarize: a normalizer that is no divisor is an error") {
    prefer::pair_sums const sums{.pairs = 2, .weighted_loss = 3};
    CHECK_SAME(prefer::summarize(sums).loss, 1.5);
    CHECK_SAME(prefer::summarize(sums, {.normalizer = 4.0}).loss, 0.75);
    for (double const bad : {0.0, -1.0, inf, undefined}) {
        CHECK_THROWS_MESSAGE(prefer::summarize(sums, {.normalizer = bad}), value_error,
                             "prefer::summarize: normalizer is ");
    }
}
