// SPDX-License-Identifier: MIT
// evaluate_examples (loss, gradient, metrics by kind and checks in one pass) for kto and bco,
// beside a hand-written vectorised loop for the same formula and the same outputs: one register of
// lanes at a time, the slope by hand with the exponential shared, no checks. Both use the exp and
// log of math/pack.hpp. B examples in float, half of them desirable.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>
#include <prefer/prefer.hpp>

#include "support/side_by_side.hpp"

namespace {

namespace loss = prefer::loss;
namespace math = prefer::math;
using P = math::register_t<float>;
constexpr std::size_t lanes = sizeof(P) / sizeof(float);

struct data {
    std::vector<float> policy, reference, labels, d, loop_d;

    explicit data(std::size_t examples) : d(examples), loop_d(examples) {
        prefer::philox rng(1);
        for (std::size_t i = 0; i < examples; ++i) {
            policy.push_back(-40 * prefer::uniform01<float>(rng));
            reference.push_back(-40 * prefer::uniform01<float>(rng));
            labels.push_back(prefer::uniform01<float>(rng) < 0.5F ? 1.0F : 0.0F);
        }
    }
};

/// The data of the last size asked for.
data& shared(std::size_t examples) {
    static data d(0);
    if (d.policy.size() != examples) d = data(examples);
    return d;
}

P load(std::vector<float> const& v, std::size_t i) {
    P x;
    std::memcpy(static_cast<void*>(&x), v.data() + i, sizeof(P));
    return x;
}

/// What a formula by hand gives.
struct by_hand {
    P loss, slope;
};

struct totals {
    double loss = 0;
    double reward[2] = {};  // of the desirable, the undesirable
    double sums = 0;        // all others, so that none is left out
};

template <class Formula>
PREFER_FLATTEN totals hand_written(data& d, float beta, Formula const& formula) {
    using prefer::detail::lane_sum;
    std::size_t const n = d.policy.size();
    P const share(1.0F / static_cast<float>(n));
    P const zero(0.0F);
    lane_sum<P> loss, scale, losses[2], rewards[2], log_probs[2];
    prefer::detail::lane_count_sum<P> counts[2];
    for (std::size_t i = 0; i < n; i += lanes) {
        P const policy = load(d.policy, i);
        P const ratio = policy - load(d.reference, i);
        P const label = load(d.labels, i);
        by_hand const y = formula(ratio, label);
        prefer::detail::store_lanes(y.slope * share, d.loop_d.data() + i);
        loss.add(y.loss);
        scale.add(math::abs(y.slope));
        P const reward = P(beta) * ratio;
        auto const desirable = label > P(0.5F);
        auto const add_where = [&](auto const& mine, std::size_t side) {
            counts[side].add(mine);
            losses[side].add(math::select(mine, y.loss, zero));
            rewards[side].add(math::select(mine, reward, zero));
            log_probs[side].add(math::select(mine, policy, zero));
        };
        add_where(desirable, 0);
        add_where(!desirable, 1);
    }
    totals t;
    t.loss = loss.total() / static_cast<double>(n);
    t.sums = scale.total();
    for (std::size_t side = 0; side < 2; ++side) {
        t.reward[side] = rewards[side].total() / counts[side].total();
        t.sums += losses[side].total() + log_probs[side].total();
    }
    benchmark::DoNotOptimize(t);
    return t;
}

template <class Loss, class Formula>
void run(benchmark::State& state, Loss const& l, Formula const& formula) {
    auto const examples = static_cast<std::size_t>(state.range(0));
    data& d = shared(examples);
    auto const beta = static_cast<float>(l.beta);
    auto const batch = prefer::example_batch{d.policy, d.reference}.with_labels(d.labels);
    prefer::example_gradients const gradients{d.d};

    auto const own = prefer::evaluate_examples(l, batch, gradients);
    totals const by_loop = hand_written(d, beta, formula);
    bench::require(bench::agree(own.loss, by_loop.loss, 1e-5), "the loss");
    bench::require(bench::agree(own.desirable.reward, by_loop.reward[0], 1e-5), "a reward");
    bench::require(bench::agree(own.undesirable.reward, by_loop.reward[1], 1e-5), "a reward");
    float largest = 0;
    for (float const g : d.loop_d) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < examples; ++i) {
        bench::require(std::abs(d.d[i] - d.loop_d[i]) <= 1e-5F * largest, "a gradient");
    }
    bench::side_by_side(
        state, [&] { benchmark::DoNotOptimize(prefer::evaluate_examples(l, batch, gradients)); },
        [&] { hand_written(d, beta, formula); },
        {static_cast<double>(examples), static_cast<double>(examples * 4 * sizeof(float))});
}

template <class Loss, class Formula>
void compare(char const* name, Loss const& l, Formula const& formula) {
    benchmark::RegisterBenchmark(name,
                                 [l, formula](benchmark::State& state) { run(state, l, formula); })
        ->Arg(16 << 10)
        ->Arg(4 << 20)
        ->UseManualTime();
}

[[maybe_unused]] bool const registered = [] {
    P const b(0.1F), one(1.0F), two(2.0F);
    compare("kto", loss::kto{.undesirable_weight = 1.5, .reference_point = 0.25},
            [=](P const& ratio, P const& label) {
                P const sign = two * label - one;
                P const weight = math::select(label > P(0.5F), one, P(1.5F));
                P const z = sign * b * (ratio - P(0.25F));
                P const e = math::exp_below_zero(-math::abs(z));
                P const inverse = one / (one + e);
                P const small = e * inverse;  // σ(-|z|); the other one is the inverse
                P const value = weight * math::select(z > P(0.0F), small, inverse);
                return by_hand{value, -(sign * b * weight * small * inverse)};
            });
    compare("bco", loss::bco{.shift = 0.5}, [=](P const& ratio, P const& label) {
        P const sign = two * label - one;
        P const z = sign * (b * ratio - P(0.5F));
        P const e = math::exp_below_zero(-math::abs(z));
        P const value = math::max(P(0.0F), -z) + math::log1p_of_fraction(e);
        return by_hand{value, -(sign * b * math::select(z > P(0.0F), e, one) / (one + e))};
    });
    return true;
}();

}  // namespace
