// SPDX-License-Identifier: MIT
#include <prefer/logprob/next_token_labels.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/logprob/token_log_probs.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::next_token_labels;
using prefer::shape_error;
using prefer::value_error;
using prefer::test::family;

TEST_CASE("L1: the label of a row is the token after it") {
    std::vector<double> const logits{1, 0, 0, 0, 2, 0, 0, 0, 3};
    std::vector<int> const tokens{0, 0, 1};
    std::vector<int> const offsets{0, 3};
    std::vector<int> const prompts{1};
    std::vector<int> labels(3);
    prefer::sequence_counts const counts = next_token_labels(tokens, offsets, prompts, labels);
    CHECK(counts.sequences == 1);
    CHECK(counts.tokens == 2);
    CHECK(counts.empty == 0);
    CHECK_SAME(labels, std::array{0, 1, -100});

    std::vector<double> token_logp(3);
    prefer::token_log_probs(prefer::matrix_view(logits.data(), 3, 3), labels, token_logp);
    // log softmax(1, 0, 0)[0] = -log(1 + 2/e); log softmax(0, 2, 0)[1] = -log(1 + 2/e^2)
    CHECK_CLOSE(token_logp, std::array{-0.55144471393205095, -0.23954476622188450, 0.0},
                family::log_prob);
    std::vector<double> sum(1);
    prefer::sequence_sum(token_logp, offsets, sum);
    CHECK_CLOSE(sum[0], -0.79098948015393559, family::log_prob);
    CHECK_DISTINGUISHES(-0.790989480, -5.33446772, family::log_prob);
}

TEST_CASE("prompts are given, the last row predicts nothing") {
    std::vector<int> const tokens{1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<int> const offsets{0, 4, 4, 5, 8};
    struct expectation {
        std::vector<int> prompts;
        std::vector<int> labels;
        std::size_t tokens, empty;
    };
    int const x = -100;
    std::vector<expectation> const cases{
        {{0, 0, 0, 0}, {2, 3, 4, x, x, 7, 8, x}, 5, 2},
        {{1, 0, 1, 1}, {2, 3, 4, x, x, 7, 8, x}, 5, 2},
        {{2, 0, 0, 2}, {x, 3, 4, x, x, x, 8, x}, 3, 2},
        {{4, 0, 1, 3}, {x, x, x, x, x, x, x, x}, 0, 4},
        {{3, 0, 1, 0}, {x, x, 4, x, x, 7, 8, x}, 3, 2},
    };
    for (expectation const& c : cases) {
        std::vector<int> labels(8, 55);
        auto const counts = next_token_labels(tokens, offsets, c.prompts, labels);
        CHECK_SAME(labels, c.labels);
        CHECK(counts.sequences == 4);
        CHECK(counts.tokens == c.tokens);
        CHECK(counts.empty == c.empty);
    }
}

TEST_CASE("another ignore index, and other integer types") {
    std::vector<std::uint16_t> const tokens{65535, 2, 3};
    std::array<std::uint64_t, 2> const offsets{0, 3};
    std::array<std::uint8_t, 1> const prompts{2};
    std::vector<std::int32_t> labels(3);
    next_token_labels(tokens, offsets, prompts, labels, -1);
    CHECK_SAME(labels, std::array{-1, 3, -1});
}

TEST_CASE("L5: each sequence of a concatenated batch has its prompt length") {
    // Chosen and rejected of two pairs: prompt of 2 tokens, responses of 2. Log-probs -10 in
    // prompts.
    std::vector<int> const tokens(16, 0);
    std::vector<int> const offsets{0, 4, 8, 12, 16};
    std::vector<int> labels(16, 55);
    CHECK_THROWS_MESSAGE(next_token_labels(tokens, offsets, std::vector{2, 2}, labels), shape_error,
                         "prefer::next_token_labels: prompt_lengths has size 2, but the number of "
                         "sequences has size 4");
    CHECK_SAME(labels, std::vector<int>(16, 55));
    next_token_labels(tokens, offsets, std::vector{2, 2, 2, 2}, labels);
    std::vector<double> const logp{-10, -1, -1, -10, -10, -1, -1, -10,
                                   -10, -1, -1, -10, -10, -1, -1, -10};
    std::vector<double> sums(4);
    prefer::sequence_sum(logp, prefer::packed(offsets).with_labels(labels), sums);
    CHECK_SAME(sums, std::array{-2.0, -2.0, -2.0, -2.0});
}

TEST_CASE("errors leave the labels alone") {
    std::vector<int> const tokens{1, 2, 3};
    std::vector<int> labels{7, 7, 7};
    auto const call = [&](std::vector<int> const& offsets, std::vector<int> const& prompts) {
        return next_token_labels(tokens, offsets, prompts, labels);
    };
    CHECK_THROWS_MESSAGE(call({0, 2}, {0}), shape_error, "tokens has size 3");
    CHECK_THROWS_MESSAGE(call({0, 2, 1}, {0, 0}), shape_error, "offsets[2] is 1");
    CHECK_THROWS_MESSAGE(call({}, {}), shape_error, "offsets is empty");
    CHECK_THROWS_MESSAGE(call({0, 3}, {4}), value_error,
                         "prompt_lengths[0] is 4, but must be in [0, 3], the sequence's length");
    CHECK_THROWS_MESSAGE(call({0, 1, 3}, {0, -1}), value_error, "prompt_lengths[1] is -1");
    std::vector<int> shorter(2, 7);
    CHECK_THROWS_MESSAGE(next_token_labels(tokens, std::vector{0, 3}, std::vector{0}, shorter),
                         shape_error, "labels has size 2");
    CHECK_SAME(labels, std::array{7, 7, 7});
    CHECK(call({0, 3}, {3}).empty == 1);
}

}  // namespace
