// Token log-probs and their backward for logits [N, V], beside what the machine can do at most, in
// the same run and on the same buffers: the rate at which it reads them, the rate at which it reads
// and writes them in place, and the rate of exponentials. `of_limit` is the time of that loop over
// the library's (median of neighbours; 1 is the limit). Small inputs stand beside a hand loop.
//
// Arguments: rows, columns, threads. Buffers are touched before and reused: the first touch of a
// page costs many times what reading it does.

#include <cmath>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/prefer.hpp>
#if __has_include(<Eigen/Core>)
#    include <prefer/backend/eigen.hpp>
#    define PREFER_BENCH_EIGEN
#endif

#include "support/side_by_side.hpp"

namespace {

using prefer::bfloat16;

template <class T>
struct data {
    std::size_t rows, columns;
    std::vector<T> logits, d_logits;
    std::vector<float> token_logp, loop_logp, upstream;
    std::vector<prefer::row_normalizer<float>> kept;
    std::vector<int> labels;

    data(std::size_t n, std::size_t v)
        : rows(n), columns(v), logits(n * v), d_logits(n * v), token_logp(n), loop_logp(n),
          upstream(n, 0.5F), kept(n), labels(n) {
        prefer::philox rng(1);
        for (T& x : logits) {
            float const spread = prefer::uniform01<float>(rng) + prefer::uniform01<float>(rng);
            x = static_cast<T>(8 * spread - 8);
        }
        for (int& y : labels) y = static_cast<int>(prefer::uniform_index(rng, v));
    }

    auto view() const { return prefer::matrix_view(logits.data(), rows, columns); }
    auto d_view() { return prefer::matrix_view(d_logits.data(), rows, columns); }
    double bytes() const { return static_cast<double>(rows * columns * sizeof(T)); }
};

/// The same buffers for all benchmarks of an element type and shape.
template <class T>
data<T>& data_of(benchmark::State const& state) {
    static std::vector<data<T>*> made;
    auto const n = static_cast<std::size_t>(state.range(0));
    auto const v = static_cast<std::size_t>(state.range(1));
    for (data<T>* d : made) {
        if (d->rows == n && d->columns == v) return *d;
    }
    made.push_back(new data<T>(n, v));
    return *made.back();
}

/// What a careful programmer writes: the maximum, then the sum of exponentials.
template <class T>
void loop_forward(data<T>& d) {
    for (std::size_t i = 0; i < d.rows; ++i) {
        T const* const row = d.logits.data() + i * d.columns;
        float largest = static_cast<float>(row[0]);
        for (std::size_t j = 1; j < d.columns; ++j) {
            largest = std::max(largest, static_cast<float>(row[j]));
        }
        double sum = 0;
        for (std::size_t j = 0; j < d.columns; ++j) {
            sum += static_cast<double>(std::exp(static_cast<float>(row[j]) - largest));
        }
        float const label = static_cast<float>(row[d.labels[i]]);
        d.loop_logp[i] = label - largest - static_cast<float>(std::log(sum));
    }
    benchmark::ClobberMemory();
}

/// Calls `part(first, last)` on so many threads, for as many parts of the bytes.
template <class Part>
void on_threads(std::size_t bytes, int threads, Part const& part) {
    std::vector<std::thread> others;
    std::size_t const share = bytes / static_cast<std::size_t>(threads) / 4096 * 4096;
    for (int t = 1; t < threads; ++t) {
        others.emplace_back([&, t] {
            auto const first = static_cast<std::size_t>(t) * share;
            part(first, t + 1 == threads ? bytes : first + share);
        });
    }
    part(0, threads == 1 ? bytes : share);
    for (std::thread& other : others) other.join();
}

/// Every byte is read once, in the fastest way found: four vectors at a time, asked for ahead.
void read_once(void const* memory, std::size_t bytes, int threads) {
    auto const* const at = static_cast<char const*>(memory);
    on_threads(bytes, threads, [&](std::size_t first, std::size_t last) {
        constexpr std::size_t lanes = 64;
        float sums[lanes] = {};
        for (std::size_t k = first; k + sizeof sums <= last; k += sizeof sums) {
#if defined(__GNUC__) || defined(__clang__)
            for (std::size_t b = 0; b < sizeof sums; b += 64) __builtin_prefetch(at + k + b + 8192);
#endif
            float numbers[lanes];
            std::memcpy(numbers, at + k, sizeof numbers);
            for (std::size_t j = 0; j < lanes; ++j) sums[j] += numbers[j];
        }
        benchmark::DoNotOptimize(sums);
    });
}

/// Every byte is read and written once, in place.
void scale_in_place(void* memory, std::size_t bytes, int threads) {
    auto* const at = static_cast<float*>(memory);
    float one = 1;
    benchmark::DoNotOptimize(one);
    on_threads(bytes, threads, [&](std::size_t first, std::size_t last) {
        float const factor = one;
        for (std::size_t k = first / 4; k < last / 4; ++k) at[k] *= factor;
        benchmark::ClobberMemory();
    });
}

template <class T, class Backend>
void check(data<T>& d, Backend const& on) {
    prefer::token_log_probs(on, d.view(), d.labels,
                            prefer::token_outputs(d.token_logp).with_normalizers(d.kept));
    loop_forward(d);
    for (std::size_t i = 0; i < d.rows; ++i) {
        bench::require(std::abs(d.token_logp[i] - d.loop_logp[i]) < 1e-5F, "a token log-prob");
    }
    prefer::token_log_probs_backward(on, d.view(), d.labels, d.upstream, d.kept, d.d_view());
    for (std::size_t i = 0; i < d.rows; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < d.columns; ++j) {
            sum += static_cast<double>(static_cast<float>(d.d_logits[i * d.columns + j]));
        }
        bench::require(std::abs(sum) < (sizeof(T) == 2 ? 3e-3 : 1e-4),
                       "a row of gradients: it must add up to 0");
    }
}

/// `library` beside `limit`, both of which move `moved` bytes.
template <class Library, class Limit>
void beside_limit(benchmark::State& state, double moved, Library const& library,
                  Limit const& limit) {
    std::vector<double> own, machine, ratio;
    library();
    limit();
    for (auto _ : state) {
        double const a = bench::seconds(library);
        double const b = bench::seconds(limit);
        state.SetIterationTime(a);
        own.push_back(a);
        machine.push_back(b);
        ratio.push_back(b / a);
    }
    if (ratio.empty()) return;
    state.counters["of_limit"] = bench::median(ratio);
    state.counters["GB/s"] = moved / bench::median(own) / 1e9;
    state.counters["limit_GB/s"] = moved / bench::median(machine) / 1e9;
}

template <class T, class Backend>
void forward_loop(benchmark::State& state, Backend const& on) {
    auto& d = data_of<T>(state);
    check(d, on);
    bench::side_by_side(
        state, [&] { prefer::token_log_probs(on, d.view(), d.labels, d.token_logp); },
        [&] { loop_forward(d); }, {static_cast<double>(d.rows), d.bytes()});
}
void plain_forward(benchmark::State& state) {
    forward_loop<float>(state, prefer::backend::plain{});
}
BENCHMARK(plain_forward)->Args({64, 32000})->UseManualTime();

#ifdef PREFER_BENCH_EIGEN
prefer::backend::eigen threads_of(benchmark::State const& state) {
    return {.threads = static_cast<int>(state.range(2))};
}

template <class T>
void forward(benchmark::State& state) {
    auto& d = data_of<T>(state);
    auto const on = threads_of(state);
    check(d, on);
    beside_limit(
        state, d.bytes(), [&] { prefer::token_log_probs(on, d.view(), d.labels, d.token_logp); },
        [&] { read_once(d.logits.data(), d.logits.size() * sizeof(T), on.threads); });
}

/// With entropy, accuracy, Σp² and the mean logit.
template <class T>
void forward_all_outputs(benchmark::State& state) {
    auto& d = data_of<T>(state);
    auto const on = threads_of(state);
    std::vector<float> a(d.rows), b(d.rows), c(d.rows), e(d.rows);
    auto const out = prefer::token_outputs(d.token_logp)
                         .with_entropy(a)
                         .with_hits(b)
                         .with_log_sum_squares(c)
                         .with_mean_logit(e);
    beside_limit(
        state, d.bytes(), [&] { prefer::token_log_probs(on, d.view(), d.labels, out); },
        [&] { read_once(d.logits.data(), d.logits.size() * sizeof(T), on.threads); });
}

/// From kept normalisers: one read, one write, beside the same in place.
template <class T>
void backward_kept(benchmark::State& state) {
    auto& d = data_of<T>(state);
    auto const on = threads_of(state);
    check(d, on);
    beside_limit(
        state, 2 * d.bytes(),
        [&] {
            prefer::token_log_probs_backward(on, d.view(), d.labels, d.upstream, d.kept,
                                             d.d_view());
        },
        [&] { scale_in_place(d.logits.data(), d.logits.size() * sizeof(T), on.threads); });
}

/// Over the logits, which are written anew in between.
template <class T>
void backward_in_place(benchmark::State& state) {
    auto& d = data_of<T>(state);
    auto const on = threads_of(state);
    check(d, on);
    std::vector<double> own, limit, ratio;
    for (auto _ : state) {
        d.d_logits = d.logits;
        double const a = bench::seconds([&] {
            prefer::token_log_probs_backward(on, d.d_view(), d.labels, d.upstream, d.kept,
                                             d.d_view());
        });
        double const b = bench::seconds(
            [&] { scale_in_place(d.logits.data(), d.logits.size() * sizeof(T), on.threads); });
        state.SetIterationTime(a);
        own.push_back(a);
        limit.push_back(b);
        ratio.push_back(b / a);
    }
    state.counters["of_limit"] = bench::median(ratio);
    state.counters["GB/s"] = 2 * d.bytes() / bench::median(own) / 1e9;
    state.counters["limit_GB/s"] = 2 * d.bytes() / bench::median(limit) / 1e9;
}

/// The rate of exponentials, with all that belongs to a row: one that stays in the cache.
template <class T>
void exponentials(benchmark::State& state) {
    auto& d = data_of<T>(state);
    prefer::matrix_view const row(d.logits.data(), 1, d.columns);
    std::vector<int> const label{5};
    std::vector<float> out(1);
    for (auto _ : state) {
        prefer::token_log_probs(row, label, out);
        benchmark::DoNotOptimize(out.data());
    }
    state.counters["exp/s"] = benchmark::Counter(static_cast<double>(d.columns),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

#    define PREFER_BENCH_SHAPES                                                                    \
        ->Args({512, 128256, 1})->Args({512, 128256, 2})->UseManualTime()->Iterations(9)

BENCHMARK(forward<float>) PREFER_BENCH_SHAPES;
BENCHMARK(forward<bfloat16>) PREFER_BENCH_SHAPES;
BENCHMARK(forward_all_outputs<float>) PREFER_BENCH_SHAPES;
BENCHMARK(backward_kept<float>) PREFER_BENCH_SHAPES;
BENCHMARK(backward_kept<bfloat16>) PREFER_BENCH_SHAPES;
BENCHMARK(backward_in_place<float>) PREFER_BENCH_SHAPES;
BENCHMARK(backward_in_place<bfloat16>) PREFER_BENCH_SHAPES;
BENCHMARK(exponentials<float>)->Args({1, 16384});
BENCHMARK(exponentials<bfloat16>)->Args({1, 16384});
#endif

}  // namespace
