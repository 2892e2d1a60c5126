// The exact divergence of two rows of logits and its backward beside a hand-written loop, [N, V] in
// float: rows that are near each other, as after a few steps of training, and far.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/core/random.hpp>
#include <prefer/core/view.hpp>
#include <prefer/logprob/token_kl.hpp>

#include "support/side_by_side.hpp"

namespace {

struct data {
    std::size_t rows, columns;
    std::vector<float> policy, reference, d_policy, upstream;
    std::vector<float> kl, loop_kl;
    std::vector<int> labels;

    data(std::size_t n, std::size_t v, float apart)
        : rows(n), columns(v), policy(n * v), reference(n * v), d_policy(n * v), upstream(n, 0.5F),
          kl(n), loop_kl(n), labels(n, 0) {
        prefer::philox rng(1);
        for (float& x : reference) x = 8 * prefer::uniform01<float>(rng) - 4;
        for (std::size_t k = 0; k < policy.size(); ++k) {
            policy[k] = reference[k] + apart * (prefer::uniform01<float>(rng) - 0.5F);
        }
    }

    auto policy_view() const { return prefer::matrix_view(policy.data(), rows, columns); }
    auto reference_view() const { return prefer::matrix_view(reference.data(), rows, columns); }
    auto d_view() { return prefer::matrix_view(d_policy.data(), rows, columns); }
    double bytes() const { return static_cast<double>(2 * rows * columns * sizeof(float)); }
};

/// What a careful programmer writes: both normalisers, then Σ p·(log p - log q).
void loop_forward(data& d) {
    for (std::size_t i = 0; i < d.rows; ++i) {
        float const* const x = d.policy.data() + i * d.columns;
        float const* const y = d.reference.data() + i * d.columns;
        float const p_top = *std::max_element(x, x + d.columns);
        float const q_top = *std::max_element(y, y + d.columns);
        double p_sum = 0;
        double q_sum = 0;
        double moment = 0;
        for (std::size_t j = 0; j < d.columns; ++j) {
            float const a = x[j] - p_top;
            float const b = y[j] - q_top;
            double const p = static_cast<double>(std::exp(a));
            p_sum += p;
            q_sum += static_cast<double>(std::exp(b));
            moment += p * static_cast<double>(a - b);
        }
        d.loop_kl[i] = static_cast<float>(moment / p_sum - std::log(p_sum) + std::log(q_sum));
    }
    benchmark::ClobberMemory();
}

template <class Divergence>
void check(data& d, Divergence const& divergence) {
    prefer::token_kl(d.policy_view(), d.reference_view(), d.labels, d.kl);
    loop_forward(d);
    for (std::size_t i = 0; i < d.rows; ++i) {
        bench::require(std::abs(d.kl[i] - d.loop_kl[i]) < 2e-6F + 1e-5F * d.kl[i], "a divergence");
    }
    prefer::token_kl_backward(d.policy_view(), d.reference_view(), d.labels, d.upstream, d.d_view(),
                              divergence);
    for (std::size_t i = 0; i < d.rows; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < d.columns; ++j) {
            sum += static_cast<double>(d.d_policy[i * d.columns + j]);
        }
        bench::require(std::abs(sum) < 1e-5, "a row of gradients: it must add up to 0");
    }
}

template <class Divergence>
void forward(benchmark::State& state) {
    data d(64, static_cast<std::size_t>(state.range(0)), static_cast<float>(state.range(1)) / 10);
    Divergence const divergence;
    check(d, divergence);
    bench::side_by_side(
        state,
        [&] { prefer::token_kl(d.policy_view(), d.reference_view(), d.labels, d.kl, divergence); },
        [&] { loop_forward(d); }, {static_cast<double>(d.rows), d.bytes()});
}

template <class Divergence>
void backward(benchmark::State& state) {
    data d(64, static_cast<std::size_t>(state.range(0)), static_cast<float>(state.range(1)) / 10);
    Divergence const divergence;
    check(d, divergence);
    bench::side_by_side(
        state,
        [&] {
            prefer::token_kl_backward(d.policy_view(), d.reference_view(), d.labels, d.upstream,
                                      d.d_view(), divergence);
        },
        [&] { loop_forward(d); }, {static_cast<double>(d.rows), 1.5 * d.bytes()});
}

void reverse_kl(benchmark::State& state) {
    forward<prefer::token_divergence::reverse_kl>(state);
}
void jensen_shannon(benchmark::State& state) {
    forward<prefer::token_divergence::jensen_shannon>(state);
}
void alpha(benchmark::State& state) {
    forward<prefer::token_divergence::alpha>(state);
}
void reverse_kl_backward(benchmark::State& state) {
    backward<prefer::token_divergence::reverse_kl>(state);
}
void jensen_shannon_backward(benchmark::State& state) {
    backward<prefer::token_divergence::jensen_shannon>(state);
}

BENCHMARK(reverse_kl)->Args({32000, 2})->Args({32000, 60})->Args({128256, 2})->UseManualTime();
BENCHMARK(jensen_shannon)->Args({32000, 2})->UseManualTime();
BENCHMARK(alpha)->Args({32000, 2})->UseManualTime();
BENCHMARK(reverse_kl_backward)->Args({32000, 2})->UseManualTime();
BENCHMARK(jensen_shannon_backward)->Args({32000, 2})->UseManualTime();

}  // namespace
