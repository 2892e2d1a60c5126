// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/reward_aware_rpo.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::reward_aware_rpo;
using prefer::loss::rpo_divergence;
using prefer::loss::value_and_grad;
using prefer::test::family;
using prefer::test::pair_with_margin;

TEST_CASE("reward_aware_rpo: defaults and inputs") {
    CHECK_SAME(reward_aware_rpo{}.beta, 0.1);
    CHECK_SAME(reward_aware_rpo{}.scale, 1.0);
    CHECK(reward_aware_rpo{}.divergence == rpo_divergence::backward_kl);
    STATIC_REQUIRE(reward_aware_rpo::inputs().reference);
    STATIC_REQUIRE(reward_aware_rpo::inputs().scores);
    STATIC_REQUIRE(!reward_aware_rpo::inputs().lengths);
}

TEST_CASE("reward_aware_rpo: the three divergences at z = 0.6, g = 1.5") {
    pair<double> p = pair_with_margin(6);
    p.chosen.score = 2.75;
    p.rejected.score = 2;
    auto const at = [&](rpo_divergence kind) {
        return value_and_grad(reward_aware_rpo{0.1, 2.0, kind}, p);
    };
    auto const backward = at(rpo_divergence::backward_kl);
    CHECK_CLOSE(backward.loss, 0.07189170107741251059835L, family::pair_loss);
    CHECK_CLOSE(backward.d_chosen, -0.01719181699678482066981L, family::pair_loss);
    auto const forward = at(rpo_divergence::forward_kl);
    CHECK_CLOSE(forward.loss, 0.08283465189365087542994L, family::pair_loss);
    CHECK_CLOSE(forward.d_chosen, -0.02059058164109915707059L, family::pair_loss);
    auto const squared = at(rpo_divergence::squared);
    CHECK_CLOSE(squared.loss, 0.81, family::pair_loss);
    CHECK_CLOSE(squared.d_chosen, -0.18, family::pair_loss);
    CHECK_CLOSE(squared.d_rejected, 0.18, family::pair_loss);
}

TEST_CASE("reward_aware_rpo: zero, value and gradient, where the gaps agree") {
    pair<double> p = pair_with_margin(8);
    p.chosen.score = 3;
    p.rejected.score = 1;
    for (auto const kind :
         {rpo_divergence::backward_kl, rpo_divergence::forward_kl, rpo_divergence::squared}) {
        auto const y = value_and_grad(reward_aware_rpo{0.25, 1.0, kind}, p);
        CHECK_SAME(y.loss, 0.0);
        CHECK_CLOSE(y.d_chosen, 0.0, family::gradient);
        CHECK_CLOSE(y.d_rejected, 0.0, family::gradient);
    }
}

TEST_CASE("reward_aware_rpo: scores far apart give finite numbers") {
    for (double const gap : {-2000.0, 2000.0}) {
        for (double const h : {-20000.0, 0.0, 20000.0}) {
            for (auto const kind : {rpo_divergence::backward_kl, rpo_divergence::forward_kl}) {
                CAPTURE(gap, h);
                pair<double> p = pair_with_margin(h);
                p.chosen.score = gap;
                p.rejected.score = 0;
                auto const y = value_and_grad(reward_aware_rpo{0.1, 1.0, kind}, p);
                CHECK(std::isfinite(y.loss));
                CHECK(y.loss >= 0);
                CHECK(std::isfinite(y.d_chosen));
            }
        }
    }
}

TEST_CASE("reward_aware_rpo: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(reward_aware_rpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::reward_aware_rpo: beta is ");
        CHECK_THROWS_MESSAGE(reward_aware_rpo{.beta = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    for (double const bad : {0.0, -1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(reward_aware_rpo{.scale = bad}.validate(), prefer::value_error,
                             "prefer::loss::reward_aware_rpo: scale is ");
        CHECK_THROWS_MESSAGE(reward_aware_rpo{.scale = bad}.validate(), prefer::value_error,
                             "must be finite and positive");
    }
    reward_aware_rpo const unnamed{.divergence = static_cast<rpo_divergence>(3)};
    CHECK_THROWS_MESSAGE(unnamed.validate(), prefer::value_error,
                         "prefer::loss::reward_aware_rpo: divergence is 3");
    CHECK_NOTHROW(reward_aware_rpo{}.validate());
}
