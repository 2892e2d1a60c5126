// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/examples.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/loss/evaluate_examples.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

using prefer::bfloat16;
using prefer::evaluate_examples;
using prefer::example;
using prefer::example_batch;
using prefer::example_gradients;
using prefer::half;
using prefer::log_probs;
using prefer::shape_error;
using prefer::value_error;
using prefer::vector_view;
using prefer::loss::kto;
using prefer::loss::sft;
using prefer::test::family;

namespace {

double const undefined = std::numeric_limits<double>::quiet_NaN();
double const inf = std::numeric_limits<double>::infinity();
double const sentinel = -77.5;

/// Vectors of `B` examples, with room for their gradients.
template <class T>
struct columns {
    std::vector<T> policy, reference, score, d;
    std::vector<int> labels, lengths;

    auto batch() const { return example_batch{policy, reference}.with_labels(labels); }
    auto full() const { return batch().with_lengths(lengths); }
    auto gradients() { return example_gradients{d}; }
};

/// Examples with these log-ratios; label 1 where the ratio's place is even. References -20.
template <class T>
columns<T> with_ratios(std::vector<double> const& ratios) {
    auto const stored = [](double x) {
        return static_cast<T>(static_cast<prefer::compute_t<T>>(x));
    };
    columns<T> c;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
        c.policy.push_back(stored(-20 + ratios[i]));
        c.reference.push_back(stored(-20));
        c.score.push_back(stored(0.5 * static_cast<double>(i)));
        c.d.push_back(stored(sentinel));
        c.labels.push_back(i % 2 == 0 ? 1 : 0);
        c.lengths.push_back(4 + static_cast<int>(i % 3));
    }
    return c;
}

/// 1 - σ(0.6), σ(0), 1 - σ(-1) at β = 0.1.
std::vector<double> const ratios{6, 0, -10};
double const at_06 = 0.354343693774204547;
double const at_1 = 0.731058578630004879;
double const slope_06 = -0.0228784240456657;  // -0.1·σ(0.6)·σ(-0.6)
double const slope_1 = -0.0196611933241482;

/// A loss as a user writes it.
struct squared {
    double beta = 0.5;

    template <class S>
    S operator()(example<S> const& x) const {
        using real = prefer::math::primal_t<S>;
        S const gap = x.completion.log_ratio() - x.label;
        return real(beta) * gap * gap;
    }
};

bool untouched(std::vector<double> const& d) {
    return std::all_of(d.begin(), d.end(),
                       [](double x) { return !(x < sentinel || x > sentinel); });
}

/// The columns of a loss that are given to it, whatever it reads.
template <class L, class T>
auto batch_for(L const& loss, columns<T> const& c) {
    auto batch = c.full().with_scores(c.score);
    batch.has_scores = loss.inputs().scores;
    return batch;
}

}  // namespace

TEST_CASE("evaluate_examples: the mean loss, its gradients and the metrics of either kind") {
    auto c = with_ratios<double>(ratios);
    auto const s = evaluate_examples(kto{}, c.batch(), c.gradients());
    CHECK(s.examples == 3);
    CHECK(s.desirable.examples == 2);
    CHECK(s.undesirable.examples == 1);
    CHECK_CLOSE(s.loss, (at_06 + 0.5 + at_1) / 3, family::reduction);
    CHECK_CLOSE(c.d, (std::array{slope_06 / 3, 0.025 / 3, slope_1 / 3}), family::quoted);
    CHECK_CLOSE(s.desirable.loss, (at_06 + at_1) / 2, family::reduction);
    CHECK_CLOSE(s.undesirable.loss, 0.5, family::reduction);
    CHECK_CLOSE(s.desirable.reward, -0.2, family::reduction);
    CHECK_SAME(s.undesirable.reward, 0.0);
    CHECK_CLOSE(s.desirable.log_prob, -22.0, family::reduction);
    CHECK_CLOSE(s.undesirable.log_prob, -20.0, family::reduction);
    CHECK_CLOSE(s.gradient_scale, (0.025 - slope_06 - slope_1) / 3, family::quoted);
    CHECK_SAME(s.sums.examples(), 3.0);
}

TEST_CASE("evaluate_examples: any split with the global normalizer adds up (F18)") {
    std::vector<double> const all{6, 0, -10, 3, 250, -4000, 1, 1, -2.5};
    auto whole = with_ratios<double>(all);
    auto const expected = evaluate_examples(kto{}, whole.batch(), whole.gradients());
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
        CAPTURE(cut);
        auto c = with_ratios<double>(all);
        auto const part = [&](std::size_t first, std::size_t count) {
            auto const of = [&](auto& v) { return std::span(v).subspan(first, count); };
            return evaluate_examples(
                kto{}, example_batch{of(c.policy), of(c.reference)}.with_labels(of(c.labels)),
                example_gradients{of(c.d)}, {.normalizer = 9});
        };
        auto const a = part(0, cut);
        auto const b = part(cut, all.size() - cut);
        CHECK_CLOSE(a.loss + b.loss, expected.loss, family::reduction);
        CHECK_SAME_BITS(c.d, whole.d);
        prefer::example_sums sums = a.sums;
        sums += b.sums;
        auto const both = prefer::summarize(sums);
        CHECK(both.examples == 9);
        CHECK(both.desirable.examples == 5);
        CHECK_CLOSE(both.loss, expected.loss, family::reduction);
        CHECK_CLOSE(both.desirable.loss, expected.desirable.loss, family::reduction);
        CHECK_CLOSE(both.undesirable.loss, expected.undesirable.loss, family::reduction);
        CHECK_CLOSE(both.desirable.reward, expected.desirable.reward, family::reduction);
        CHECK_CLOSE(both.undesirable.log_prob, expected.undesirable.log_prob, family::reduction);
        CHECK_CLOSE(both.gradient_scale, expected.gradient_scale, family::reduction);
    }
}

TEST_CASE("evaluate_examples: the order of the examples does not matter") {
    std::vector<double> many;
    for (int i = 0; i < 101; ++i) many.push_back((i * 37 % 101 - 50) * 0.5);
    auto c = with_ratios<double>(many);  // of odd size, so that labels reverse to themselves
    auto const forward = evaluate_examples(kto{}, c.batch(), c.gradients());
    std::reverse(many.begin(), many.end());
    auto r = with_ratios<double>(many);
    auto const backward = evaluate_examples(kto{}, r.batch(), r.gradients());
    CHECK_CLOSE(backward.loss, forward.loss, family::reduction);
    CHECK_CLOSE(backward.desirable.reward, forward.desirable.reward, family::reduction);
    CHECK(backward.desirable.examples == forward.desirable.examples);
    std::reverse(r.d.begin(), r.d.end());
    CHECK_SAME_BITS(r.d, c.d);
}

TEMPLATE_LIST_TEST_CASE("evaluate_examples: a batch is its examples; with and without gradients "
                        "the value is the same (G6)",
                        "", prefer::test::example_losses) {
    std::vector<double> const all{6, 0, -10, 3, 250, -400, 1};
    for (TestType const& loss : prefer::test::example_facts<TestType>::instances()) {
        auto c = with_ratios<double>(all);
        auto const batch = batch_for(loss, c);
        if (!loss.inputs().lengths) {
            // Lengths are no statement about the loss: what does not average ignores them.
            CHECK_NOTHROW(evaluate_examples(loss, batch));
        }
        auto const s = evaluate_examples(loss, batch, c.gradients(), {.normalizer = 1});
        CHECK_SAME_BITS(evaluate_examples(loss, batch, {.normalizer = 1}).loss, s.loss);
        double sum = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            example<double> const x{
                {c.policy[i], c.reference[i], static_cast<double>(c.lengths[i]), c.score[i]},
                static_cast<double>(c.labels[i])};
            auto const y = prefer::loss::value_and_grad(loss, x);
            CHECK_CLOSE(c.d[i], y.d_policy, family::pair_loss);
            sum += y.loss;
        }
        CHECK_CLOSE(s.loss, sum, family::reduction);
    }
}

TEST_CASE("evaluate_examples: weights multiply, weight 0 masks, the metrics have none") {
    auto c = with_ratios<double>(ratios);
    c.policy[1] = undefined;
    c.reference[1] = inf;
    c.labels[1] = 7;
    std::vector<double> const w{2, 0, 1};
    auto const s = evaluate_examples(kto{}, c.batch().with_weights(w), c.gradients());
    CHECK(s.examples == 2);
    CHECK(s.undesirable.examples == 0);
    CHECK_CLOSE(s.loss, (2 * at_06 + at_1) / 2, family::reduction);
    CHECK_CLOSE(c.d, (std::array{slope_06, 0.0, slope_1 / 2}), family::quoted);
    CHECK_SAME_BITS(c.d[1], 0.0);
    CHECK_CLOSE(s.desirable.loss, (at_06 + at_1) / 2, family::reduction);

    std::vector<double> const none(3, 0.0);
    auto const nothing = evaluate_examples(kto{}, c.batch().with_weights(none), c.gradients());
    CHECK(nothing.examples == 0);
    CHECK_SAME(nothing.loss, 0.0);
    CHECK_SAME(c.d, (std::array{0.0, 0.0, 0.0}));
    columns<double> empty;
    CHECK_SAME(evaluate_examples(kto{}, empty.batch(), empty.gradients()).loss, 0.0);
}

TEST_CASE("evaluate_examples: one kind only, and none of the other (K3)") {
    auto c = with_ratios<double>(ratios);
    for (int const label : {0, 1}) {
        c.labels.assign(3, label);
        auto const s = evaluate_examples(kto{}, c.batch(), c.gradients());
        auto const& present = label == 1 ? s.desirable : s.undesirable;
        auto const& absent = label == 1 ? s.undesirable : s.desirable;
        CHECK(present.examples == 3);
        CHECK_CLOSE(present.loss, s.loss, family::reduction);
        CHECK(absent.examples == 0);
        CHECK_SAME(absent.loss, 0.0);
        CHECK_SAME(absent.reward, 0.0);
        CHECK_SAME(absent.log_prob, 0.0);
        for (double const d : c.d) CHECK(std::isfinite(d));
    }
}

TEST_CASE("evaluate_examples: both sides of paired data, by one normalizer") {
    std::vector<double> const pc{-14, -30}, pr{-20, -20}, reference{-20, -20};
    std::vector<double> dc(2), dr(2);
    prefer::pair_batch const pairs{pc, pr, reference, reference};
    auto const a =
        evaluate_examples(kto{}, chosen_examples(pairs), example_gradients{dc}, {.normalizer = 4});
    auto const b = evaluate_examples(kto{}, rejected_examples(pairs), example_gradients{dr},
                                     {.normalizer = 4});
    CHECK_CLOSE(a.loss + b.loss, (at_06 + at_1 + 1) / 4, family::reduction);
    CHECK_CLOSE(dc, (std::array{slope_06 / 4, slope_1 / 4}), family::quoted);
    CHECK_CLOSE(dr, (std::array{0.00625, 0.00625}), family::gradient);
    auto sums = a.sums;
    sums += b.sums;
    CHECK(prefer::summarize(sums).desirable.examples == 2);
    CHECK(prefer::summarize(sums).undesirable.examples == 2);
}

TEST_CASE("evaluate_examples: strided inputs and gradients, the places between left alone (G8)") {
    auto plain = with_ratios<double>(ratios);
    auto const expected = evaluate_examples(kto{}, plain.batch(), plain.gradients());
    std::array<double, 6> policy{}, gradient{};
    gradient.fill(sentinel);
    for (std::size_t i = 0; i < 3; ++i) policy[5 - 2 * i] = plain.policy[i];
    example_batch const batch{vector_view(policy.data() + 5, 3, -2), plain.reference};
    auto const s = evaluate_examples(kto{}, batch.with_labels(plain.labels),
                                     example_gradients{vector_view(gradient.data(), 3, 2)});
    CHECK_SAME_BITS(s.loss, expected.loss);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK_SAME_BITS(gradient[2 * i], plain.d[i]);
        CHECK_SAME_BITS(gradient[2 * i + 1], sentinel);
    }
}

TEMPLATE_TEST_CASE("evaluate_examples: the element types agree (G3)", "", float, double, half,
                   bfloat16) {
    auto c = with_ratios<TestType>(ratios);
    auto const s = evaluate_examples(kto{}, c.batch(), c.gradients());
    using C = prefer::compute_t<TestType>;
    CHECK_CLOSE(static_cast<C>(s.loss), (at_06 + 0.5 + at_1) / 3, family::reduction);
    std::array const expected{slope_06 / 3, 0.025 / 3, slope_1 / 3};
    for (std::size_t i = 0; i < 3; ++i) {
        auto const d = static_cast<double>(static_cast<C>(c.d[i]));
        CHECK(std::fabs(d - expected[i]) <= 0x1p-8 * std::fabs(expected[i]));
    }
    // Labels of the same type as the log-probs.
    std::vector<TestType> labels;
    for (int const label : c.labels) labels.push_back(static_cast<TestType>(static_cast<C>(label)));
    auto const same = evaluate_examples(
        kto{}, example_batch{c.policy, c.reference}.with_labels(labels), c.gradients());
    CHECK_SAME_BITS(same.loss, s.loss);
}

TEST_CASE("evaluate_examples: a user's struct and lambda have exact gradients") {
    auto c = with_ratios<double>({2, 2, -3});
    auto const s = evaluate_examples(squared{}, c.batch(), c.gradients(), {.normalizer = 1});
    CHECK_CLOSE(s.loss, 0.5 * (1 + 4 + 16), family::reduction);
    CHECK_CLOSE(c.d, (std::array{1.0, 2.0, -4.0}), family::gradient);
    CHECK_CLOSE(s.desirable.reward, -0.25, family::reduction);  // its beta scales the rewards
    auto const free = [](auto const& x) { return -x.completion.policy; };
    auto const f = evaluate_examples(free, example_batch{c.policy}, c.gradients());
    CHECK_CLOSE(f.loss, 20 - 1.0 / 3, family::reduction);
    CHECK_SAME(f.desirable.reward, f.desirable.log_prob);
}

TEST_CASE("evaluate_examples: each argument of another size is named, and nothing is written") {
    auto c = with_ratios<double>(ratios);
    std::vector<double> const two(2, -1.0);
    std::vector<int> const short_ints(2, 1);
    auto const refuse = [&](auto const& batch, char const* words) {
        CHECK_THROWS_MESSAGE(evaluate_examples(kto{}, batch, c.gradients()), shape_error, words);
        CHECK_THROWS_MESSAGE(evaluate_examples(kto{}, batch), shape_error, words);
        CHECK(untouched(c.d));
    };
    refuse(example_batch{c.policy, two}.with_labels(c.labels),
           "prefer::evaluate_examples: reference has size 2, but policy has size 3");
    refuse(c.batch().with_labels(short_ints), "labels has size 2");
    refuse(c.batch().with_lengths(short_ints), "lengths has size 2");
    refuse(c.batch().with_scores(two), "scores has size 2");
    refuse(c.batch().with_weights(two), "weights has size 2");
    std::vector<double> narrow(2, sentinel);
    CHECK_THROWS_MESSAGE(evaluate_examples(kto{}, c.batch(), example_gradients{narrow}),
                         shape_error, "d_policy has size 2");
    CHECK(untouched(narrow));
}

TEST_CASE("evaluate_examples: a bad number is named with its place") {
    auto const fresh = with_ratios<double>(ratios);
    auto const refuse = [](auto const& loss, auto const& batch, char const* words,
                           prefer::example_options options = {}) {
        std::vector<double> d(3);
        CHECK_THROWS_MESSAGE(evaluate_examples(loss, batch, example_gradients{d}, options),
                             value_error, words);
        CHECK_THROWS_MESSAGE(evaluate_examples(loss, batch, options), value_error, words);
        CHECK_SAME(d, (std::array{0.0, 0.0, 0.0}));
    };
    for (double const bad : {undefined, inf, -inf}) {
        auto c = fresh;
        c.policy[2] = bad;
        refuse(kto{}, c.batch(), "prefer::evaluate_examples: policy[2] is ");
        c = fresh;
        c.reference[1] = bad;
        refuse(kto{}, c.batch(), "reference[1] is ");
        c = fresh;
        c.score[1] = bad;
        refuse(prefer::loss::aot_unpaired{}, c.batch().with_scores(c.score), "scores[1] is ");
        std::vector<double> const weights{1, 1, bad};
        c = fresh;
        refuse(kto{}, c.batch().with_weights(weights), "weights[2] is ");
        refuse(kto{}, c.batch(), "normalizer is ", {.normalizer = bad});
    }
    auto c = fresh;
    std::vector<double> const negative{1, -0.5, 1};
    refuse(kto{}, c.batch().with_weights(negative),
           "weights[1] is -0.5, but must be finite and at least 0");
    c.lengths[2] = -1;
    refuse(sft{.of = log_probs::averaged}, c.full(), "lengths[2] is -1, but must be at least 0");
    c = fresh;
    c.labels[1] = 2;
    refuse(kto{}, c.batch(), "labels[1] is 2, but must be 0 or 1");
    refuse(squared{}, c.batch(), "labels[1] is 2, but must be in [0, 1]");
    std::vector<double> const soft{1, 0.5, 0};
    refuse(kto{}, c.batch().with_labels(soft), "labels[1] is 0.5, but must be 0 or 1");
    CHECK_NOTHROW(evaluate_examples(squared{}, c.batch().with_labels(soft)));
    refuse(kto{.beta = 0}, fresh.batch(), "prefer::loss::kto: beta is 0");
}

TEST_CASE("evaluate_examples: an input that is lacking, or would be ignored, is an error") {
    auto c = with_ratios<double>(ratios);
    auto const refuse = [&](auto const& loss, auto const& batch, char const* words) {
        CHECK_THROWS_MESSAGE(evaluate_examples(loss, batch, c.gradients()), value_error, words);
        CHECK(untouched(c.d));
    };
    refuse(kto{}, example_batch{c.policy}.with_labels(c.labels), "needs the reference's log-probs");
    refuse(kto{}, example_batch{c.policy, c.reference}, "reads labels, but the batch has none");
    refuse(sft{.of = log_probs::averaged}, c.batch(), "no lengths");
    refuse(prefer::loss::aot_unpaired{}, c.batch(), "scores");
    refuse(kto{}, c.batch().with_scores(c.score), "reads no scores, but the batch has some");
    auto const reads_anyway = [](auto const& x) { return x.completion.log_ratio(); };
    CHECK_THROWS_MESSAGE(evaluate_examples(reads_anyway, example_batch{c.policy}), value_error,
                         "the loss is NaN at example 0, though its inputs are finite");
}

TEST_CASE("summarize: sums of examples") {
    prefer::example_sums sums;
    CHECK_SAME(prefer::summarize(sums).loss, 0.0);
    CHECK(prefer::summarize(sums).examples == 0);
    sums.weighted_loss = 6;
    sums.desirable = {3, 1.5, 0.75, -30};
    sums.undesirable = {1, 4, -1, -7};
    auto const s = prefer::summarize(sums);
    CHECK_SAME(s.loss, 1.5);
    CHECK_SAME(s.desirable.loss, 0.5);
    CHECK_SAME(s.desirable.log_prob, -10.0);
    CHECK_SAME(s.undesirable.reward, -1.0);
    CHECK_SAME(prefer::summarize(sums, {.normalizer = 12}).loss, 0.5);
    CHECK_THROWS_MESSAGE(prefer::summarize(sums, {.normalizer = 0}), value_error,
                         "prefer::summarize: normalizer is 0");
}
