// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/loss/evaluate_examples.hpp>
#include <prefer/loss/sft.hpp>

#include <limits>
#include <vector>

using prefer::evaluate_examples;
using prefer::example;
using prefer::example_batch;
using prefer::example_gradients;
using prefer::log_probs;
using prefer::pair_batch;
using prefer::loss::sft;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("sft: the negative log-likelihood, summed or averaged") {
    CHECK_SAME(sft{}.weight, 1.0);
    CHECK((sft{}.of == log_probs::summed));
    CHECK_FALSE(sft{}.inputs().reference);
    CHECK_FALSE(sft{}.inputs().lengths);
    CHECK((sft{.of = log_probs::averaged}.inputs().lengths));
    example<double> const x{{-6, 0, 4}};
    CHECK_SAME(sft{}(x), 6.0);
    CHECK_SAME((sft{.weight = 0.5}(x)), 3.0);
    CHECK_SAME((sft{.of = log_probs::averaged}(x)), 1.5);
    CHECK_SAME(value_and_grad(sft{.weight = 2}, x).d_policy, -2.0);
    CHECK_SAME(value_and_grad(sft{.of = log_probs::averaged}, x).d_policy, -0.25);
    auto const empty = value_and_grad(sft{.of = log_probs::averaged}, example<double>{{0, 0, 0}});
    CHECK_SAME(empty.loss, 0.0);
    CHECK_SAME(empty.d_policy, 0.0);
}

TEST_CASE("sft: a label of 0 leaves the response alone, a missing label is 1") {
    CHECK_SAME(sft{}(example<double>{{-6, 0, 4}, 0}), 0.0);
    CHECK_SAME(value_and_grad(sft{}, example<double>{{-6, 0, 4}, 0}).d_policy, 0.0);
    std::vector<double> const policy{-6, -2};
    CHECK_SAME(evaluate_examples(sft{}, example_batch{policy}).loss, 4.0);
    std::vector<int> const labels{0, 1};
    CHECK_SAME(evaluate_examples(sft{}, example_batch{policy}.with_labels(labels)).loss, 1.0);
}

TEST_CASE("sft: on the winners of pairs it is the Bo2 loss of 2405.08448") {
    std::vector<double> const pc{-6, -2}, pr{-3, -50};
    std::vector<double> d(2);
    auto const s =
        evaluate_examples(sft{}, chosen_examples(pair_batch{pc, pr}), example_gradients{d});
    CHECK_SAME(s.loss, 4.0);
    CHECK_SAME(d[0], -0.5);
    CHECK_SAME(d[1], -0.5);
    CHECK_SAME(s.desirable.log_prob, -4.0);
    CHECK(s.undesirable.examples == 0);
    // The losers get nothing.
    auto const losers =
        evaluate_examples(sft{}, rejected_examples(pair_batch{pc, pr}), example_gradients{d});
    CHECK_SAME(losers.loss, 0.0);
    CHECK_SAME(d[0], 0.0);
}

TEST_CASE("sft: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (double const bad : {-1.0, nan}) {
        CHECK_THROWS_MESSAGE((sft{.weight = bad}.validate()), prefer::value_error,
                             "prefer::loss::sft: weight is ");
    }
    sft const bad{.of = static_cast<log_probs>(7)};
    CHECK_THROWS_MESSAGE(bad.validate(), prefer::value_error, "prefer::loss::sft: of is 7");
}
