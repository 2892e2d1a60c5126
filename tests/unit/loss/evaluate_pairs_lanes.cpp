// SPDX-License-Identifier: MIT

/// \file
/// evaluate_pairs works on packs of lanes: every size, every element type and every place in a pack
/// must give what the formula gives for the pair alone.

#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/prefer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using prefer::evaluate_pairs;
using prefer::pair;
using prefer::pair_batch;
using prefer::pair_gradients;
using prefer::value_error;
using prefer::vector_view;
using prefer::test::family;

namespace {

/// Reads everything that a pair can have.
struct reads_all {
    static constexpr prefer::pair_inputs inputs() {
        return {
            .reference = true, .lengths = true, .scores = true, .labels = true, .offsets = true};
    }
    template <class S>
    S operator()(pair<S> const& p) const {
        using prefer::math::softplus;
        using real = prefer::math::primal_t<S>;
        S const z = real(0.5) * (p.margin() + p.mean_margin()) - p.offset;
        return p.label * softplus(-z) + (p.chosen.score - p.rejected.score) * p.chosen.policy;
    }
};

template <class T>
struct all_columns {
    std::vector<T> pc, pr, rc, rr, sc, sr, label, offset, weight;
    std::vector<prefer::compute_t<T>> dc, dr;
    std::vector<std::int32_t> nc, nr;

    explicit all_columns(std::size_t pairs) : dc(pairs), dr(pairs) {
        prefer::philox rng(11);
        auto const fill = [&](std::vector<T>& column, double low, double high) {
            for (std::size_t i = 0; i < pairs; ++i) {
                double const x = low + (high - low) * prefer::uniform01<double>(rng);
                column.push_back(static_cast<T>(static_cast<prefer::compute_t<T>>(x)));
            }
        };
        fill(pc, -40, 0);
        fill(pr, -40, 0);
        fill(rc, -40, 0);
        fill(rr, -40, 0);
        fill(sc, -1, 1);
        fill(sr, -1, 1);
        fill(label, 0, 1);
        fill(offset, -1, 1);
        fill(weight, 0.5, 2);
        for (std::size_t i = 0; i < pairs; ++i) {
            nc.push_back(static_cast<std::int32_t>(i % 7));
            nr.push_back(static_cast<std::int32_t>(1 + i % 5));
            if (i % 3 == 1) weight[i] = static_cast<T>(prefer::compute_t<T>(0));
        }
    }
    auto batch() const {
        return pair_batch{pc, pr, rc, rr}
            .with_lengths(nc, nr)
            .with_scores(sc, sr)
            .with_labels(label)
            .with_offsets(offset)
            .with_weights(weight);
    }
    pair<prefer::compute_t<T>> at(std::size_t i) const {
        using C = prefer::compute_t<T>;
        auto const of = [&](std::vector<T> const& v) { return static_cast<C>(v[i]); };
        return {{of(pc), of(rc), static_cast<C>(nc[i]), of(sc)},
                {of(pr), of(rr), static_cast<C>(nr[i]), of(sr)},
                of(label),
                of(offset)};
    }
};

}  // namespace

TEMPLATE_TEST_CASE("evaluate_pairs: each pair of a batch of any size is the formula alone", "",
                   float, double, prefer::bfloat16, prefer::half) {
    using T = TestType;
    using C = prefer::compute_t<T>;
    for (std::size_t size = 1; size <= 40; ++size) {
        CAPTURE(size);
        all_columns<T> c(size);
        auto const s =
            evaluate_pairs(reads_all{}, c.batch(), pair_gradients{c.dc, c.dr}, {.normalizer = 2});
        double loss = 0, scale = 0, chosen = 0;
        std::size_t pairs = 0;
        for (std::size_t i = 0; i < size; ++i) {
            CAPTURE(i);
            C const weight = static_cast<C>(c.weight[i]);
            if (!(weight > 0)) {
                CHECK_SAME_BITS(c.dc[i], C(0));
                CHECK_SAME_BITS(c.dr[i], C(0));
                continue;
            }
            auto const y = prefer::loss::value_and_grad(reads_all{}, c.at(i));
            CHECK_CLOSE(c.dc[i], static_cast<double>(y.d_chosen * weight / 2), family::gradient);
            CHECK_CLOSE(c.dr[i], static_cast<double>(y.d_rejected * weight / 2), family::gradient);
            loss += static_cast<double>(weight) * static_cast<double>(y.loss) / 2;
            scale += (std::fabs(static_cast<double>(y.d_chosen)) +
                      std::fabs(static_cast<double>(y.d_rejected))) /
                     2;
            chosen += static_cast<double>(c.at(i).chosen.log_ratio());
            ++pairs;
        }
        CHECK(s.pairs == pairs);
        auto const close = [](double a, double b) {
            return std::fabs(a - b) <= 1e-4 * (1 + std::fabs(b));
        };
        CHECK(close(s.loss, loss));
        CHECK(close(s.sums.gradient_scale, scale));
        CHECK(close(s.sums.reward_chosen, chosen));
        CHECK_SAME_BITS(s.loss, evaluate_pairs(reads_all{}, c.batch(), {.normalizer = 2}).loss);
    }
}

TEST_CASE("evaluate_pairs: strided columns give the bits of contiguous ones") {
    std::size_t const size = 37;
    all_columns<float> c(size);
    evaluate_pairs(reads_all{}, c.batch(), pair_gradients{c.dc, c.dr});
    std::vector<float> wide(2 * size, -7.0F), wide_d(3 * size, -7.0F), dr(size);
    for (std::size_t i = 0; i < size; ++i) wide[2 * (size - 1 - i)] = c.pc[i];
    vector_view<float> const reversed(wide.data() + 2 * (size - 1), size, -2);
    vector_view<float> const every_third(wide_d.data(), size, 3);
    auto const batch = pair_batch{reversed, c.pr, c.rc, c.rr}
                           .with_lengths(c.nc, c.nr)
                           .with_scores(c.sc, c.sr)
                           .with_labels(c.label)
                           .with_offsets(c.offset)
                           .with_weights(c.weight);
    evaluate_pairs(reads_all{}, batch, pair_gradients{every_third, dr});
    CHECK_SAME_BITS(every_third, c.dc);
    CHECK_SAME_BITS(dr, c.dr);
    CHECK_SAME(wide_d[1], -7.0F);
}

TEST_CASE("evaluate_pairs: the first bad number of a long batch is found, wherever it stands") {
    for (std::size_t const size : {5u, 16u, 33u, 64u}) {
        for (std::size_t bad = 0; bad < size; bad += 3) {
            CAPTURE(size, bad);
            all_columns<float> c(size);
            for (float& w : c.weight) w = 1;
            std::vector<float> dc(size, -7.0F), dr(size, -7.0F);
            auto const words = [&](char const* column) {
                return std::string(column) + "[" + std::to_string(bad) + "]";
            };
            auto const refused = [&](auto const& batch, char const* column) {
                CHECK_THROWS_MESSAGE(evaluate_pairs(reads_all{}, batch, pair_gradients{dc, dr}),
                                     value_error, words(column).c_str());
                for (float const d : dc) CHECK_SAME(d, 0.0F);
            };
            float const inf = std::numeric_limits<float>::infinity();
            auto const with = [&](std::vector<float>& column, char const* name, float x) {
                float const kept = column[bad];
                column[bad] = x;
                if (bad + 1 < size) std::swap(column[bad + 1], x);
                refused(c.batch(), name);
                if (bad + 1 < size) std::swap(column[bad + 1], x);
                column[bad] = kept;
            };
            with(c.pc, "policy_chosen", inf);
            with(c.rr, "reference_rejected", std::nanf(""));
            with(c.sc, "score_chosen", inf);
            with(c.sr, "score_rejected", -inf);
            with(c.label, "labels", inf);
            with(c.offset, "offsets", inf);
            with(c.weight, "weights", -1.0F);
            c.nr[bad] = -2;
            refused(c.batch(), "length_rejected");
        }
    }
}

TEST_CASE("evaluate_pairs: a bad reference that the reported reward does not read is found") {
    all_columns<double> c(3);
    c.rc[1] = std::numeric_limits<double>::infinity();  // the loss is infinite, and not NaN
    prefer::loss::mixture const loss{prefer::loss::weighted{prefer::loss::cpo{}, 0.5},
                                     prefer::loss::weighted{prefer::loss::bco_pair{}, 0.5}};
    CHECK_THROWS_MESSAGE(evaluate_pairs(loss, pair_batch{c.pc, c.pr, c.rc, c.rr}), value_error,
                         "reference_chosen[1]");
}

TEST_CASE("evaluate_pairs: an input that the loss would ignore is an error") {
    all_columns<double> c(3);
    pair_batch const plain{c.pc, c.pr, c.rc, c.rr};
    prefer::loss::dpo const loss{};
    CHECK_THROWS_MESSAGE(evaluate_pairs(loss, plain.with_labels(c.label)), value_error,
                         "reads no labels");
    CHECK_THROWS_MESSAGE(evaluate_pairs(loss, plain.with_offsets(c.offset)), value_error,
                         "reads no offsets");
    CHECK_THROWS_MESSAGE(evaluate_pairs(loss, plain.with_scores(c.sc, c.sr)), value_error,
                         "reads no scores");
    CHECK_NOTHROW(evaluate_pairs(loss, plain.with_lengths(c.nc, c.nr)));
    CHECK_THROWS_MESSAGE(evaluate_pairs(reads_all{}, plain.with_lengths(c.nc, c.nr)), value_error,
                         "the batch has none");
}
