// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/random.hpp>
#include <prefer/logprob/length_desensitized_sum.hpp>
#include <prefer/logprob/sequence_log_probs.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using prefer::length_desensitized_sum;
using prefer::length_desensitized_sum_backward;
using prefer::packed;
using prefer::padded;
using prefer::sequence_sum;
using prefer::sequence_sum_backward;
using prefer::test::family;

namespace {

double const unset = std::numeric_limits<double>::quiet_NaN();

// Three pairs: chosen longer, equal, rejected longer.
std::array const chosen_offsets{0, 4, 6, 7};
std::array const rejected_offsets{0, 2, 4, 7};
std::vector<double> const chosen{-1, -2, -4, -8, -1, -3, -5};
std::vector<double> const rejected{-2, -3, -1, -1, -0.5, -7, -6};

}  // namespace

TEST_CASE("length_desensitized_sum: what lies beyond the shorter response counts alpha") {
    std::vector<double> c(3, unset);
    std::vector<double> r(3, unset);
    auto const counts =
        length_desensitized_sum(chosen, chosen_offsets, rejected_offsets, c, {.alpha = 0.25});
    length_desensitized_sum(rejected, rejected_offsets, chosen_offsets, r, {.alpha = 0.25});
    CHECK_SAME(c, std::array{-3 - 12 * 0.25, -4.0, -5.0});
    CHECK_SAME(r, std::array{-5.0, -2.0, -0.5 - 13 * 0.25});
    CHECK(counts.sequences == 3);
    CHECK(counts.tokens == 7);
    CHECK(counts.empty == 0);
    // The default is 1/2.
    length_desensitized_sum(chosen, chosen_offsets, rejected_offsets, c);
    CHECK_SAME(c[0], -9.0);
}

TEST_CASE("length_desensitized_sum: the gradient") {
    std::vector<double> d(7, unset);
    length_desensitized_sum_backward(std::array{1.0, 2.0, 4.0}, rejected_offsets, chosen_offsets, d,
                                     {.alpha = 0.25});
    CHECK_SAME(d, std::array{1.0, 1.0, 2.0, 2.0, 4.0, 1.0, 1.0});
    length_desensitized_sum_backward(std::array{1.0, 2.0, 4.0}, chosen_offsets, rejected_offsets, d,
                                     {.alpha = 0.5});
    CHECK_SAME(d, std::array{1.0, 1.0, 0.5, 0.5, 2.0, 2.0, 4.0});
}

TEST_CASE("length_desensitized_sum: with alpha 1, sequence_sum bit for bit") {
    prefer::philox rng(7);
    std::vector<double> tokens(40);
    std::vector<std::int64_t> mask(40);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = -5 * prefer::uniform01<double>(rng);
        mask[i] = prefer::uniform01<double>(rng) < 0.7 ? 1 : 0;
    }
    std::array const offsets{0, 13, 13, 14, 40};
    std::array const other{0, 5, 9, 9, 30};
    auto const layout = packed(offsets).with_mask(mask);
    std::vector<double> plain(4), sums(4), d_plain(40), d(40);
    sequence_sum(tokens, layout, plain);
    length_desensitized_sum(tokens, layout, other, sums, {.alpha = 1});
    CHECK_SAME_BITS(sums, plain);
    std::array const upstream{0.3, -1.7, 1e-3, 2.9};
    sequence_sum_backward(upstream, layout, d_plain);
    length_desensitized_sum_backward(upstream, layout, other, d, {.alpha = 1});
    CHECK_SAME_BITS(d, d_plain);
    // In float, too.
    std::vector<float> narrow(4), narrow_plain(4);
    sequence_sum(tokens, layout, narrow_plain);
    length_desensitized_sum(tokens, layout, other, narrow, {.alpha = 1});
    CHECK_SAME_BITS(narrow, narrow_plain);
}

TEST_CASE("length_desensitized_sum: policy = reference gives a margin of exactly 0 (F17)") {
    auto const margins = [](std::vector<double> const& policy_c,
                            std::vector<double> const& policy_r, double alpha) {
        std::vector<double> pc(3), pr(3), rc(3), rr(3), h(3);
        length_desensitized_sum(policy_c, chosen_offsets, rejected_offsets, pc, {.alpha = alpha});
        length_desensitized_sum(policy_r, rejected_offsets, chosen_offsets, pr, {.alpha = alpha});
        length_desensitized_sum(chosen, chosen_offsets, rejected_offsets, rc, {.alpha = alpha});
        length_desensitized_sum(rejected, rejected_offsets, chosen_offsets, rr, {.alpha = alpha});
        for (std::size_t b = 0; b < 3; ++b) h[b] = (pc[b] - rc[b]) - (pr[b] - rr[b]);
        return h;
    };
    for (double const alpha : {0.0, 0.1, 0.37, 0.5, 1.0}) {
        CHECK_SAME_BITS(margins(chosen, rejected, alpha), std::vector<double>(3, 0.0));
    }
    // The reported fault: the policy desensitized, the cached reference not.
    std::vector<double> pc(3), rc(3);
    length_desensitized_sum(chosen, chosen_offsets, rejected_offsets, pc);
    sequence_sum(chosen, chosen_offsets, rc);
    CHECK_DISTINGUISHES(0.0, pc[0] - rc[0], family::reduction);
}

TEST_CASE("length_desensitized_sum: masked tokens are selected away, and hold no position (L2)") {
    // Positions 0 (prompt) and 2 (masked) do not count: -1 is first, -2 second, -4 third.
    std::array const tokens{unset, -1.0, HUGE_VAL, -2.0, -4.0, unset};
    std::array const mask{0, 1, 0, 1, 1, 0};
    std::array const offsets{0, 6};
    std::array const short_mask{0, 0, 1, 1, 0, 0};
    auto const layout = packed(offsets).with_mask(mask);
    auto const other = padded(prefer::matrix_view(short_mask.data(), 1, 6));
    std::vector<double> sum(1, unset);
    length_desensitized_sum(tokens, layout, other, sum, {.alpha = 0.25});
    CHECK_SAME(sum[0], -4.0);  // -1 - 2 - 0.25·4
    for (double const g : {1.0, -HUGE_VAL, unset}) {
        std::vector<double> d(6, 9.0);
        length_desensitized_sum_backward(std::array{g}, layout, other, d, {.alpha = 0.25});
        CHECK_SAME_BITS(d[0], 0.0);
        CHECK_SAME_BITS(d[2], 0.0);
        CHECK_SAME_BITS(d[5], 0.0);
        CHECK_SAME(d[1], g);
        CHECK_SAME(d[4], 0.25 * g);
    }
}

TEST_CASE("length_desensitized_sum: with alpha 0, the tail is not read either") {
    std::array const tokens{-1.0, -2.0, -HUGE_VAL, unset};
    std::array const four{0, 4};
    std::array const two{0, 2};
    std::vector<double> sum(1, unset);
    length_desensitized_sum(tokens, four, two, sum, {.alpha = 0});
    CHECK_SAME(sum[0], -3.0);
    std::vector<double> d(4, 9.0);
    length_desensitized_sum_backward(std::array{-HUGE_VAL}, four, two, d, {.alpha = 0});
    CHECK_SAME(d[1], -HUGE_VAL);
    CHECK_SAME_BITS(d[2], 0.0);
    CHECK_SAME_BITS(d[3], 0.0);
}

TEST_CASE("length_desensitized_sum: empty responses (L3)") {
    std::array const tokens{-1.0, -2.0};
    std::array const two{0, 2};
    std::array const none{0, 0};
    std::vector<double> sum(1, unset);
    length_desensitized_sum(tokens, two, none, sum, {.alpha = 0.5});
    CHECK_SAME(sum[0], -1.5);  // nothing lies within p = 0
    auto const counts = length_desensitized_sum(std::vector<double>{}, none, two, sum);
    CHECK_SAME(sum[0], 0.0);
    CHECK(counts.empty == 1);
}

TEST_CASE("length_desensitized_sum: sums are wider than what they are stored in") {
    std::array const offsets{0, 4096};
    std::array const other{0, 2048};
    std::vector<prefer::bfloat16> const tokens(4096, prefer::bfloat16(-0.25F));
    std::vector<float> sum(1);
    length_desensitized_sum(tokens, offsets, other, sum, {.alpha = 0.5});
    CHECK_SAME(sum[0], -768.0F);
}

TEST_CASE("length_desensitized_sum: what does not fit is refused, before anything is written") {
    std::vector<double> out(3, 7);
    std::vector<double> two(2);
    std::vector<double> d(6);
    std::array const fewer{0, 2, 4};
    std::array const upstream{1.0, 2.0, 3.0};
    char const* const name = "prefer::length_desensitized_sum: ";
    CHECK_THROWS_MESSAGE(length_desensitized_sum(two, chosen_offsets, rejected_offsets, out),
                         prefer::shape_error, "token_logp has size 2");
    CHECK_THROWS_MESSAGE(length_desensitized_sum(chosen, chosen_offsets, fewer, out),
                         prefer::shape_error, "the other layout has size 2");
    CHECK_THROWS_MESSAGE(length_desensitized_sum(chosen, chosen_offsets, rejected_offsets, two),
                         prefer::shape_error, "sequence_logp has size 2");
    CHECK_THROWS_MESSAGE(
        length_desensitized_sum_backward(upstream, chosen_offsets, rejected_offsets, d),
        prefer::shape_error, "prefer::length_desensitized_sum_backward: d_token_logp has size 6");
    CHECK_THROWS_MESSAGE(length_desensitized_sum_backward(std::array{1.0}, chosen_offsets,
                                                          rejected_offsets, std::vector<double>(7)),
                         prefer::shape_error, "d_sequence_logp has size 1");
    for (double const bad : {-0.01, 1.01, unset}) {
        CHECK_THROWS_MESSAGE(
            length_desensitized_sum(chosen, chosen_offsets, rejected_offsets, out, {.alpha = bad}),
            prefer::value_error, name);
        CHECK_THROWS_MESSAGE(length_desensitized_sum_backward(
                                 upstream, chosen_offsets, rejected_offsets, out, {.alpha = bad}),
                             prefer::value_error, "must be in [0, 1]");
    }
    CHECK_SAME(out, std::array{7.0, 7.0, 7.0});
}
