// Token log-probs and their backward beside a hand-written loop and the memory's read rate, for
// logits [N, V] in float: on the plain loop, and on the Eigen backend where Eigen is installed.

#include <cmath>
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/prefer.hpp>
#if __has_include(<Eigen/Core>)
#    include <prefer/backend/eigen.hpp>
#    define PREFER_BENCH_EIGEN
#endif

#include "support/side_by_side.hpp"

namespace {

struct data {
    std::size_t rows, columns;
    std::vector<float> logits, d_logits, token_logp, loop_logp, upstream;
    std::vector<int> labels;

    data(std::size_t n, std::size_t v)
        : rows(n), columns(v), logits(n * v), d_logits(n * v), token_logp(n), loop_logp(n),
          upstream(n, 0.5F), labels(n) {
        prefer::philox rng(1);
        for (float& x : logits) x = 8 * prefer::uniform01<float>(rng) - 4;
        for (int& y : labels) y = static_cast<int>(prefer::uniform_index(rng, v));
    }

    auto view() const { return prefer::matrix_view(logits.data(), rows, columns); }
    auto d_view() { return prefer::matrix_view(d_logits.data(), rows, columns); }
    double bytes() const { return static_cast<double>(rows * columns * sizeof(float)); }
};

/// What a careful programmer writes: the maximum, then the sum of exponentials.
void loop_forward(data& d) {
    for (std::size_t i = 0; i < d.rows; ++i) {
        float const* const row = d.logits.data() + i * d.columns;
        float largest = row[0];
        for (std::size_t j = 1; j < d.columns; ++j) largest = std::max(largest, row[j]);
        double sum = 0;
        for (std::size_t j = 0; j < d.columns; ++j) {
            sum += static_cast<double>(std::exp(row[j] - largest));
        }
        d.loop_logp[i] = row[d.labels[i]] - largest - static_cast<float>(std::log(sum));
    }
    benchmark::ClobberMemory();
}

/// The memory's read rate: every logit read once, nothing else done.
void loop_read(data& d) {
    float total[16] = {};
    for (std::size_t k = 0; k + 16 <= d.logits.size(); k += 16) {
        for (std::size_t lane = 0; lane < 16; ++lane) total[lane] += d.logits[k + lane];
    }
    benchmark::DoNotOptimize(total);
}

template <class Backend>
void check(data& d, Backend const& on) {
    prefer::token_log_probs(on, d.view(), d.labels, d.token_logp);
    loop_forward(d);
    for (std::size_t i = 0; i < d.rows; ++i) {
        bench::require(std::abs(d.token_logp[i] - d.loop_logp[i]) < 1e-5F, "a token log-prob");
    }
    prefer::token_log_probs_backward(on, d.view(), d.labels, d.upstream, d.d_view());
    for (std::size_t i = 0; i < d.rows; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < d.columns; ++j) {
            sum += static_cast<double>(d.d_logits[i * d.columns + j]);
        }
        bench::require(std::abs(sum) < 1e-4, "a row of gradients: it must add up to 0");
    }
}

template <class Backend, class Loop>
void forward(benchmark::State& state, Backend const& on, Loop const& loop) {
    data d(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    check(d, on);
    bench::side_by_side(
        state, [&] { prefer::token_log_probs(on, d.view(), d.labels, d.token_logp); },
        [&] { loop(d); }, {static_cast<double>(d.rows), d.bytes()});
}

template <class Backend>
void backward(benchmark::State& state, Backend const& on) {
    data d(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    check(d, on);
    bench::side_by_side(
        state,
        [&] { prefer::token_log_probs_backward(on, d.view(), d.labels, d.upstream, d.d_view()); },
        [&] { loop_forward(d); }, {static_cast<double>(d.rows), 2 * d.bytes()});
}

void plain_forward(benchmark::State& state) {
    forward(state, prefer::backend::plain{}, loop_forward);
}
void plain_backward(benchmark::State& state) {
    backward(state, prefer::backend::plain{});
}

BENCHMARK(plain_forward)->Args({64, 32000})->UseManualTime();
BENCHMARK(plain_backward)->Args({64, 32000})->UseManualTime();

#ifdef PREFER_BENCH_EIGEN
void eigen_forward(benchmark::State& state) {
    forward(state, prefer::backend::eigen{.threads = static_cast<int>(state.range(2))},
            loop_forward);
}
void eigen_forward_vs_read(benchmark::State& state) {
    forward(state, prefer::backend::eigen{.threads = static_cast<int>(state.range(2))}, loop_read);
}
void eigen_backward(benchmark::State& state) {
    backward(state, prefer::backend::eigen{.threads = static_cast<int>(state.range(2))});
}

BENCHMARK(eigen_forward)->Args({64, 32000, 1})->Args({64, 32000, 2})->UseManualTime();
BENCHMARK(eigen_forward_vs_read)->Args({512, 128256, 1})->UseManualTime();
BENCHMARK(eigen_backward)->Args({64, 32000, 1})->Args({64, 32000, 2})->UseManualTime();
#endif

}  // namespace
