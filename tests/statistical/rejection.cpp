// SPDX-License-Identifier: MIT

/// \file
/// Single-shot tests with a fixed seed. With another seed, each CHECK fails by chance once in a
/// million times (bounds: quantiles of the chi-square distribution with 5 or 3 degrees of freedom,
/// and 4.9 standard errors of a mean); none is repeated.

#include "support/catch.hpp"

#include <prefer/sampler/sampler.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using prefer::philox;
using namespace prefer::sampler;

namespace {

constexpr double chi_square_3 = 30.6648;  // the quantiles of 1 - 1e-6
constexpr double chi_square_5 = 35.8882;

double chi_square(std::vector<double> const& counts, std::vector<double> const& weights) {
    double total = 0, draws = 0, sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        total += weights[i];
        draws += counts[i];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        double const expected = draws * weights[i] / total;
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

/// Six responses: how likely the proposal makes them, and their rewards.
std::vector<double> const proposal{0.3, 0.25, 0.2, 0.15, 0.07, 0.03};
std::vector<double> const reward{0, 0.2, 0.5, 0.1, 1, 0.8};

std::size_t propose(philox& rng) {
    double u = prefer::uniform01<double>(rng);
    std::size_t i = 0;
    while (i + 1 < proposal.size() && u >= proposal[i]) u -= proposal[i++];
    return i;
}

std::vector<double> optimal(double beta) {
    std::vector<double> weights;
    for (std::size_t i = 0; i < proposal.size(); ++i) {
        weights.push_back(proposal[i] * std::exp(reward[i] / beta));
    }
    return weights;
}

}  // namespace

TEST_CASE("streaming_rejection: with a known bound, draws from π·exp(r/β)") {
    philox rng(20260501);
    streaming_rejection stream(0.5, 1, reward_bound::known);
    std::vector<double> counts(proposal.size());
    while (stream.accepted() < 100000) {
        std::size_t const i = propose(rng);
        if (stream.offer(reward[i], rng)) ++counts[i];
    }
    double const statistic = chi_square(counts, optimal(0.5));
    CAPTURE(statistic);
    CHECK(statistic < chi_square_5);
    // The test can tell: from the proposal itself, and from the wrong β, this is far away.
    CHECK(chi_square(counts, proposal) > 1000);
    CHECK(chi_square(counts, optimal(0.6)) > 100);
}

TEST_CASE("streaming_rejection: with an estimated bound and thinning, the same draws") {
    // 40,000 runs of 12 offers from an unknown bound; what survives all raises is counted. Where
    // the bound ends below the true one, nothing is exact, so only runs that saw it count.
    philox rng(20260502);
    std::vector<double> counts(proposal.size());
    for (int run = 0; run < 40000; ++run) {
        streaming_rejection stream(0.5, -std::numeric_limits<double>::infinity(),
                                   reward_bound::estimated);
        std::vector<std::size_t> kept;
        for (int offer = 0; offer < 12; ++offer) {
            // The last one always has the best reward, and is not counted itself.
            std::size_t const i = offer < 11 ? propose(rng) : 4;
            bool const yes = stream.offer(reward[i], rng);
            std::erase_if(kept, [&](std::size_t) {
                return stream.survival() < 1 && prefer::uniform01<double>(rng) >= stream.survival();
            });
            if (yes && offer < 11) kept.push_back(i);
        }
        for (std::size_t const i : kept) ++counts[i];
    }
    double const statistic = chi_square(counts, optimal(0.5));
    CAPTURE(statistic);
    CHECK(statistic < chi_square_5);
    CHECK(chi_square(counts, optimal(0.6)) > 100);
}

TEST_CASE("rejection: the frequency of acceptance is the probability") {
    // Bins with probabilities 1, exp(-2) and 0.5, each visited once in the first sweep.
    std::vector<double> const rewards{-1, -0.5 * std::log(2.0), 0};
    philox rng(20260503);
    int const runs = 20000;
    double first = 0, second = 0;
    for (int run = 0; run < runs; ++run) {
        auto const d = rejection{.beta = 0.5, .count = 3, .max_sweeps = 1}(rewards, rng);
        for (std::size_t const i : d.indices) {
            first += i == 0 ? 1 : 0;
            second += i == 1 ? 1 : 0;
        }
        REQUIRE(d.indices.back() == 2);
    }
    double const p = std::exp(-2.0);
    CHECK(std::abs(first / runs - p) < 4.9 * std::sqrt(p * (1 - p) / runs));
    CHECK(std::abs(second / runs - 0.5) < 4.9 * std::sqrt(0.25 / runs));
}

TEST_CASE("rejection: between best-of-N and the proposal, by β") {
    // 64 normal rewards, 8 accepted: their mean falls from that of the best eight to that of all.
    philox rng(20260504);
    std::vector<double> const betas{0, 0.2, 0.5, 1, 2, 5, std::numeric_limits<double>::infinity()};
    std::vector<double> means(betas.size());
    double top = 0, all = 0, sweeps = 0, draws = 0;
    int const prompts = 2000;
    for (int prompt = 0; prompt < prompts; ++prompt) {
        std::vector<double> rewards(64);
        for (double& r : rewards) {
            double const radius = std::sqrt(-2 * std::log1p(-prefer::uniform01<double>(rng)));
            r = radius * std::cos(6.283185307179586 * prefer::uniform01<double>(rng));
            all += r / 64 / prompts;
        }
        for (std::size_t const i : top_k(rewards, 8)) top += rewards[i] / 8 / prompts;
        for (std::size_t b = 0; b < betas.size(); ++b) {
            auto const d = rejection{.beta = betas[b], .count = 8}(rewards, rng);
            for (std::size_t const i : d.indices) means[b] += rewards[i] / 8 / prompts;
            if (b == 2) {
                sweeps += static_cast<double>(d.sweeps) / prompts;
                draws += static_cast<double>(d.draws) / prompts;
            }
        }
    }
    CAPTURE(means, top, all);
    CHECK(std::abs(means.front() - top) < 1e-12);
    // 8 · 2000 rewards of standard deviation 1 on one side, 8 times as many on the other.
    CHECK(std::abs(means.back() - all) < 4.9 * std::sqrt(1.0 / (8 * prompts)));
    for (std::size_t b = 1; b < betas.size(); ++b) CHECK(means[b] < means[b - 1] - 0.01);
    // An independent simulation found about 2.2 sweeps and 106 draws for β = 0.5.
    CHECK(std::abs(sweeps - 2.2) < 0.1);
    CHECK(std::abs(draws - 106) < 3);
}

TEST_CASE("softmax_resample, gumbel_top_k: the frequencies of the softmax") {
    std::vector<double> const rewards{0, 1, 0.5, -1};
    std::vector<double> weights;
    for (double const r : rewards) weights.push_back(std::exp(r / 0.7));
    philox rng(20260505);
    std::vector<double> drawn(4), first(4), second(4);
    for (std::size_t const i : softmax_resample{.beta = 0.7, .count = 100000}(rewards, rng)) {
        ++drawn[i];
    }
    for (int run = 0; run < 100000; ++run) {
        auto const two = gumbel_top_k{.beta = 0.7, .count = 2}(rewards, rng);
        ++first[two[0]];
        if (two[0] == 1) ++second[two[1]];
    }
    CHECK(chi_square(drawn, weights) < chi_square_3);
    CHECK(chi_square(first, weights) < chi_square_3);
    // After candidate 1, the others by their own weights: two degrees of freedom.
    std::vector<double> const others{second[0], second[2], second[3]};
    CHECK(second[1] <= 0);
    CHECK(chi_square(others, {weights[0], weights[2], weights[3]}) < 27.6310);
}
