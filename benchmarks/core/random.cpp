// philox and the uniform mapping beside std::mt19937 and the standard's distribution.

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/core/random.hpp>

#include "support/side_by_side.hpp"

namespace {

template <class Draw>
double mean_of(std::vector<double>& out, Draw const& draw) {
    double sum = 0;
    for (double& x : out) sum += x = draw();
    return sum / static_cast<double>(out.size());
}

void uniform01(benchmark::State& state) {
    std::vector<double> own(static_cast<std::size_t>(state.range(0))), standard(own.size());
    prefer::philox rng(1);
    std::mt19937 twister(1);
    std::uniform_real_distribution<double> distribution;
    double const tolerance = 6 * std::sqrt(1.0 / 12 / static_cast<double>(own.size()));
    bench::require(std::abs(mean_of(own, [&] { return prefer::uniform01<double>(rng); }) - 0.5) <
                       tolerance,
                   "the mean of uniform01");
    bench::side_by_side(
        state, [&] { mean_of(own, [&] { return prefer::uniform01<double>(rng); }); },
        [&] { mean_of(standard, [&] { return distribution(twister); }); },
        {static_cast<double>(own.size()), 0});
}

BENCHMARK(uniform01)->Arg(1 << 16)->UseManualTime();

}  // namespace
