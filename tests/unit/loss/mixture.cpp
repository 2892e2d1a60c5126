// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/mixture.hpp>
#include <prefer/loss/slic.hpp>
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
using prefer::loss::slic;
using prefer::loss::value_and_grad;
using prefer::loss::weighted;
using prefer::loss::with_nll;
using prefer::test::family;

namespace {

pair<double> const p{{-3, -6, 2}, {-20, -17, 5}};  // h = 6

/// -log π(y_w): what TRL calls sft.
struct likelihood {
    double beta = 40;
    static constexpr prefer::pair_inputs inputs() { return {}; }
    template <class S>
    S operator()(pair<S> const& q) const {
        return -q.chosen.mean_policy();
    }
};

}  // namespace

TEST_CASE("mixture: the weighted sum of values and of gradients") {
    mixture const loss{weighted{dpo{}, 0.8}, weighted{hinge_norm{}, 0.2}};
    auto const y = value_and_grad(loss, p);
    CHECK_CLOSE(y.loss, 0.42999036038870850, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, 0.8 * -0.035434369377420455914 - 0.02, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.8 * 0.035434369377420455914 + 0.02, family::pair_loss);

    mixture const three{weighted{dpo{}, 0.5}, weighted{slic{}, 2}, weighted{ipo{}, -1}};
    CHECK_CLOSE(three(p), 0.5 * dpo{}(p) + 2 * slic{}(p)-ipo{}(p), family::pair_loss);
}

TEST_CASE("mixture: weights of 1 are the default, and one loss may stand alone") {
    CHECK_SAME(weighted{dpo{}}.weight, 1.0);
    mixture<dpo, hinge_norm> const both;
    CHECK_CLOSE(both(p), dpo{}(p) + 0.4, family::pair_loss);
    mixture const one{weighted{dpo{}, 0.5}};
    CHECK_CLOSE(one(p), 0.5 * dpo{}(p), family::pair_loss);
}

TEST_CASE("mixture: it reads what any of them reads") {
    mixture const free{weighted{slic{}}, weighted{slic{.nll_of = log_probs::averaged}}};
    CHECK_FALSE(free.inputs().reference);
    CHECK(free.inputs().lengths);
    CHECK((mixture{weighted{slic{}}, weighted{dpo{}}}.inputs().reference));
    CHECK((mixture{weighted{dpo{}}, weighted{slic{}}}.inputs().reference));
    CHECK_FALSE((mixture{weighted{dpo{}}, weighted{slic{}}}.inputs().lengths));

    std::vector<double> const pc{-3}, pr{-20};
    prefer::pair_batch const batch{pc, pr};
    CHECK_THROWS_MESSAGE(prefer::evaluate_pairs(mixture{weighted{slic{}}, weighted{dpo{}}}, batch),
                         prefer::value_error, "this loss needs the reference's log-probs");
    CHECK_NOTHROW(prefer::evaluate_pairs(mixture{weighted{slic{}}, weighted{slic{}}}, batch));
}

TEST_CASE("mixture: rewards are those of the first loss, not of the last (F20)") {
    std::vector<double> const pc{-3, -8}, pr{-20, -5}, rc{-6, -7}, rr{-17, -6};
    std::vector<int> const nc{2, 3}, nr{5, 4};
    auto const batch = prefer::pair_batch{pc, pr, rc, rr}.with_lengths(nc, nr);
    auto const alone = prefer::evaluate_pairs(dpo{}, batch);
    auto const term = prefer::evaluate_pairs(likelihood{}, batch);
    mixture const loss{weighted{dpo{}, 1}, weighted{likelihood{}, 0.5}};
    auto const both = prefer::evaluate_pairs(loss, batch);
    CHECK_SAME(both.reward_chosen, alone.reward_chosen);
    CHECK_SAME(both.reward_rejected, alone.reward_rejected);
    CHECK_SAME(both.margin, alone.margin);
    CHECK_SAME(both.accuracy, alone.accuracy);
    CHECK_CLOSE(both.loss, alone.loss + 0.5 * term.loss, family::pair_loss);
    CHECK_DISTINGUISHES(both.reward_chosen, term.reward_chosen, family::pair_loss);

    // Also when a later loss reads the reference and the first does not.
    mixture const reversed{weighted{likelihood{}, 0.5}, weighted{dpo{}, 1}};
    auto const other = prefer::evaluate_pairs(reversed, batch);
    CHECK_SAME(other.reward_chosen, term.reward_chosen);
    CHECK_SAME(other.reward_rejected, term.reward_rejected);
    CHECK_SAME(prefer::loss::reward(with_nll{loss, 2}, p.chosen, true), 0.1 * 3);
}

TEST_CASE("mixture: a weight of 0 masks a loss, also an infinite one") {
    auto const infinite = [](auto const& q) { return q.margin() / 0.0; };
    auto const y = value_and_grad(mixture{weighted{dpo{}}, weighted{infinite, 0}}, p);
    auto const plain = value_and_grad(dpo{}, p);
    CHECK_SAME_BITS(y.loss, plain.loss);
    CHECK_SAME_BITS(y.d_chosen, plain.d_chosen);
    CHECK_SAME_BITS(y.d_rejected, plain.d_rejected);
}

TEST_CASE("mixture: mixtures nest") {
    mixture const inner{weighted{dpo{}, 0.5}, weighted{hinge_norm{}, 0.25}};
    mixture const outer{weighted{inner, 2}, weighted{ipo{}, 0.125}};
    STATIC_REQUIRE(prefer::score_difference_loss<decltype(outer)>);
    CHECK_CLOSE(outer(p), dpo{}(p) + 0.5 * 0.4 + 0.125 * ipo{}(p), family::pair_loss);
}

TEST_CASE("mixture: weights and losses out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_MESSAGE((mixture{weighted{dpo{}, bad}, weighted{ipo{}}}.validate()),
                             prefer::value_error, "prefer::loss::mixture: weight is ");
        CHECK_THROWS_MESSAGE((mixture{weighted{dpo{}}, weighted{ipo{}, bad}}.validate()),
                             prefer::value_error, "but must be finite");
    }
    CHECK_THROWS_MESSAGE((mixture{weighted{dpo{}}, weighted{ipo{.beta = 0}}}.validate()),
                         prefer::value_error, "prefer::loss::ipo: beta is 0");
    CHECK_NOTHROW((mixture{weighted{dpo{}, -1}, weighted{ipo{}, 0}}.validate()));
}
