// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Times a library call beside a hand-written loop that does the same job, alternating between the
/// two in one run: absolute times drift on shared machines, ratios of neighbours do not.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace bench {

/// Stops the program when the two sides disagree: nothing wrong is ever timed.
inline void require(bool right, char const* what) {
    if (!right) {
        std::fprintf(stderr, "benchmark: wrong result in %s\n", what);
        std::exit(1);
    }
}

/// True when two results agree to a relative error.
inline bool agree(double a, double b, double relative) {
    return std::abs(a - b) <= relative * std::max({std::abs(a), std::abs(b), 1e-300});
}

template <class Work>
double seconds(Work const& work) {
    auto const start = std::chrono::steady_clock::now();
    work();
    benchmark::ClobberMemory();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
}

/// What one call moves or does, for the throughput columns.
struct amount {
    double items = 0;
    double bytes = 0;
};

/// The time of a benchmark is the library's; counters carry the ratio to the loop, library/loop
/// (median, and the middle half of the pairwise ratios), so a value below 1 means faster.
template <class Library, class Loop>
void side_by_side(benchmark::State& state, Library const& library, Loop const& loop,
                  amount per_call) {
    std::vector<double> own, ratio;
    loop();
    library();
    for (auto _ : state) {
        double const a = seconds(library);
        double const b = seconds(loop);
        state.SetIterationTime(a);
        own.push_back(a);
        ratio.push_back(a / b);
    }
    if (ratio.empty()) return;
    std::sort(ratio.begin(), ratio.end());
    std::size_t const n = ratio.size();
    state.counters["vs_loop"] = ratio[n / 2];
    state.counters["vs_loop_q1"] = ratio[n / 4];
    state.counters["vs_loop_q3"] = ratio[(3 * n) / 4];
    double const time = median(own);
    if (per_call.items > 0) state.counters["items/s"] = per_call.items / time;
    if (per_call.bytes > 0) state.counters["GB/s"] = per_call.bytes / time / 1e9;
}

}  // namespace bench
