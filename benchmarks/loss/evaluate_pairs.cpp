// SPDX-License-Identifier: MIT
// evaluate_pairs (loss, gradients, metrics and checks in one pass) for every pair loss, beside a
// hand-written vectorised loop for the same formula and the same outputs: one register of lanes at
// a time, the slope by hand with the exponentials shared, no checks. Both use the exp and log of
// math/pack.hpp, so the ratio is the price of writing the formula once. B pairs in float.

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
    std::vector<float> pc, pr, rc, rr, sc, sr, labels, offsets;
    std::vector<float> dc, dr, loop_dc, loop_dr;
    std::vector<int> nc, nr;

    explicit data(std::size_t pairs)
        : dc(pairs), dr(pairs), loop_dc(pairs), loop_dr(pairs), nc(pairs), nr(pairs) {
        prefer::philox rng(1);
        auto const fill = [&](std::vector<float>& column, float low, float high) {
            column.resize(pairs);
            for (float& x : column) x = low + (high - low) * prefer::uniform01<float>(rng);
        };
        for (auto* column : {&pc, &pr, &rc, &rr}) fill(*column, -40, -0.5F);
        fill(sc, -1, 1);
        fill(sr, -1, 1);
        fill(offsets, -1, 1);
        labels.resize(pairs);
        for (std::size_t i = 0; i < pairs; ++i) {
            labels[i] = static_cast<float>(i % 3) / 2;
            nc[i] = static_cast<int>(8 + i % 9);
            nr[i] = static_cast<int>(8 + i % 7);
        }
    }
};

/// The data of the last size asked for; the largest takes a second to make.
data& shared(std::size_t pairs) {
    static data d(0);
    if (d.pc.size() != pairs) d = data(pairs);
    return d;
}

/// A pack of pairs as the hand-written loops see it.
struct seen {
    P lw, ll, dw, dl, nw, nl, sw, sl, label, offset;
    P h() const { return dw - dl; }
};

/// What a formula by hand gives.
struct by_hand {
    P loss, d_chosen, d_rejected;
};

struct link {
    P value, slope;
};

/// softplus and its slope, with one exponential.
link soft(P const& x) {
    P const e = math::exp_below_zero(-math::abs(x));
    return {math::max(x, P(0)) + math::log1p_of_fraction(e),
            math::select(x < P(0), e, P(1)) / (P(1) + e)};
}

P sigma(P const& x) {
    return soft(x).slope;
}

by_hand of_margin(P const& value, P const& slope) {
    return {value, slope, -slope};
}

/// KL of σ(a) to σ(c), and its slope in a times `scale`; not cancelling where a is close to c.
by_hand bernoulli(P const& a, P const& c, P const& log_q, P const& log_not_q, P const& scale) {
    P const one(1);
    P const e = math::exp_below_zero(-math::abs(a));
    P const small = e / (one + e), large = one / (one + e);
    P const l = math::log1p_of_fraction(e);
    auto const positive = a > P(0);
    P const p = math::select(positive, large, small), q = math::select(positive, small, large);
    P const log_p = math::select(positive, -l, a - l),
            log_not_p = math::select(positive, -a - l, -l);
    P const d = a - c;
    P const apart = p * (log_p - log_q) + q * (log_not_p - log_not_q);
    P const gap = math::select(positive, d, -d);
    P const tight = math::log1p(small * math::expm1(gap)) - small * gap;
    return of_margin(math::select(math::abs(d) < one, tight, apart), scale * p * q * d);
}

P load(std::vector<float> const& v, std::size_t i) {
    P x;
    std::memcpy(static_cast<void*>(&x), v.data() + i, sizeof(P));
    return x;
}

P load(std::vector<int> const& v, std::size_t i) {
    float x[lanes];
    for (std::size_t j = 0; j < lanes; ++j) x[j] = static_cast<float>(v[i + j]);
    P lengths;
    std::memcpy(static_cast<void*>(&lengths), x, sizeof(P));
    return lengths;
}

struct totals {
    double loss = 0, sums = 0;
};

/// One loop for one formula. What the formula does not read, the compiler leaves out.
template <bool Reference, class Formula>
PREFER_FLATTEN totals hand_written(data& d, float beta, Formula const& formula) {
    using prefer::detail::lane_sum;
    std::size_t const n = d.pc.size();
    P const share(1.0F / static_cast<float>(n));
    lane_sum<P> loss, chosen, rejected, log_chosen, log_rejected, scale;
    prefer::detail::lane_count_sum<P> correct, ties;
    for (std::size_t i = 0; i < n; i += lanes) {
        seen x;
        x.lw = load(d.pc, i);
        x.ll = load(d.pr, i);
        if constexpr (Reference) {
            x.dw = x.lw - load(d.rc, i);
            x.dl = x.ll - load(d.rr, i);
        } else {
            x.dw = x.lw;
            x.dl = x.ll;
        }
        x.nw = load(d.nc, i);
        x.nl = load(d.nr, i);
        x.sw = load(d.sc, i);
        x.sl = load(d.sr, i);
        x.label = load(d.labels, i);
        x.offset = load(d.offsets, i);
        by_hand const y = formula(x);
        prefer::detail::store_lanes(y.d_chosen * share, d.loop_dc.data() + i);
        prefer::detail::store_lanes(y.d_rejected * share, d.loop_dr.data() + i);
        P const rw = P(beta) * x.dw;
        P const rl = P(beta) * x.dl;
        loss.add(y.loss);
        correct.add(rw > rl);
        ties.add(rw <= rl && rw >= rl);
        chosen.add(rw);
        rejected.add(rl);
        log_chosen.add(x.lw);
        log_rejected.add(x.ll);
        scale.add(math::abs(y.d_chosen) + math::abs(y.d_rejected));
    }
    totals const t{loss.total() / static_cast<double>(n),
                   correct.total() + ties.total() + chosen.total() + rejected.total() +
                       log_chosen.total() + log_rejected.total() + scale.total()};
    benchmark::DoNotOptimize(t);
    return t;
}

template <bool Reference, class Loss, class Formula>
void run(benchmark::State& state, Loss const& l, float beta, Formula const& formula) {
    auto const pairs = static_cast<std::size_t>(state.range(0));
    data& d = shared(pairs);
    prefer::pair_inputs const read = l.inputs();
    prefer::pair_batch<float, int> batch =
        prefer::pair_batch{d.pc, d.pr, d.rc, d.rr}.with_lengths(d.nc, d.nr);
    batch.has_reference = read.reference;
    batch.has_lengths = read.lengths;
    if (read.scores) batch = batch.with_scores(d.sc, d.sr);
    if (read.labels) batch = batch.with_labels(d.labels);
    if (read.offsets) batch = batch.with_offsets(d.offsets);
    prefer::pair_gradients const gradients{d.dc, d.dr};

    double const own = prefer::evaluate_pairs(l, batch, gradients).loss;
    double const by_loop = hand_written<Reference>(d, beta, formula).loss;
    bench::require(bench::agree(own, by_loop, 1e-4), "the loss");
    float largest = 0;
    for (float const g : d.loop_dc) largest = std::max(largest, std::abs(g));
    for (float const g : d.loop_dr) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < pairs; ++i) {
        bench::require(std::abs(d.dc[i] - d.loop_dc[i]) <= 1e-4F * largest, "a gradient");
        bench::require(std::abs(d.dr[i] - d.loop_dr[i]) <= 1e-4F * largest, "a gradient");
    }
    std::size_t const columns = 4U + (read.reference ? 2U : 0U) + (read.lengths ? 2U : 0U) +
                                (read.scores ? 2U : 0U) + (read.labels ? 1U : 0U) +
                                (read.offsets ? 1U : 0U);
    bench::side_by_side(
        state, [&] { benchmark::DoNotOptimize(prefer::evaluate_pairs(l, batch, gradients)); },
        [&] { hand_written<Reference>(d, beta, formula); },
        {static_cast<double>(pairs), static_cast<double>(pairs * columns * sizeof(float))});
}

/// Registers a loss with its formula by hand. The reward's β is the loss's, or 1.
template <bool Reference = true, class Loss, class Formula>
void compare(char const* name, Loss const& l, Formula const& formula) {
    float beta = 1;
    if constexpr (requires { l.beta; }) beta = static_cast<float>(l.beta);
    auto* const b = benchmark::RegisterBenchmark(name, [l, beta, formula](benchmark::State& state) {
        run<Reference>(state, l, beta, formula);
    });
    b->Arg(16 << 10)->Arg(4 << 20)->UseManualTime();
}

/// -log σ(β·h), its slope in h.
link logistic(P const& h, P const& beta) {
    link const s = soft(-(beta * h));
    return {s.value, -(beta * s.slope)};
}

void with_reference() {
    P const b(0.1F), five(5.0F), two(2.0F), one(1.0F);
    compare("dpo", loss::dpo{}, [=](seen const& x) {
        link const s = logistic(x.h(), b);
        return of_margin(s.value, s.slope);
    });
    compare("dpo averaged", loss::dpo{.margin_of = prefer::log_probs::averaged},
            [=](seen const& x) {
                link const s = logistic(x.dw / x.nw - x.dl / x.nl, b);
                return by_hand{s.value, s.slope / x.nw, -(s.slope / x.nl)};
            });
    compare("dpo smoothed", loss::dpo{.label_smoothing = 0.1}, [=](seen const& x) {
        link const s = logistic(x.h(), b);
        return of_margin(s.value + P(0.1F) * b * x.h(), s.slope + P(0.1F) * b);
    });
    compare("robust_dpo", loss::robust_dpo{}, [=](seen const& x) {
        link const s = logistic(x.h(), b);
        return of_margin(s.value - P(0.125F) * b * x.h(), s.slope - P(0.125F) * b);
    });
    compare("ipo", loss::ipo{}, [=](seen const& x) {
        P const gap = x.dw / x.nw - x.dl / x.nl - five;
        return by_hand{gap * gap, two * gap / x.nw, -(two * gap / x.nl)};
    });
    compare("hinge_norm", loss::hinge_norm{}, [=](seen const& x) {
        P const v = one - b * x.h();
        return of_margin(math::max(P(0), v), math::select(v > P(0), -b, P(0)));
    });
    compare("exo", loss::exo{}, [=](seen const& x) {
        P const log_right(std::log1p(-1e-3F)), log_flipped(std::log(1e-3F));
        return bernoulli(b * x.h(), log_right - log_flipped, log_right, log_flipped, b);
    });
    compare("nca", loss::nca{}, [=](seen const& x) {
        link const w = soft(-(b * x.dw)), l = soft(b * x.dl);
        return by_hand{P(1.5F) * w.value + P(0.5F) * (b * x.dw + l.value),
                       b * (P(0.5F) - P(1.5F) * w.slope), P(0.5F) * b * l.slope};
    });
    compare("bco_pair", loss::bco_pair{}, [=](seen const& x) {
        link const w = soft(-(b * x.dw)), l = soft(b * x.dl);
        return by_hand{w.value + l.value, -(b * w.slope), b * l.slope};
    });
    compare("sppo_hard", loss::sppo_hard{}, [=](seen const& x) {
        P const w = x.dw - five, l = x.dl + five;
        return by_hand{w * w + l * l, two * w, two * l};
    });
    compare("apo_zero", loss::apo_zero{}, [=](seen const& x) {
        P const w = sigma(b * x.dw), l = sigma(b * x.dl);
        return by_hand{one - w + l, -(b * w * (one - w)), b * l * (one - l)};
    });
    compare("apo_down", loss::apo_down{}, [=](seen const& x) {
        // Where the two sigmoids nearly cancel, their difference as a product.
        P const rw = b * x.dw, rl = b * x.dl, z = b * x.h();
        P const w = sigma(rw), not_w = sigma(-rw), m = sigma(z), not_m = sigma(-z);
        auto const up = rl >= P(0);
        P const e = math::expm1(-math::abs(rl));
        P const product = e * math::select(up, w * not_m, -(not_w * m));
        P const slope = b * m * not_m;
        return by_hand{math::select(math::abs(z) < one, one - product, w + not_m),
                       b * w * not_w - slope, slope};
    });
    compare("discopop", loss::discopop{}, [=](seen const& x) {
        // m·e^-z as one exponential: apart, one overflows where the other underflows.
        P const z = b * x.h(), gate = z / P(0.05F);
        link const s = soft(-z), g = soft(-gate);
        P const both = math::exp(-g.value - z);
        P const m = one - g.slope;
        return of_margin(g.slope * s.value + both,
                         b * (m * g.slope / P(-0.05F) * s.value - g.slope * s.slope +
                              both * (g.slope / P(0.05F) - one)));
    });
    compare("dpop", loss::dpop{}, [=](seen const& x) {
        P const penalty(50.0F);
        link const s = logistic(x.h() - penalty * math::max(P(0), -x.dw), b);
        P const more = math::select(x.dw < P(0), one + penalty, one);
        return by_hand{s.value, s.slope * more, -s.slope};
    });
    compare("r_dpo", loss::r_dpo{}, [=](seen const& x) {
        link const s = soft(-(b * x.h() + P(0.01F) * (x.nw - x.nl)));
        return of_margin(s.value, -(b * s.slope));
    });
    compare("reward_aware_rpo", loss::reward_aware_rpo{}, [=](seen const& x) {
        P const z = b * x.h(), g = x.sw - x.sl;
        link const s = soft(-z);
        by_hand const y = bernoulli(g, z, -s.value, -s.value - z, one);
        return of_margin(y.loss, b * (sigma(-g) - s.slope));
    });
    compare("cal_dpo", loss::cal_dpo{}, [=](seen const& x) {
        link const s = logistic(x.h(), one);
        P const w = x.dw - five, l = x.dl + five;
        return by_hand{s.value + w * w + l * l, s.slope + two * w, two * l - s.slope};
    });
    compare("spin", loss::spin{}, [=](seen const& x) {
        link const s = logistic(x.h(), P(0.2F));
        return of_margin(s.value, s.slope);
    });
    compare("rebel", loss::rebel{}, [=](seen const& x) {
        P const gap = x.h() - (x.sw - x.sl);
        return of_margin(gap * gap, two * gap);
    });
    compare("online_ipo", loss::online_ipo{}, [=](seen const& x) {
        P const gap = x.dw / x.nw - x.dl / x.nl - (x.label - P(0.5F)) / b;
        return by_hand{gap * gap, two * gap / x.nw, -(two * gap / x.nl)};
    });
    compare("aot", loss::aot{}, [=](seen const& x) {
        link const s = logistic(x.lw - x.ll - x.offset, b);
        return of_margin(s.value, s.slope);
    });
}

void without_reference() {
    P const b(0.1F), one(1.0F), two(2.0F);
    compare<false>("slic", loss::slic{}, [=](seen const& x) {
        P const v = one - (x.lw - x.ll);
        P const slope = math::select(v > P(0), one, P(0));
        return by_hand{math::max(P(0), v) - b * x.lw, -slope - b, slope};
    });
    compare<false>("cpo", loss::cpo{}, [=](seen const& x) {
        link const s = logistic(x.lw - x.ll, b);
        return by_hand{s.value - x.lw, s.slope - one, -s.slope};
    });
    compare<false>("simpo", loss::simpo{}, [=](seen const& x) {
        link const s = logistic(x.lw / x.nw - x.ll / x.nl - P(0.25F), two);
        return by_hand{s.value, s.slope / x.nw, -(s.slope / x.nl)};
    });
    compare<false>("alpha_po", loss::alpha_po{}, [=](seen const& x) {
        P const a(0.25F), most(60.0F);
        P const w = math::expm1(math::min(-(a * x.lw / x.nw), most));
        P const l = math::expm1(math::min(-(a * x.ll / x.nl), most));
        link const s = logistic((l - w) / a - P(0.25F), two);
        return by_hand{s.value, s.slope * (w + one) / x.nw, -(s.slope * (l + one) / x.nl)};
    });
    compare<false>("orpo", loss::orpo{}, [=](seen const& x) {
        P const tiny(-0x1p-63F);
        P const w = math::min(x.lw / x.nw, tiny), l = math::min(x.ll / x.nl, tiny);
        P const not_w = -math::expm1(w), not_l = -math::expm1(l);
        link const s = soft((l - math::log1mexp(l)) - (w - math::log1mexp(w)));
        return by_hand{b * s.value - w, (-(b * s.slope) / not_w - one) / x.nw,
                       b * s.slope / not_l / x.nl};
    });
    compare<false>("tpo", loss::tpo{}, [=](seen const& x) {
        link const s = logistic(x.lw - x.ll, P(0.01F));
        return of_margin(s.value, s.slope);
    });
    compare<false>("bradley_terry", loss::bradley_terry{}, [=](seen const& x) {
        P const m = x.lw - x.ll - x.offset;
        link const s = soft(-m);
        return of_margin(s.value + (one - x.label) * m, one - x.label - s.slope);
    });
    compare<false>("davidson", loss::davidson{}, [=](seen const& x) {
        P const m = x.lw - x.ll;
        P const a = math::exp(P(-0.5F) * math::abs(m));
        P const z = one + a + a * a;
        P const sign = math::select(m < P(0), P(-1.0F), one);
        return of_margin((P(0.5F) - x.label) * m + P(0.5F) * math::abs(m) + math::log(z),
                         P(0.5F) - x.label + P(0.5F) * sign * (one - a * a) / z);
    });
    compare<false>("rao_kupper", loss::rao_kupper{}, [=](seen const& x) {
        P const m = x.lw - x.ll, log_theta(std::log(2.0F));
        link const w = soft(log_theta - m), l = soft(log_theta + m);
        P const tie = one - math::abs(two * x.label - one);
        P const win = math::max(P(0), two * x.label - one);
        P const lose = math::max(P(0), one - two * x.label);
        return of_margin((win + tie) * w.value + (lose + tie) * l.value - tie * P(std::log(3.0F)),
                         (lose + tie) * l.slope - (win + tie) * w.slope);
    });
    compare<false>("preference_model", loss::preference_model{}, [=](seen const& x) {
        link const w = soft(-x.lw), l = soft(x.ll);
        return by_hand{P(0.5F) * (w.value + l.value), P(-0.5F) * w.slope, P(0.5F) * l.slope};
    });
}

void modified() {
    P const b(0.1F), one(1.0F);
    compare("with_divergence(dpo, jensen_shannon)",
            loss::with_divergence{loss::dpo{}, loss::divergence::jensen_shannon{}},
            [=](seen const& x) {
                link const w = soft(-x.dw), l = soft(-x.dl);
                link const s = logistic(l.value - w.value, b);
                return by_hand{s.value, s.slope * w.slope, -(s.slope * l.slope)};
            });
    compare("with_nll(dpo)", loss::with_nll{loss::dpo{}}, [=](seen const& x) {
        link const s = logistic(x.h(), b);
        return by_hand{s.value - x.lw / x.nw, s.slope - one / x.nw, -s.slope};
    });
    compare(
        "mixture(dpo, hinge_norm)",
        loss::mixture{loss::weighted{loss::dpo{}, 0.5}, loss::weighted{loss::hinge_norm{}, 0.5}},
        [=](seen const& x) {
            link const s = logistic(x.h(), b);
            P const v = one - b * x.h();
            return of_margin(P(0.5F) * (s.value + math::max(P(0), v)),
                             P(0.5F) * (s.slope + math::select(v > P(0), -b, P(0))));
        });
    compare("xpo(dpo)", loss::xpo{loss::dpo{}, 1e-5}, [=](seen const& x) {
        link const s = logistic(x.h(), b);
        P const a(1e-5F);
        P const w = a * x.label, l = a * (one - x.label);
        return by_hand{s.value + w * x.lw + l * x.ll, s.slope + w, l - s.slope};
    });
}

[[maybe_unused]] bool const registered = [] {
    with_reference();
    without_reference();
    modified();
    return true;
}();

}  // namespace
