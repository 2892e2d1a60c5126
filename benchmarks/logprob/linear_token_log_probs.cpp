// Head-fused log-probs beside the plain matrix products of the library that makes them, on the same
// shapes, alternating in one run; the memory that they take beside the caller's arrays is that of
// the process. Arguments: N, D, V, threads.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/logprob/linear_pair_chunks.hpp>
#include <prefer/logprob/linear_token_log_probs.hpp>
#include <prefer/prefer.hpp>
#if __has_include(<Eigen/Core>)
#    include <prefer/backend/eigen.hpp>
#    define PREFER_BENCH_EIGEN
#endif
#ifdef PREFER_BENCH_BLAS
#    include <prefer/backend/blas.hpp>
#endif

#ifdef __GLIBC__
#    include <malloc.h>
#endif

#include "support/side_by_side.hpp"

#ifdef PREFER_BENCH_EIGEN
namespace {

using prefer::matrix_view;
using prefer::vector_view;
using prefer::detail::part;
using prefer::detail::transposed;

/// Memory that was used before would hide what is used now.
void return_free_memory() {
#    ifdef __GLIBC__
    malloc_trim(0);
#    endif
}

/// Linux: the most memory that this process has had since the last `reset_peak`, in MiB.
void reset_peak() {
    std::ofstream("/proc/self/clear_refs") << "5";
}
double peak() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        double kib = 0;
        if (word == "VmHWM:" && status >> kib) return kib / 1024;
    }
    return std::nan("");
}

template <class T>
struct data {
    std::size_t n, d, v;
    std::vector<T> hidden, head;
    std::vector<float> wide_hidden, wide_head;  // for the plain products
    std::vector<float> logits, token_logp, upstream, d_hidden, d_head;
    std::vector<int> labels, offsets;

    explicit data(benchmark::State const& state)
        : n(static_cast<std::size_t>(state.range(0))), d(static_cast<std::size_t>(state.range(1))),
          v(static_cast<std::size_t>(state.range(2))), hidden(n * d), head(v * d),
          wide_hidden(n * d), wide_head(v * d), logits(n * v), token_logp(n), upstream(n, 0.5F),
          d_hidden(n * d), d_head(v * d), labels(n) {
        std::uint32_t bits = 1;
        auto const next = [&] {
            bits = bits * 1664525U + 1013904223U;
            return static_cast<float>(bits >> 8U) * 0x1p-23F - 1;
        };
        float const scale = 4 / std::sqrt(static_cast<float>(d));
        for (std::size_t i = 0; i < n * d; ++i) {
            hidden[i] = static_cast<T>(next());
            wide_hidden[i] = static_cast<float>(hidden[i]);
        }
        for (std::size_t i = 0; i < v * d; ++i) {
            head[i] = static_cast<T>(scale * next());
            wide_head[i] = static_cast<float>(head[i]);
        }
        for (std::size_t i = 0; i < n; ++i) labels[i] = static_cast<int>(i * 7919 % v);
        for (std::size_t b = 0; b <= 8; ++b) offsets.push_back(static_cast<int>(b * n / 8));
    }

    matrix_view<T const> x() const { return {hidden.data(), n, d}; }
    matrix_view<T const> w() const { return {head.data(), v, d}; }
    matrix_view<float> dx() { return {d_hidden.data(), n, d}; }
    matrix_view<float> dw() { return {d_head.data(), v, d}; }
    double product() const { return 2.0 * static_cast<double>(n * d * v); }
};

/// The three products, each split over the threads into as few parts as there are.
template <class T, class Backend>
void plain_products(data<T>& s, Backend const& on, bool all) {
    matrix_view<float const> const x(s.wide_hidden.data(), s.n, s.d);
    matrix_view<float const> const w(s.wide_head.data(), s.v, s.d);
    matrix_view<float> const z(s.logits.data(), s.n, s.v);
    matrix_view<float const> const g = z;
    std::size_t const parts = on.workers();
    auto const split = [&](std::size_t size, auto const& work) {
        on.for_each_task(parts, [&](std::size_t task, std::size_t) {
            std::size_t const first = task * size / parts;
            work(first, (task + 1) * size / parts - first);
        });
    };
    split(s.v, [&](std::size_t first, std::size_t count) {
        on.multiply(x, transposed(part(w, first, count, 0, s.d)), part(z, 0, s.n, first, count),
                    false);
    });
    if (!all) return;
    split(s.n, [&](std::size_t first, std::size_t count) {
        on.multiply(part(g, first, count, 0, s.v), w, part(s.dx(), first, count, 0, s.d), false);
    });
    split(s.v, [&](std::size_t first, std::size_t count) {
        on.multiply(transposed(part(g, 0, s.n, first, count)), x,
                    part(s.dw(), first, count, 0, s.d), false);
    });
}

/// One row of log-probs in double, and a sum that gradients must have.
template <class T, class Backend>
void check(data<T>& s, Backend const& on) {
    prefer::linear_token_log_probs(on, s.x(), s.w(), s.labels, s.token_logp);
    for (std::size_t const i : {std::size_t{0}, s.n / 2 + 1, s.n - 1}) {
        double sum = 0;
        double label = 0;
        for (std::size_t j = 0; j < s.v; ++j) {
            double z = 0;
            for (std::size_t k = 0; k < s.d; ++k) {
                z += static_cast<double>(s.wide_hidden[i * s.d + k]) *
                     static_cast<double>(s.wide_head[j * s.d + k]);
            }
            sum += std::exp(z);
            if (j == static_cast<std::size_t>(s.labels[i])) label = z;
        }
        bench::require(std::abs(static_cast<double>(s.token_logp[i]) - label + std::log(sum)) <
                           2e-5,
                       "a token log-prob");
    }
}

double mean(std::vector<double> const& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

/// The time of `own` beside that of as many plain products; `counted` are those of the result.
template <class T, class Backend, class Own>
void beside_products(benchmark::State& state, data<T>& s, Backend const& on, bool all,
                     Own const& own) {
    std::vector<double> time, plain, cpu, plain_cpu;
    return_free_memory();
    reset_peak();
    double const before = peak();
    own();
    double const extra = peak() - before;
    // The processor time of all threads too: a shared machine takes the processor away at times.
    auto const take = [](auto const& work, std::vector<double>& wall, std::vector<double>& busy) {
        std::clock_t const start = std::clock();
        wall.push_back(bench::seconds(work));
        busy.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    };
    auto const products = [&] { plain_products(s, on, all); };
    for (auto _ : state) {
        take(products, plain, plain_cpu);
        take(own, time, cpu);
        state.SetIterationTime(time.back());
    }
    take(products, plain, plain_cpu);
    double const flops = (all ? 3 : 1) * s.product();
    state.counters["GFLOP/s"] = flops / mean(time) / 1e9;
    state.counters["plain GFLOP/s"] = flops / mean(plain) / 1e9;
    state.counters["vs_plain"] = mean(time) / mean(plain);
    state.counters["cpu_vs_plain"] = mean(cpu) / mean(plain_cpu);
    state.counters["extra_MiB"] = extra;
}

template <class T, class Backend>
void forward(benchmark::State& state, Backend const& on) {
    data<T> s(state);
    check(s, on);
    beside_products(state, s, on, false, [&] {
        prefer::linear_token_log_probs(on, s.x(), s.w(), s.labels, s.token_logp);
    });
}

/// Forward and backward with logits computed again: four products.
template <class T, class Backend>
void recomputed(benchmark::State& state, Backend const& on) {
    data<T> s(state);
    check(s, on);
    beside_products(state, s, on, true, [&] {
        prefer::linear_kept<float> kept;
        prefer::linear_token_log_probs(on, s.x(), s.w(), s.labels, s.token_logp, kept);
        prefer::linear_token_log_probs_backward(on, s.x(), s.w(), s.labels, s.upstream, kept,
                                                s.dx(), s.dw());
    });
}

/// Forward and backward of pairs, half of them at a time, with their logits kept.
template <class T, class Backend>
void pair_chunks(benchmark::State& state, Backend const& on) {
    data<T> s(state);
    check(s, on);
    vector_view<float> const half(s.logits.data(), s.n / 2 * s.v);
    beside_products(state, s, on, true, [&] {
        prefer::linear_pair_chunks(
            on, s.x(), s.w(), s.labels, s.offsets, half,
            [&](prefer::pair_chunk const& c) {
                prefer::pair_batch const batch{c.chosen, c.rejected};
                prefer::evaluate_pairs(prefer::loss::cpo{.beta = 0.1}, batch,
                                       prefer::pair_gradients{c.d_chosen, c.d_rejected},
                                       {.normalizer = 4});
            },
            s.dx(), s.dw());
    });
}

prefer::backend::eigen threads_of(benchmark::State const& state) {
    return {.threads = static_cast<int>(state.range(3))};
}

#    define PREFER_BENCH(name, work, type, backend)                                                \
        void name(benchmark::State& state) {                                                       \
            work<type>(state, backend(threads_of(state)));                                         \
        }                                                                                          \
        BENCHMARK(name)                                                                            \
            ->Args({512, 1024, 32000, 2})                                                          \
            ->Args({2048, 2048, 32064, 2})                                                         \
            ->Args({2048, 2048, 128256, 2})                                                        \
            ->Iterations(1)                                                                        \
            ->UseManualTime()                                                                      \
            ->Unit(benchmark::kMillisecond)

PREFER_BENCH(eigen_forward_float, forward, float, prefer::backend::eigen);
PREFER_BENCH(eigen_forward_bf16, forward, prefer::bfloat16, prefer::backend::eigen);
PREFER_BENCH(eigen_recomputed_float, recomputed, float, prefer::backend::eigen);
PREFER_BENCH(eigen_recomputed_bf16, recomputed, prefer::bfloat16, prefer::backend::eigen);
PREFER_BENCH(eigen_pair_chunks_float, pair_chunks, float, prefer::backend::eigen);
PREFER_BENCH(eigen_pair_chunks_bf16, pair_chunks, prefer::bfloat16, prefer::backend::eigen);
#    ifdef PREFER_BENCH_BLAS
using on_blas = prefer::backend::blas<prefer::backend::eigen>;
PREFER_BENCH(blas_forward_float, forward, float, on_blas);
PREFER_BENCH(blas_forward_bf16, forward, prefer::bfloat16, on_blas);
PREFER_BENCH(blas_recomputed_float, recomputed, float, on_blas);
PREFER_BENCH(blas_recomputed_bf16, recomputed, prefer::bfloat16, on_blas);
PREFER_BENCH(blas_pair_chunks_float, pair_chunks, float, on_blas);
PREFER_BENCH(blas_pair_chunks_bf16, pair_chunks, prefer::bfloat16, on_blas);
#    endif

}  // namespace
#endif
