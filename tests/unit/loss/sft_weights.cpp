// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/loss/evaluate_examples.hpp>
#include <prefer/loss/sft.hpp>
#include <prefer/loss/sft_weights.hpp>

#include <array>
#include <limits>
#include <vector>

using prefer::evaluate_examples;
using prefer::example_batch;
using prefer::loss::raft_weights;
using prefer::loss::rest_weights;
using prefer::loss::sft;

namespace {

double const nan_ = std::numeric_limits<double>::quiet_NaN();
double const inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("raft_weights: the best of each prompt, the first of equal ones") {
    std::vector<double> const scores{1, 3, 3, -2, -5, -inf, 7};
    std::vector<int> const offsets{0, 3, 3, 5, 6, 7};
    std::vector<double> w(7, -1);
    CHECK(raft_weights(scores, offsets, w) == 4);
    CHECK_SAME(w, (std::array{0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0}));
}

TEST_CASE("raft_weights: the loss is the mean over the kept responses") {
    std::vector<double> const policy{-9, -4, -6, -8}, scores{1, 2, 0, -1};
    std::vector<int> const offsets{0, 2, 4};
    std::vector<double> w(4);
    raft_weights(scores, offsets, w);
    auto const s = evaluate_examples(sft{}, example_batch{policy}.with_weights(w));
    CHECK_SAME(s.loss, 5.0);
    CHECK(s.examples == 2);
}

TEST_CASE("rest_weights: above the threshold, not at it") {
    std::vector<float> const scores{0.25F, 0.5F, 0.75F, -1};
    std::vector<double> w(4, -1);
    CHECK(rest_weights(scores, 0.5, w) == 1);
    CHECK_SAME(w, (std::array{0.0, 0.0, 1.0, 0.0}));
    CHECK(rest_weights(scores, -inf, w) == 4);
    CHECK(rest_weights(scores, 3, w) == 0);
    CHECK_SAME(w, (std::array{0.0, 0.0, 0.0, 0.0}));
}

TEST_CASE("sft weights: what is wrong is said before anything is written") {
    std::vector<double> const scores{1, 2, nan_}, good{1, 2, 3};
    std::vector<int> const offsets{0, 3}, wrong{0, 2}, falling{0, 3, 2, 3};
    std::vector<double> w(3, -1), two(2, -1);
    CHECK_THROWS_MESSAGE(raft_weights(scores, offsets, w), prefer::value_error,
                         "prefer::loss::raft_weights: scores[2] is nan");
    CHECK_THROWS_MESSAGE(raft_weights(good, wrong, w), prefer::shape_error, "scores has size 3");
    CHECK_THROWS_MESSAGE(raft_weights(good, falling, w), prefer::shape_error, "offsets[2] is 2");
    CHECK_THROWS_MESSAGE(raft_weights(good, offsets, two), prefer::shape_error,
                         "weights has size 2");
    CHECK_THROWS_MESSAGE(rest_weights(scores, 0, w), prefer::value_error,
                         "prefer::loss::rest_weights: scores[2] is nan");
    CHECK_THROWS_MESSAGE(rest_weights(good, nan_, w), prefer::value_error, "threshold is nan");
    CHECK_THROWS_MESSAGE(rest_weights(good, 0, two), prefer::shape_error, "weights has size 2");
    CHECK_SAME(w, (std::array{-1.0, -1.0, -1.0}));
}
