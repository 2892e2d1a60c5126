// The soft update of a reference model beside a hand-written lerp in place, over tensors of mixed
// shapes: many small ones, few large. Bytes are those read and written.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/backend/eigen.hpp>
#include <prefer/reference/reference.hpp>

#include "support/side_by_side.hpp"

namespace {

using prefer::bfloat16;

constexpr double alpha = 0.01;

/// The sizes of a model's tensors: for each layer four small vectors and four matrices, and two
/// large tables, `total` elements in all.
std::vector<std::size_t> sizes_of(std::size_t total) {
    std::vector<std::size_t> sizes;
    std::size_t left = total;
    for (std::size_t table = 0; table < 2; ++table) {
        sizes.push_back(total / 8);
        left -= total / 8;
    }
    std::size_t const layers = 32;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        for (std::size_t k = 0; k < 4; ++k) sizes.push_back(1024 + k);
        for (std::size_t k = 0; k < 4; ++k) sizes.push_back(left / layers / 4 - 1100);
    }
    return sizes;
}

template <class T>
T number(std::uint32_t i) {
    return static_cast<T>(static_cast<float>(i % 1000) * 0.001F);
}

template <class T>
struct model {
    std::vector<std::vector<T>> policy, reference;
    prefer::reference::policy_parameters from;
    prefer::reference::reference_parameters to;
    std::size_t elements = 0;

    explicit model(std::size_t total) {
        for (std::size_t const size : sizes_of(total)) {
            policy.emplace_back(size);
            reference.emplace_back(size);
            for (std::size_t i = 0; i < size; ++i) {
                policy.back()[i] = number<T>(static_cast<std::uint32_t>(3 * i + 1));
                reference.back()[i] = number<T>(static_cast<std::uint32_t>(i));
            }
        }
        for (std::size_t t = 0; t < policy.size(); ++t) {
            from.add(std::to_string(t), policy[t], elements);
            to.add(std::to_string(t), reference[t], elements);
            elements += policy[t].size();
        }
    }
};

void by_hand(std::vector<float> const& policy, std::vector<float>& reference) {
    float const a = static_cast<float>(alpha);
    float const* const p = policy.data();
    float* const r = reference.data();
    for (std::size_t i = 0; i < policy.size(); ++i) r[i] += a * (p[i] - r[i]);
}

/// No NaN, no counts: the bits of bfloat16 as the upper half of a float, rounded to even.
void by_hand(std::vector<bfloat16> const& policy, std::vector<bfloat16>& reference) {
    float const a = static_cast<float>(alpha);
    bfloat16 const* const p = policy.data();
    bfloat16* const r = reference.data();
    for (std::size_t i = 0; i < policy.size(); ++i) {
        float const old = static_cast<float>(r[i]);
        float const next = old + a * (static_cast<float>(p[i]) - old);
        std::uint32_t u;
        std::memcpy(&u, &next, sizeof u);
        r[i].bits = static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
    }
}

template <class T>
void soft_update(benchmark::State& state, prefer::reference::rounding rounding, int threads) {
    model<T> own(static_cast<std::size_t>(state.range(0)));
    model<T> loop(static_cast<std::size_t>(state.range(0)));
    prefer::backend::eigen const on{.threads = threads};
    prefer::reference::tracker ref{prefer::reference::soft{.alpha = alpha},
                                   {.rounding = rounding, .seed = 1}};
    auto const all_by_hand = [&] {
        for (std::size_t t = 0; t < loop.policy.size(); ++t) {
            by_hand(loop.policy[t], loop.reference[t]);
        }
    };
    ref.after_step(on, own.from, own.to);
    all_by_hand();
    double off = 0, sum = 0;
    for (std::size_t t = 0; t < own.policy.size(); ++t) {
        for (std::size_t i = 0; i < own.policy[t].size(); ++i) {
            double const a = static_cast<double>(static_cast<float>(own.reference[t][i]));
            double const b = static_cast<double>(static_cast<float>(loop.reference[t][i]));
            off = std::max(off, std::abs(a - b));
            sum += a - b;
        }
    }
    double const unit = sizeof(T) == 2 ? 0x1p-8 : 1e-7;
    double const mean = std::abs(sum) / static_cast<double>(own.elements);
    bench::require(off <= unit && mean < unit / 10 && ref.last().what.elements == own.elements,
                   "reference::tracker");
    bench::side_by_side(state, [&] { ref.after_step(on, own.from, own.to); }, all_by_hand,
                        {static_cast<double>(own.elements),
                         static_cast<double>(3 * sizeof(T)) * static_cast<double>(own.elements)});
}

using prefer::reference::rounding;

void in_float(benchmark::State& state, int threads) {
    soft_update<float>(state, rounding::nearest, threads);
}
void in_bfloat16(benchmark::State& state, rounding how, int threads) {
    soft_update<bfloat16>(state, how, threads);
}

/// `vs_loop` is the time of stochastic rounding over that of rounding to nearest.
void stochastic_beside_nearest(benchmark::State& state) {
    model<bfloat16> own(static_cast<std::size_t>(state.range(0)));
    model<bfloat16> other(static_cast<std::size_t>(state.range(0)));
    prefer::reference::soft const rule{.alpha = alpha};
    prefer::reference::tracker stochastic{rule, {.rounding = rounding::stochastic, .seed = 1}};
    prefer::reference::tracker nearest{rule};
    stochastic.after_step(own.from, own.to);
    nearest.after_step(other.from, other.to);
    bench::require(stochastic.last().what.stuck < nearest.last().what.stuck, "stochastic rounding");
    bench::side_by_side(
        state, [&] { stochastic.after_step(own.from, own.to); },
        [&] { nearest.after_step(other.from, other.to); },
        {static_cast<double>(own.elements), 6.0 * static_cast<double>(own.elements)});
}

void cases(benchmark::internal::Benchmark* b) {
    b->Arg(1 << 26)->UseManualTime();
}

BENCHMARK_CAPTURE(in_float, one_thread, 1)->Apply(cases);
BENCHMARK_CAPTURE(in_float, two_threads, 2)->Apply(cases);
BENCHMARK_CAPTURE(in_bfloat16, nearest_one_thread, rounding::nearest, 1)->Apply(cases);
BENCHMARK_CAPTURE(in_bfloat16, nearest_two_threads, rounding::nearest, 2)->Apply(cases);
BENCHMARK_CAPTURE(in_bfloat16, stochastic_one_thread, rounding::stochastic, 1)->Apply(cases);
BENCHMARK_CAPTURE(in_bfloat16, stochastic_two_threads, rounding::stochastic, 2)->Apply(cases);
BENCHMARK(stochastic_beside_nearest)->Apply(cases);

}  // namespace
