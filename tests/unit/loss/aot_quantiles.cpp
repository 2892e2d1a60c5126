// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/pair_batch.hpp>
#include <prefer/loss/aot.hpp>
#include <prefer/loss/aot_quantiles.hpp>
#include <prefer/loss/dpo.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

using prefer::pair;
using prefer::pair_batch;
using prefer::loss::aot;
using prefer::loss::aot_quantiles;
using prefer::loss::dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

/// Pairs with these margins of the policy and of the reference.
struct columns {
    std::vector<double> pc, pr, rc, rr;

    void push(double policy, double reference) {
        pc.push_back(-20 + policy);
        pr.push_back(-20);
        rc.push_back(-30 + reference);
        rr.push_back(-30);
    }
    auto batch() const { return pair_batch{pc, pr, rc, rr}; }
};

columns three() {
    columns c;
    c.push(1, 0.5);
    c.push(-2, 3);
    c.push(4, -1);
    return c;
}

}  // namespace

TEST_CASE("aot_quantiles: the reference margin of equal rank, over the whole batch") {
    auto const c = three();
    aot_quantiles q;
    CHECK(q.add(c.batch()) == 0);
    CHECK_SAME(q.offsets(), (std::array{0.5, -1.0, 3.0}));
    double loss = 0;
    double own = 0;
    auto const offsets = q.offsets();
    for (std::size_t i = 0; i < 3; ++i) {
        pair<double> p{{c.pc[i], c.rc[i], 4}, {c.pr[i], c.rr[i], 4}};
        p.offset = offsets[i];
        loss += aot{}(p) / 3;
        own += dpo{}(p) / 3;
    }
    CHECK_CLOSE(loss, 0.685750989387, family::quoted);  // differences -1, 0.5, 1
    CHECK_CLOSE(own, 0.705537872124, family::quoted);   // what dpo is
}

TEST_CASE("aot_quantiles: micro-batches and ranks give the offsets of the whole") {
    columns first, second;
    first.push(1, 0.5);
    second.push(-2, 3);
    second.push(4, -1);
    aot_quantiles whole;
    whole.add(three().batch());

    aot_quantiles both;
    CHECK(both.add(first.batch()) == 0);
    CHECK(both.add(second.batch()) == 1);
    CHECK_SAME(both.offsets(), whole.offsets());
    std::vector<float> one(1), two(2);
    both.offsets(first.batch(), 0, one);
    both.offsets(second.batch(), 1, two);
    CHECK_SAME(one, (std::array{0.5F}));
    CHECK_SAME(two, (std::array{-1.0F, 3.0F}));

    aot_quantiles a, b;
    a.add(first.batch());
    b.add(second.batch());
    a += b;
    CHECK_SAME(a.offsets(), whole.offsets());
    CHECK(a.size() == 3);
    auto const gathered = aot_quantiles::from(a.policy_margins(), a.reference_margins());
    CHECK_SAME(gathered.offsets(), whole.offsets());
    a += a;
    CHECK(a.size() == 6);
}

TEST_CASE("aot_quantiles: equal policy margins are ranked in the order of addition") {
    columns c;
    c.push(1, 5);
    c.push(0, -5);
    c.push(1, 2);
    c.push(1, 3);
    aot_quantiles q;
    q.add(c.batch());
    CHECK_SAME(q.offsets(), (std::array{2.0, -5.0, 3.0, 5.0}));
}

TEST_CASE("aot_quantiles: a batch of one is dpo") {
    columns c;
    c.push(1.75, -2.5);
    aot_quantiles q;
    q.add(c.batch());
    pair<double> p{{c.pc[0], c.rc[0], 4}, {c.pr[0], c.rr[0], 4}};
    auto const expected = value_and_grad(dpo{0.1, 0.2}, p);
    p.offset = q.offsets()[0];
    auto const actual = value_and_grad(aot{0.1, 0.2}, p);
    CHECK_CLOSE(actual.loss, expected.loss, family::pair_loss);
    CHECK_CLOSE(actual.d_chosen, expected.d_chosen, family::pair_loss);
    CHECK_CLOSE(actual.d_rejected, expected.d_rejected, family::pair_loss);
}

TEST_CASE("aot_quantiles: masked pairs have no rank, and an offset of 0") {
    auto c = three();
    c.pc[1] = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const mask{1, 0, 2};
    aot_quantiles q;
    q.add(c.batch().with_weights(mask));
    CHECK(q.size() == 2);
    std::vector<double> offsets(3, -9);
    q.offsets(c.batch().with_weights(mask), 0, offsets);
    CHECK_SAME(offsets, (std::array{-1.0, 0.0, 0.5}));
}

TEST_CASE("aot_quantiles: what is wrong is said, and nothing is added") {
    auto const good = three();
    auto c = good;
    aot_quantiles q;
    q.add(good.batch());
    c.rr[2] = std::numeric_limits<double>::infinity();
    CHECK_THROWS_MESSAGE(q.add(c.batch()), prefer::value_error,
                         "prefer::loss::aot_quantiles::add: reference_rejected[2] is inf");
    CHECK_THROWS_MESSAGE(q.add(pair_batch{good.pc, good.pr}), prefer::value_error,
                         "the reference's log-probs are needed");
    c = good;
    c.pr.pop_back();
    CHECK_THROWS_MESSAGE(q.add(c.batch()), prefer::shape_error, "policy_rejected has size 2");
    CHECK(q.size() == 3);
    std::vector<double> out(3), two(2);
    CHECK_THROWS_MESSAGE(q.offsets(good.batch(), 1, out), prefer::value_error, "first is 1, but 3");
    CHECK_THROWS_AS(q.offsets(good.batch(), 7, out), prefer::value_error);
    CHECK_THROWS_MESSAGE(q.offsets(good.batch(), 0, two), prefer::shape_error, "out has size 2");
    CHECK_THROWS_AS(aot_quantiles::from({1, 2}, {1}), prefer::shape_error);
    CHECK_THROWS_AS(aot_quantiles::from({1}, {std::numeric_limits<double>::infinity()}),
                    prefer::value_error);
}
