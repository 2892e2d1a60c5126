// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/mixture.hpp>
#include <prefer/loss/slic.hpp>
#include <prefer/loss/with_nll.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::mixture;
using prefer::loss::slic;
using prefer::loss::value_and_grad;
using prefer::loss::weighted;
using prefer::loss::with_nll;
using prefer::test::family;

namespace {

/// h = 6, chosen log-prob -3 over 2 tokens: z = 0.6 and an NLL of 1.5 per token.
pair<double> const p{{-3, -6, 2}, {-20, -17, 5}};

}  // namespace

TEST_CASE("with_nll: defaults and inputs") {
    with_nll<dpo> const loss;
    CHECK_SAME(loss.weight, 1.0);
    CHECK(loss.of == log_probs::averaged);
    CHECK(loss.inputs().reference);
    CHECK(loss.inputs().lengths);
    CHECK_FALSE(with_nll{dpo{}, 1.0, log_probs::summed}.inputs().lengths);
    CHECK_FALSE(with_nll{slic{}, 1.0, log_probs::summed}.inputs().reference);
}

TEST_CASE("with_nll: the weight is on the NLL term (F5)") {
    CHECK_CLOSE((with_nll{dpo{}, 0.5}(p)), 1.18748795048588563, family::pair_loss);
    CHECK_DISTINGUISHES(1.18748795, 1.71874398, family::quoted);  // on the other term
    with_nll const other{mixture{weighted{dpo{}, 0.5}}, 1.0};
    CHECK_CLOSE(other(p), 1.71874397524294281, family::pair_loss);
}

TEST_CASE("with_nll: value and gradient are linear in the weight (F5)") {
    auto const plain = value_and_grad(dpo{}, p);
    for (double const w : {0.0, 0.25, 0.5, 3.0}) {
        CAPTURE(w);
        auto const mean = value_and_grad(with_nll{dpo{}, w}, p);
        CHECK_CLOSE(mean.loss, plain.loss + w * 1.5, family::pair_loss);
        CHECK_CLOSE(mean.d_chosen, plain.d_chosen - w / 2, family::pair_loss);
        CHECK_SAME_BITS(mean.d_rejected, plain.d_rejected);
        auto const sum = value_and_grad(with_nll{dpo{}, w, log_probs::summed}, p);
        CHECK_CLOSE(sum.loss, plain.loss + w * 3, family::pair_loss);
        CHECK_CLOSE(sum.d_chosen, plain.d_chosen - w, family::pair_loss);
        CHECK_SAME_BITS(sum.d_rejected, plain.d_rejected);
    }
}

TEST_CASE("with_nll: its scope is the counted tokens; no prompt, no padding (F6)") {
    std::array const tokens{-3.0, -3.0, -0.5, -1.5, -10.0, -10.0};
    std::array const response{0, 0, 1, 1, 0, 0};
    std::array const offsets{0, 6};
    auto const layout = prefer::packed(offsets).with_mask(response);
    std::vector<double> sum(1);
    std::vector<std::int64_t> length(1);
    prefer::sequence_sum(tokens, layout, sum);
    prefer::sequence_lengths(layout, length);
    std::vector<double> const rejected{-4};
    std::vector<std::int64_t> const four{4};
    auto const batch = prefer::pair_batch{sum, rejected, sum, rejected}.with_lengths(length, four);
    double const nll = prefer::evaluate_pairs(with_nll{dpo{}, 1}, batch).loss -
                       prefer::evaluate_pairs(dpo{}, batch).loss;
    CHECK_CLOSE(nll, 1.0, family::pair_loss);
    CHECK_DISTINGUISHES(1.0, 2.0, family::pair_loss);         // prompt and response
    CHECK_DISTINGUISHES(1.0, 4.66666667, family::pair_loss);  // and the pads
}

TEST_CASE("with_nll: an empty response has none") {
    pair<double> const empty{{0, 0, 0}, {-20, -17, 5}};
    auto const y = value_and_grad(with_nll{dpo{}, 2}, empty);
    auto const plain = value_and_grad(dpo{}, empty);
    CHECK_SAME_BITS(y.loss, plain.loss);
    CHECK_SAME_BITS(y.d_chosen, plain.d_chosen);
}

TEST_CASE("with_nll: rewards are those of the loss, for a lambda too") {
    CHECK_SAME(prefer::loss::reward(with_nll{dpo{.beta = 0.5}, 2}, p.chosen, true), 1.5);
    CHECK_SAME(prefer::loss::reward(with_nll{slic{}, 2}, p.chosen, true), -3.0);

    // A lambda says nothing of its inputs: with or without the reference, as the batch has it.
    auto const gap = [](auto const& q) { return 1 - 0.1 * (q.chosen.policy - q.rejected.policy); };
    with_nll const loss{gap, 2, log_probs::summed};
    STATIC_REQUIRE(!prefer::detail::declares_inputs<decltype(loss)>);
    std::vector<double> const pc{-3}, pr{-20}, rc{-6}, rr{-17};
    auto const with = prefer::evaluate_pairs(loss, prefer::pair_batch{pc, pr, rc, rr});
    CHECK_SAME(with.reward_chosen, 3.0);
    auto const without = prefer::evaluate_pairs(loss, prefer::pair_batch{pc, pr});
    CHECK_SAME(without.reward_chosen, -3.0);
    CHECK_CLOSE(without.loss, 5.3, family::pair_loss);
}

TEST_CASE("with_nll: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_MESSAGE((with_nll{dpo{}, bad}.validate()), prefer::value_error,
                             "prefer::loss::with_nll: weight is ");
    }
    CHECK_THROWS_MESSAGE((with_nll{dpo{}, 1.0, static_cast<log_probs>(2)}.validate()),
                         prefer::value_error,
                         "prefer::loss::with_nll: of is 2, but must be a named enumerator");
    CHECK_THROWS_MESSAGE((with_nll{dpo{.beta = -1}, 1}.validate()), prefer::value_error,
                         "prefer::loss::dpo: beta is -1");
}
