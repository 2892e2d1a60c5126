// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Every loss of a group through evaluate_pairs, on packs of lanes: the source that includes this
/// defines `group` first, as one of the lists of support/losses/.

#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/evaluate_pairs.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace {

using prefer::pair;
using prefer::test::family;
using prefer::test::loss_facts;

/// Batches of the pairs that a loss is tried on, in float, with all that it reads.
struct loss_columns {
    std::vector<float> pc, pr, rc, rr, sc, sr, labels, offsets, weights, dc, dr;
    std::vector<int> nc, nr;

    template <class L>
    static loss_columns of() {
        loss_columns c;
        double const margins[] = {-900, -30, -3, -0.5, 0, 0.25, 3, 9.75, 30, 900};
        std::size_t k = 0;
        for (double const h : margins) {
            for (pair<double> p : prefer::test::annotated<L>(prefer::test::pair_with_margin(h))) {
                p.chosen.policy -= 1.5 * static_cast<double>(k % 3);
                p.rejected.length = static_cast<double>(k % 5);  // empty, too
                c.add(p, k % 4 == 3 ? 0.0F : 0.5F + static_cast<float>(k % 3));
                ++k;
            }
        }
        return c;
    }

    void add(pair<double> const& p, float weight) {
        auto const push = [](std::vector<float>& v, double x) {
            v.push_back(static_cast<float>(x));
        };
        push(pc, p.chosen.policy);
        push(pr, p.rejected.policy);
        push(rc, p.chosen.reference);
        push(rr, p.rejected.reference);
        push(sc, p.chosen.score);
        push(sr, p.rejected.score);
        push(labels, p.label);
        push(offsets, p.offset);
        nc.push_back(static_cast<int>(p.chosen.length));
        nr.push_back(static_cast<int>(p.rejected.length));
        weights.push_back(weight);
        dc.push_back(-7);
        dr.push_back(-7);
    }

    pair<float> at(std::size_t i) const {
        return {{pc[i], rc[i], static_cast<float>(nc[i]), sc[i]},
                {pr[i], rr[i], static_cast<float>(nr[i]), sr[i]},
                labels[i],
                offsets[i]};
    }

    loss_columns slice(std::size_t first, std::size_t last) const {
        loss_columns part;
        for (std::size_t i = first; i < last; ++i) {
            pair<float> const p = at(i);
            auto const wide = [](float x) { return static_cast<double>(x); };
            part.add({{wide(p.chosen.policy), wide(p.chosen.reference), wide(p.chosen.length),
                       wide(p.chosen.score)},
                      {wide(p.rejected.policy), wide(p.rejected.reference), wide(p.rejected.length),
                       wide(p.rejected.score)},
                      wide(p.label),
                      wide(p.offset)},
                     weights[i]);
        }
        return part;
    }

    template <class L>
    prefer::pair_summary evaluate(L const& loss, double normalizer) {
        prefer::pair_inputs const read = loss.inputs();
        auto batch = prefer::pair_batch{pc, pr, rc, rr}.with_lengths(nc, nr).with_weights(weights);
        if (read.scores) batch = batch.with_scores(sc, sr);
        if (read.labels) batch = batch.with_labels(labels);
        if (read.offsets) batch = batch.with_offsets(offsets);
        auto const with = prefer::evaluate_pairs(loss, batch, prefer::pair_gradients{dc, dr},
                                                 {.normalizer = normalizer});
        auto const without = prefer::evaluate_pairs(loss, batch, {.normalizer = normalizer});
        CHECK_SAME_BITS(with.loss, without.loss);  // G6
        CHECK_SAME_BITS(with.margin, without.margin);
        CHECK_SAME_BITS(with.gradient_scale, without.gradient_scale);
        return with;
    }
};

bool near(double a, double b) {
    bool const both_infinite = std::isinf(a) && std::isinf(b);
    return both_infinite || std::fabs(a - b) <= 1e-4 * std::fabs(b) + 1e-6;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("evaluate_pairs: on packs, every pair is the formula alone", "", group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        loss_columns c = loss_columns::of<TestType>();
        auto const s = c.evaluate(loss, 4);
        double sum = 0;
        for (std::size_t i = 0; i < c.pc.size(); ++i) {
            CAPTURE(loss_facts<TestType>::name(), i, c.pc[i], c.pr[i], c.rc[i], c.rr[i]);
            if (!(c.weights[i] > 0)) {
                CHECK_SAME_BITS(c.dc[i], 0.0F);
                CHECK_SAME_BITS(c.dr[i], 0.0F);
                continue;
            }
            auto const y = prefer::loss::value_and_grad(loss, c.at(i));
            CHECK(!std::isnan(c.dc[i]));
            CHECK(!std::isnan(c.dr[i]));
            CHECK(near(static_cast<double>(c.dc[i]),
                       static_cast<double>(y.d_chosen * c.weights[i] / 4)));
            CHECK(near(static_cast<double>(c.dr[i]),
                       static_cast<double>(y.d_rejected * c.weights[i] / 4)));
            sum += static_cast<double>(y.loss) * static_cast<double>(c.weights[i]) / 4;
        }
        CHECK(near(s.loss, sum));
    }
}

TEMPLATE_LIST_TEST_CASE("evaluate_pairs: micro-batches in any order add up, to rounding (F18)", "",
                        group) {
    for (TestType const& loss : loss_facts<TestType>::instances()) {
        loss_columns whole = loss_columns::of<TestType>();
        double const expected = whole.evaluate(loss, 8).loss;
        std::size_t const size = whole.pc.size();
        for (std::size_t const cut : {std::size_t{1}, size / 2, size - 3}) {
            CAPTURE(loss_facts<TestType>::name(), cut);
            loss_columns late = whole.slice(cut, size);
            loss_columns early = whole.slice(0, cut);
            double const sum = late.evaluate(loss, 8).loss + early.evaluate(loss, 8).loss;
            CHECK(near(sum, expected));
            for (std::size_t i = 0; i < size; ++i) {
                loss_columns const& part = i < cut ? early : late;
                std::size_t const at = i < cut ? i : i - cut;
                CHECK_SAME_BITS(part.dc[at], whole.dc[i]);
                CHECK_SAME_BITS(part.dr[at], whole.dr[i]);
            }
        }
    }
}
