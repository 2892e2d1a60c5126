// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/apo_zero.hpp>
#include <prefer/loss/curvature.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/ipo.hpp>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::curvature;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("curvature: of the logistic loss") {
    auto const y = curvature(prefer::loss::dpo{.beta = 0.1}, pair_with_margin(6));
    CHECK_CLOSE(y.loss, 0.4374879504858856264514L, family::pair_loss);
    CHECK_CLOSE(y.first, -0.03543436937742045470909L, family::pair_loss);   // -β·σ(-z)
    CHECK_CLOSE(y.second, 0.002287842404566573007843L, family::pair_loss);  // β²·σ(z)·σ(-z)
    auto const flat = curvature(prefer::loss::dpo{.beta = 2}, pair_with_margin(0));
    CHECK_CLOSE(flat.first, -1.0, family::pair_loss);
    CHECK_CLOSE(flat.second, 1.0, family::pair_loss);
}

TEST_CASE("curvature: of a parabola, and of a line") {
    prefer::loss::ipo const summed{.beta = 0.1, .margin_of = log_probs::summed};
    auto const parabola = curvature(summed, pair_with_margin(3));
    CHECK_CLOSE(parabola.loss, 4.0, family::pair_loss);
    CHECK_CLOSE(parabola.first, -4.0, family::pair_loss);
    CHECK_CLOSE(parabola.second, 2.0, family::pair_loss);
    // Of the averages, with 2 and 4 tokens: the margin moves by (1/2)/2 + (1/2)/4 = 3/8 a step.
    auto const mean = curvature(prefer::loss::ipo{}, pair<double>{{-2, -3, 2}, {-8, -6, 4}});
    CHECK_CLOSE(mean.loss, 16.0, family::pair_loss);
    CHECK_CLOSE(mean.first, -3.0, family::pair_loss);      // 2·(1 - 5)·(3/8)
    CHECK_CLOSE(mean.second, 0.28125, family::pair_loss);  // 2·(3/8)²
    for (double const h : {-3.0, 9.0, 11.0}) {
        auto const line = curvature(prefer::loss::hinge_norm{}, pair_with_margin(h));
        CHECK_CLOSE(line.first, h < 10 ? -0.1 : 0.0, family::pair_loss);
        CHECK_SAME(line.second, 0.0);
    }
}

TEST_CASE("curvature: in float") {
    pair<float> const p{{-20.5f, -20.5f, 4}, {-26.5f, -20.5f, 4}};
    prefer::loss::margin_curvature<float> const y = curvature(prefer::loss::dpo{.beta = 0.1}, p);
    CHECK_CLOSE(y.first, -0.03543436937742045470909L, family::pair_loss);
    CHECK_CLOSE(y.second, 0.002287842404566573007843L, family::pair_loss);
}

TEST_CASE("curvature: of no function of the margin, half the difference of the slopes") {
    pair<double> const p{{-2, -3, 2}, {-8, -6, 4}};
    auto const y = curvature(prefer::loss::apo_zero{}, p);
    auto const slopes = value_and_grad(prefer::loss::apo_zero{}, p);
    CHECK_SAME_BITS(y.loss, slopes.loss);
    CHECK_CLOSE(y.first, (slopes.d_chosen - slopes.d_rejected) / 2, family::pair_loss);
}

TEST_CASE("curvature: with score, label and offset handed on") {
    auto const reads_all = [](auto const& q) {
        return q.margin() * q.label + q.offset + q.chosen.score - q.rejected.score +
               q.chosen.length;
    };
    pair<double> const p{{-2, -3, 2, 7}, {-8, -6, 4, 5}, 0.5, 0.25};
    auto const y = curvature(reads_all, p);
    CHECK_CLOSE(y.loss, 5.75, family::pair_loss);
    CHECK_CLOSE(y.first, 0.5, family::pair_loss);
    CHECK_SAME(y.second, 0.0);
}
