// evaluate_pairs (loss, gradients, metrics in one pass) beside a hand-written loop for the same
// formula and the same outputs, for B pairs in float.

#include <cmath>
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/prefer.hpp>

#include "support/side_by_side.hpp"

namespace {

struct data {
    std::vector<float> policy_chosen, policy_rejected, reference_chosen, reference_rejected;
    std::vector<float> d_chosen, d_rejected, loop_d_chosen, loop_d_rejected;
    std::vector<int> lengths;

    explicit data(std::size_t pairs)
        : d_chosen(pairs), d_rejected(pairs), loop_d_chosen(pairs), loop_d_rejected(pairs),
          lengths(pairs, 10) {
        prefer::philox rng(1);
        for (auto* column :
             {&policy_chosen, &policy_rejected, &reference_chosen, &reference_rejected}) {
            column->resize(pairs);
            for (float& x : *column) x = -40 * prefer::uniform01<float>(rng);
        }
    }
};

struct totals {
    double loss = 0, correct = 0, chosen = 0, rejected = 0, log_chosen = 0, log_rejected = 0,
           scale = 0;
};

/// What a careful programmer writes: one loop, plain floats, the formula and its slope by hand.
template <class Formula>
totals hand_written(data& d, float beta, Formula const& loss_and_slope) {
    totals t;
    std::size_t const n = d.policy_chosen.size();
    float const share = 1.0F / static_cast<float>(n);
    for (std::size_t i = 0; i < n; ++i) {
        float const chosen = d.policy_chosen[i] - d.reference_chosen[i];
        float const rejected = d.policy_rejected[i] - d.reference_rejected[i];
        float loss = 0, slope = 0;  // slope: d loss / d (chosen - rejected)
        loss_and_slope(chosen - rejected, loss, slope);
        d.loop_d_chosen[i] = slope * share;
        d.loop_d_rejected[i] = -slope * share;
        t.loss += static_cast<double>(loss);
        t.correct += chosen > rejected ? 1 : 0;
        t.chosen += static_cast<double>(beta * chosen);
        t.rejected += static_cast<double>(beta * rejected);
        t.log_chosen += static_cast<double>(d.policy_chosen[i]);
        t.log_rejected += static_cast<double>(d.policy_rejected[i]);
        t.scale += static_cast<double>(std::abs(slope));
    }
    t.loss /= static_cast<double>(n);
    benchmark::DoNotOptimize(t);
    return t;
}

template <class Loss, class Formula>
void run(benchmark::State& state, Loss const& loss, float beta, Formula const& formula) {
    auto const pairs = static_cast<std::size_t>(state.range(0));
    data d(pairs);
    prefer::pair_batch const batch{d.policy_chosen, d.policy_rejected, d.reference_chosen,
                                   d.reference_rejected};
    auto const sized = batch.with_lengths(d.lengths, d.lengths);
    prefer::pair_gradients const gradients{d.d_chosen, d.d_rejected};

    double const own = prefer::evaluate_pairs(loss, sized, gradients).loss;
    bench::require(bench::agree(own, hand_written(d, beta, formula).loss, 1e-5), "the loss");
    float largest = 0;
    for (float const g : d.loop_d_chosen) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < pairs; ++i) {
        bench::require(std::abs(d.d_chosen[i] - d.loop_d_chosen[i]) <= 1e-5F * largest,
                       "a gradient");
    }
    bench::side_by_side(
        state, [&] { benchmark::DoNotOptimize(prefer::evaluate_pairs(loss, sized, gradients)); },
        [&] { hand_written(d, beta, formula); },
        {static_cast<double>(pairs), static_cast<double>(pairs) * 6 * sizeof(float)});
}

constexpr float beta = 0.1F;

void dpo(benchmark::State& state) {
    run(state, prefer::loss::dpo{.beta = 0.1}, beta, [](float h, float& loss, float& slope) {
        float const e = std::exp(-std::abs(beta * h));
        loss = std::max(-beta * h, 0.0F) + std::log1p(e);
        slope = -beta * (h > 0 ? e : 1.0F) / (1.0F + e);
    });
}

void ipo_averaged(benchmark::State& state) {
    run(state, prefer::loss::ipo{.beta = 0.1}, beta, [](float h, float& loss, float& slope) {
        float const gap = h / 10.0F - 5.0F;
        loss = gap * gap;
        slope = 2.0F * gap / 10.0F;
    });
}

void hinge_norm(benchmark::State& state) {
    run(state, prefer::loss::hinge_norm{.beta = 0.1}, beta, [](float h, float& loss, float& slope) {
        loss = std::max(0.0F, 1.0F - beta * h);
        slope = loss > 0.0F ? -beta : 0.0F;
    });
}

BENCHMARK(dpo)->Arg(64)->Arg(16 << 10)->Arg(1 << 20)->UseManualTime();
BENCHMARK(ipo_averaged)->Arg(64)->Arg(16 << 10)->Arg(1 << 20)->UseManualTime();
BENCHMARK(hinge_norm)->Arg(64)->Arg(16 << 10)->Arg(1 << 20)->UseManualTime();

}  // namespace
