// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/f_divergence.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/mixture.hpp>
#include <prefer/loss/with_nll.hpp>

#include <cmath>
#include <limits>
#include <vector>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::hinge_norm;
using prefer::loss::ipo;
using prefer::loss::mixture;
using prefer::loss::value_and_grad;
using prefer::loss::weighted;
using prefer::loss::with_divergence;
using prefer::loss::with_nll;
using prefer::test::family;
namespace divergence = prefer::loss::divergence;

namespace {

/// dw = 1, dl = -2.
pair<double> const uneven{{-10, -11, 2}, {-9, -7, 4}};

}  // namespace

TEST_CASE("with_divergence: defaults and inputs") {
    with_divergence<dpo, divergence::alpha> const loss;
    CHECK_SAME(loss.divergence.order, 0.5);
    CHECK_SAME(loss.loss.beta, 0.1);
    CHECK(loss.inputs().reference);
    CHECK_FALSE(loss.inputs().lengths);
    CHECK(with_divergence{ipo{}, divergence::forward_kl{}}.inputs().lengths);
}

TEST_CASE("with_divergence: values and slopes of each divergence") {
    auto const check = [](auto const& score, double value, double d_chosen, double d_rejected) {
        auto const y = value_and_grad(with_divergence{dpo{.beta = 0.1}, score}, uneven);
        CHECK_CLOSE(y.loss, value, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, d_chosen, family::pair_loss);
        CHECK_CLOSE(y.d_rejected, d_rejected, family::pair_loss);
    };
    check(divergence::forward_kl{}, 0.4024838785050577, -0.012189423404865, 0.24483111387078);
    check(divergence::jensen_shannon{}, 0.606569973180952, -0.012230977744874, 0.04005708530735);
    check(divergence::alpha{0.5}, 0.5041057475364682, -0.024015854218789, 0.10763159136718);
    CHECK_CLOSE((with_divergence{dpo{}, divergence::alpha{2}}(uneven)), 0.5723162894492977,
                family::pair_loss);
    CHECK_CLOSE((with_divergence{hinge_norm{}, divergence::forward_kl{}}(uneven)),
                0.2978823342240792, family::pair_loss);
    ipo const summed{.margin_of = log_probs::summed};
    CHECK_CLOSE((with_divergence{summed, divergence::jensen_shannon{}}(uneven)), 10.15272229784029,
                family::pair_loss);
}

TEST_CASE("with_divergence: reverse KL, and alpha at 1, change no bit") {
    for (pair<double> const& p : {uneven, pair<double>{uneven.rejected, uneven.chosen}}) {
        auto const plain = value_and_grad(dpo{}, p);
        auto const reverse = value_and_grad(with_divergence{dpo{}, divergence::reverse_kl{}}, p);
        auto const order_1 = value_and_grad(with_divergence{dpo{}, divergence::alpha{1.0}}, p);
        for (auto const& y : {reverse, order_1}) {
            CHECK_SAME_BITS(y.loss, plain.loss);
            CHECK_SAME_BITS(y.d_chosen, plain.d_chosen);
            CHECK_SAME_BITS(y.d_rejected, plain.d_rejected);
        }
    }
}

TEST_CASE("with_divergence: alpha is continuous at 1, and forward KL at 0") {
    for (double const step : {1e-9, -1e-9, 0x1p-52, -0x1p-53}) {
        auto const near =
            value_and_grad(with_divergence{dpo{}, divergence::alpha{1 + step}}, uneven);
        CHECK_CLOSE(near.loss, 0.5543552444685271, family::quoted);
        CHECK_CLOSE(near.d_chosen, -0.0425557483188, family::quoted);
    }
    auto const forward = value_and_grad(with_divergence{dpo{}, divergence::forward_kl{}}, uneven);
    auto const order_0 = value_and_grad(with_divergence{dpo{}, divergence::alpha{0}}, uneven);
    CHECK_SAME_BITS(forward.loss, order_0.loss);
    CHECK_SAME_BITS(forward.d_rejected, order_0.d_rejected);
}

TEST_CASE("with_divergence: the margin is 0 where policy and reference agree (F16, F17)") {
    pair<double> const same{{-11.3, -11.3, 4}, {-7.9, -7.9, 2}};
    auto const check = [&](auto const& score) {
        CHECK_CLOSE((with_divergence{dpo{}, score}(same)), 0.693147180559945309417L,
                    family::pair_loss);
        CHECK_CLOSE((with_divergence{ipo{}, score}(same)), 25.0, family::pair_loss);  // averaged
        CHECK_CLOSE((with_divergence{hinge_norm{}, score}(same)), 1.0, family::pair_loss);
    };
    check(divergence::reverse_kl{});
    check(divergence::forward_kl{});
    check(divergence::jensen_shannon{});
    check(divergence::alpha{0.25});
}

TEST_CASE("with_divergence: of averages, the constant of Jensen-Shannon is kept") {
    double const expected = 19.81684980683145;
    CHECK_CLOSE((with_divergence{ipo{}, divergence::jensen_shannon{}}(uneven)), expected,
                family::pair_loss);
    CHECK_DISTINGUISHES(expected, 21.38968928946805, family::pair_loss);  // log 2 dropped
}

TEST_CASE("with_divergence: far below, scores go on along a tangent; nothing is NaN") {
    auto const check = []<class T>(T ratio_chosen, T ratio_rejected) {
        auto const each = [&](auto const& score, bool pulls) {
            pair<T> const p{{-1 + ratio_chosen, -1, 2}, {-1 + ratio_rejected, -1, 2}};
            CAPTURE(ratio_chosen, ratio_rejected);
            auto const y = value_and_grad(with_divergence{dpo{}, score}, p);
            CHECK(std::isfinite(y.loss));
            CHECK(std::isfinite(y.d_chosen));
            CHECK(std::isfinite(y.d_rejected));
            CHECK(y.d_chosen <= 0);
            CHECK(y.d_rejected >= 0);
            if (pulls && ratio_chosen < ratio_rejected) CHECK(y.d_chosen < 0);
        };
        each(divergence::forward_kl{}, true);
        each(divergence::alpha{0.5}, true);
        each(divergence::alpha{3}, false);  // its score ends at -1/2 there
    };
    for (double const d : {-1e4, -500.0, -65.0, 0.0, 65.0, 500.0, 1e4}) {
        for (double const other : {-1e4, -500.0, 0.0, 500.0}) {
            check(d, other);
            check(static_cast<float>(d), static_cast<float>(other));
        }
    }
    // The slope just before and behind the start of the tangent: e^64.
    with_divergence const loss{hinge_norm{1}, divergence::forward_kl{}};
    for (double const d : {-64.0, -64.5, -1000.0}) {
        auto const y = value_and_grad(loss, pair<double>{{d, 0, 1}, {0, 0, 1}});
        CHECK_CLOSE(y.d_chosen, -6235149080811616882909.2L * 1e6L, family::gradient);
    }
}

TEST_CASE("with_divergence: rewards are those of the plain loss") {
    with_divergence const loss{dpo{.beta = 0.25}, divergence::forward_kl{}};
    CHECK_SAME(prefer::loss::reward(loss, uneven.chosen, true), 0.25);
    CHECK_SAME(prefer::loss::reward(loss, uneven.rejected, true), -0.5);
    CHECK_SAME(prefer::loss::reward(loss, uneven.rejected, false), -2.25);

    std::vector<double> const pc{-10, -4}, pr{-9, -3}, rc{-11, -4}, rr{-7, -3};
    auto const s = prefer::evaluate_pairs(loss, prefer::pair_batch{pc, pr, rc, rr});
    CHECK_CLOSE(s.margin, 0.375, family::reduction);
    CHECK_CLOSE(s.accuracy, 0.75, family::reduction);
}

TEST_CASE("with_divergence: every term of a mixture is transformed alike (F11)") {
    mixture const both{weighted{dpo{}, 0.5}, weighted{hinge_norm{}, 2}};
    CHECK_CLOSE((with_divergence{both, divergence::forward_kl{}}(uneven)),
                0.5 * 0.4024838785050577 + 2 * 0.2978823342240792, family::pair_loss);
}

TEST_CASE("with_divergence: an NLL term outside sees the plain log-prob") {
    with_nll const loss{with_divergence{dpo{}, divergence::forward_kl{}}, 0.5};
    CHECK_CLOSE(loss(uneven), 0.4024838785050577 + 0.5 * 5, family::pair_loss);
}

TEST_CASE("with_divergence: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    CHECK_THROWS_MESSAGE((with_divergence{dpo{.beta = 0}, divergence::alpha{}}.validate()),
                         prefer::value_error, "prefer::loss::dpo: beta is 0");
    for (double const bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_MESSAGE((with_divergence{dpo{}, divergence::alpha{bad}}.validate()),
                             prefer::value_error, "prefer::loss::divergence::alpha: order is ");
    }
    CHECK_NOTHROW((with_divergence{dpo{}, divergence::alpha{-3}}.validate()));
    CHECK_NOTHROW((with_divergence{dpo{}, divergence::jensen_shannon{}}.validate()));
}
