// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/reward/reward.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using prefer::matrix_view;
using prefer::shape_error;
using prefer::value_error;
using namespace prefer::reward;
using prefer::test::family;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("README: from comparisons to shaped rewards") {
    std::vector<double> const first{0.5, 0.75, 1, 0.5}, second{0.5, 0.25, 0, 0.5};
    matrix_view<double const> const won(first.data(), 4, 1), lost_when_second(second.data(), 4, 1);
    std::vector<int> const characters{1000, 0, 0, 0};
    std::vector<std::size_t> const offsets{0, 2, 4};
    std::vector<float> rewards(4);

    // clang-format off
using prefer::reward::length_unit;
prefer::reward::pairwise_reward{.least = 1e-6}(won, lost_when_second, rewards);
prefer::reward::length_penalty{.rate = 0.001, .unit = length_unit::characters}(
    rewards, prefer::reward::lengths(characters, length_unit::characters));
prefer::reward::normalize_rewards(rewards, offsets);
    // clang-format on

    // Two rewards of a prompt, normalised, are -1 and 1.
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK_CLOSE(rewards[i], std::vector<double>{-1, 1, 1, -1}[i], family::reduction);
    }
}

TEST_CASE("pairwise_reward: the mean logit over baselines") {
    // logit 3/4 = log 3, logit 1/4 = -log 3, logit 9/10 = log 9 = 2 log 3.
    std::vector<double> const p{0.75, 0.25, 0.9, 0.5};
    std::vector<double> rewards(2);
    pairwise_reward{}(matrix_view<double const>(p.data(), 2, 2), rewards);
    CHECK_CLOSE(rewards[0], 0.0, family::reduction);
    CHECK_CLOSE(rewards[1], std::log(3.0), family::reduction);
}

TEST_CASE("pairwise_reward: a preference for the first position cancels") {
    // A judge that adds 0.1 to whoever comes first: 0.85 and, with the baseline first, 0.35.
    std::vector<double> const first{0.85}, second{0.35};
    std::vector<double> reward(1);
    pairwise_reward{}(matrix_view<double const>(first.data(), 1, 1),
                      matrix_view<double const>(second.data(), 1, 1), reward);
    CHECK_CLOSE(reward[0], std::log(3.0), family::reduction);
}

TEST_CASE("pairwise_reward: certain models, wrong shapes and wrong probabilities") {
    std::vector<double> const certain{1, 0.5}, wrong{0.5, 1.5}, bad{0.5, not_a_number};
    std::vector<double> rewards{7, 7}, short_one{7};
    auto const column = [](std::vector<double> const& p) {
        return matrix_view<double const>(p.data(), p.size(), 1);
    };
    CHECK_THROWS_WITH(pairwise_reward{}(column(certain), rewards),
                      Catch::Contains("probabilities[0] is 1"));
    CHECK_THROWS_AS(pairwise_reward{}(column(wrong), rewards), value_error);
    CHECK_THROWS_AS(pairwise_reward{}(column(bad), rewards), value_error);
    CHECK_THROWS_AS(pairwise_reward{}(column(certain), short_one), shape_error);
    CHECK_THROWS_AS((pairwise_reward{.least = 0.5}(column(certain), rewards)), value_error);
    CHECK_THROWS_AS(pairwise_reward{}(matrix_view<double const>(certain.data(), 2, 0), rewards),
                    shape_error);
    CHECK_THROWS_AS(pairwise_reward{}(column(certain), column(short_one), rewards), shape_error);
    CHECK_SAME(rewards[0], 7.0);
    CHECK_SAME(rewards[1], 7.0);
    pairwise_reward{.least = 0.25}(column(certain), rewards);
    CHECK_CLOSE(rewards[0], std::log(3.0), family::reduction);
    std::vector<double> none;
    pairwise_reward{}(matrix_view<double const>(certain.data(), 0, 1), none);
}

TEST_CASE("length_penalty: r - rate · length, in its unit only") {
    std::vector<double> rewards{1, 2};
    std::vector<unsigned> const n{500, 0};
    length_penalty{}(rewards, lengths(n, length_unit::characters));
    CHECK_CLOSE(rewards[0], 0.5, family::elementwise);
    CHECK_SAME(rewards[1], 2.0);
    CHECK_THROWS_WITH(length_penalty{}(rewards, lengths(n, length_unit::tokens)),
                      Catch::Contains("another unit"));
    std::vector<int> const negative{0, -1}, short_one{1};
    CHECK_THROWS_AS(length_penalty{}(rewards, lengths(negative, length_unit::characters)),
                    value_error);
    CHECK_THROWS_AS(length_penalty{}(rewards, lengths(short_one, length_unit::characters)),
                    shape_error);
    CHECK_THROWS_AS(
        (length_penalty{.rate = infinity}(rewards, lengths(n, length_unit::characters))),
        value_error);
    CHECK_SAME(rewards[1], 2.0);
}

TEST_CASE("normalize_rewards: each prompt by itself") {
    // 2, 4, 4, 4, 5, 5, 7, 9 have the mean 5 and the deviation 2.
    std::vector<double> rewards{2, 4, 4, 4, 5, 5, 7, 9, 3, 3, 3, 8};
    std::vector<std::size_t> const offsets{0, 8, 8, 11, 12};
    CHECK(normalize_rewards(rewards, offsets) == 2);
    std::vector<double> const expected{-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2, 0, 0, 0, 0};
    for (std::size_t i = 0; i < rewards.size(); ++i) {
        CHECK_CLOSE(rewards[i], expected[i], family::reduction);
    }
    // Equal rewards that have no exact mean are still equal.
    std::vector<double> tenths(7, 0.1);
    std::vector<std::size_t> const all{0, 7};
    CHECK(normalize_rewards(tenths, all) == 1);
    for (double const r : tenths) CHECK_SAME(r, 0.0);
    // Differences whose squares underflow or overflow.
    for (double const unit : {1e-200, 1e200}) {
        std::vector<double> two{0, unit};
        std::vector<std::size_t> const pair{0, 2};
        normalize_rewards(two, pair);
        CHECK_CLOSE(two[0], -1.0, family::reduction);
        CHECK_CLOSE(two[1], 1.0, family::reduction);
        std::vector<double> const rising{0, unit};
        std::vector<int> const longer{1, 2};
        CHECK_CLOSE(length_bias(rising, longer, pair).mean, 1.0, family::reduction);
    }
    rewards[3] = infinity;
    CHECK_THROWS_AS(normalize_rewards(rewards, offsets), value_error);
    CHECK_THROWS_AS(normalize_rewards(tenths, offsets), shape_error);
}

TEST_CASE("clip_rewards: into a range, and counted") {
    std::vector<float> rewards{-3, 0.5F, 7, std::numeric_limits<float>::infinity()};
    CHECK(clip_rewards(rewards, -1, 2) == 3);
    CHECK(rewards == std::vector<float>{-1, 0.5F, 2, 2});
    CHECK(clip_rewards(rewards, -1, 2) == 0);
    CHECK_THROWS_AS(clip_rewards(rewards, 2, 1), value_error);
    CHECK_THROWS_AS(clip_rewards(rewards, not_a_number, 1), value_error);
    rewards[0] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(clip_rewards(rewards, 0, 1), value_error);
    CHECK_SAME(rewards[2], 2.0F);
}

TEST_CASE("length_bias: correlations within prompts") {
    // Prompt 0 rises exactly, 1 falls exactly, 2 has r = 0.5 (1, 2, 3 against 1, 3, 2), 3 has equal
    // lengths, 4 equal rewards, 5 one response, 6 none.
    std::vector<double> const rewards{1, 2, 3, 5, 4, 1, 2, 3, 1, 2, 6, 6, 9};
    std::vector<int> const n{10, 20, 30, 1, 2, 1, 3, 2, 4, 4, 1, 2, 3};
    std::vector<std::size_t> const offsets{0, 3, 5, 8, 10, 12, 13, 13};
    auto const report = length_bias(rewards, n, offsets);
    REQUIRE(report.correlations.size() == 3);
    CHECK_CLOSE(report.correlations[0], 1.0, family::reduction);
    CHECK_CLOSE(report.correlations[1], -1.0, family::reduction);
    CHECK_CLOSE(report.correlations[2], 0.5, family::reduction);
    CHECK(report.undefined == 4);
    CHECK_CLOSE(report.mean, 1.0 / 6, family::reduction);
    CHECK_CLOSE(report.lower_quartile, -1.0, family::reduction);
    CHECK_CLOSE(report.median, 0.5, family::reduction);
    CHECK_CLOSE(report.upper_quartile, 1.0, family::reduction);
    CHECK_CLOSE(report.positive, 2.0 / 3, family::reduction);
    std::vector<std::size_t> const nobody{0};
    std::vector<double> const none;
    std::vector<int> const no_lengths;
    CHECK(length_bias(none, no_lengths, nobody).correlations.empty());
    CHECK_THROWS_AS(length_bias(none, n, nobody), shape_error);
}
