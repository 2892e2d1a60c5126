// Statistical rejection sampling, 64 candidates -> 8 at β = 0.5, for many prompts at once, beside a
// hand-written loop of algorithm 1 over the same numbers.

#include <cmath>
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/backend/eigen.hpp>
#include <prefer/sampler/rejection.hpp>

#include "support/side_by_side.hpp"

namespace {

constexpr std::size_t candidates = 64;
constexpr std::size_t wanted = 8;
constexpr double beta = 0.5;

/// Sums of twelve uniforms: normal enough.
std::vector<float> rewards_of(std::size_t prompts) {
    std::vector<float> rewards(prompts * candidates);
    prefer::philox rng(7);
    for (float& reward : rewards) {
        reward = -6;
        for (int i = 0; i < 12; ++i) reward += prefer::uniform01<float>(rng);
    }
    return rewards;
}

/// Algorithm 1 as one would write it. Returns the number of draws.
std::size_t by_hand(std::vector<float> const& rewards, std::vector<std::size_t>& accepted) {
    std::size_t draws = 0;
    double pool[candidates];
    std::size_t index[candidates];
    for (std::size_t p = 0; p < rewards.size() / candidates; ++p) {
        prefer::philox rng(42, p);
        std::size_t size = candidates;
        for (std::size_t i = 0; i < size; ++i) {
            index[i] = p * candidates + i;
            pool[i] = static_cast<double>(rewards[index[i]]);
        }
        std::size_t* const out = accepted.data() + p * wanted;
        std::size_t n = 0;
        while (n < wanted) {
            double best = pool[0];
            for (std::size_t i = 1; i < size; ++i) best = pool[i] > best ? pool[i] : best;
            std::size_t kept = 0;
            for (std::size_t i = 0; i < size && n < wanted; ++i) {
                ++draws;
                if (prefer::uniform01<double>(rng) < std::exp((pool[i] - best) / beta)) {
                    out[n++] = index[i];
                } else {
                    pool[kept] = pool[i];
                    index[kept++] = index[i];
                }
            }
            size = kept;
        }
    }
    return draws;
}

void rejection(benchmark::State& state, int threads) {
    auto const prompts = static_cast<std::size_t>(state.range(0));
    auto const rewards = rewards_of(prompts);
    std::vector<std::size_t> offsets(prompts + 1), expected(prompts * wanted);
    for (std::size_t p = 0; p <= prompts; ++p) offsets[p] = p * candidates;
    prefer::sampler::rejection const sampler{.beta = beta, .count = wanted};
    prefer::backend::eigen const on{.threads = threads};
    prefer::philox const rng(42);

    auto const drawn = sampler.per_prompt(on, rewards, offsets, rng);
    bench::require(drawn.draws == by_hand(rewards, expected) && drawn.indices == expected,
                   "sampler::rejection");
    bench::side_by_side(
        state, [&] { sampler.per_prompt(on, rewards, offsets, rng); },
        [&] { by_hand(rewards, expected); },
        {static_cast<double>(prompts), static_cast<double>(rewards.size() * sizeof(float))});
    state.counters["draws/prompt"] =
        static_cast<double>(drawn.draws) / static_cast<double>(prompts);
    state.counters["sweeps/prompt"] =
        static_cast<double>(drawn.sweeps) / static_cast<double>(prompts);
}

BENCHMARK_CAPTURE(rejection, one_thread, 1)->Arg(1 << 17)->Arg(1000000)->UseManualTime();
BENCHMARK_CAPTURE(rejection, two_threads, 2)->Arg(1 << 17)->Arg(1000000)->UseManualTime();

}  // namespace
