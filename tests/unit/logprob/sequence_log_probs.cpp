// SPDX-License-Identifier: MIT
#include <prefer/logprob/sequence_log_probs.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::packed;
using prefer::padded;
using prefer::sequence_counts;
using prefer::sequence_lengths;
using prefer::sequence_mean;
using prefer::sequence_mean_backward;
using prefer::sequence_sum;
using prefer::sequence_sum_backward;
using prefer::shape_error;
using prefer::test::family;

double const nan = std::numeric_limits<double>::quiet_NaN();

struct result {
    std::vector<double> sum, mean, d_sum, d_mean;
    std::vector<int> length;
    sequence_counts counts;
};

/// Every function of the family on one layout; the upstream gradient is 1, 2, 3, …
template <class Layout>
result run(std::vector<double> const& logp, Layout const& layout, std::size_t sequences) {
    result r{};
    for (auto* x : {&r.sum, &r.mean}) x->assign(sequences, nan);
    for (auto* x : {&r.d_sum, &r.d_mean}) x->assign(logp.size(), nan);
    r.length.assign(sequences, -1);
    std::vector<double> upstream;
    for (std::size_t b = 0; b < sequences; ++b) upstream.push_back(static_cast<double>(b + 1));
    r.counts = sequence_sum(logp, layout, r.sum);
    for (sequence_counts const& c :
         {sequence_mean(logp, layout, r.mean), sequence_lengths(layout, r.length)}) {
        CHECK(c.sequences == r.counts.sequences);
        CHECK(c.tokens == r.counts.tokens);
        CHECK(c.empty == r.counts.empty);
    }
    sequence_sum_backward(upstream, layout, r.d_sum);
    sequence_mean_backward(upstream, layout, r.d_mean);
    return r;
}

TEST_CASE("L13: sums and means of packed sequences; every number is written") {
    result const r = run({-1, -2, -4, -6, -8}, std::array{0, 1, 1, 5}, 3);
    CHECK_SAME(r.sum, std::array{-1.0, 0.0, -20.0});
    CHECK_SAME(r.mean, std::array{-1.0, 0.0, -5.0});
    CHECK_SAME(r.length, std::array{1, 0, 4});
    CHECK_SAME(r.d_sum, std::array{1.0, 3.0, 3.0, 3.0, 3.0});
    CHECK_SAME(r.d_mean, std::array{1.0, 0.75, 0.75, 0.75, 0.75});
    CHECK(r.counts.sequences == 3);
    CHECK(r.counts.tokens == 5);
    CHECK(r.counts.empty == 1);
}

TEST_CASE("L2: what is masked is selected away") {
    std::array const offsets{0, 3};
    std::array const mask{1, 0, 1};
    for (double const bad : {nan, -HUGE_VAL, HUGE_VAL}) {
        result const r = run({-1, bad, -3}, packed(offsets).with_mask(mask), 1);
        CHECK_SAME(r.sum[0], -4.0);
        CHECK_SAME(r.mean[0], -2.0);
        CHECK_SAME(r.d_sum, std::array{1.0, 0.0, 1.0});
        CHECK_SAME(r.d_mean, std::array{0.5, 0.0, 0.5});
        CHECK_SAME_BITS(r.d_sum[1], 0.0);
        CHECK_SAME_BITS(r.d_mean[1], 0.0);
    }
    // Backward: neither an infinite nor a negative upstream gradient reaches the masked token.
    for (double const g : {-HUGE_VAL, nan, -1.0}) {
        std::array<double, 3> d{9, 9, 9};
        sequence_sum_backward(std::array{g}, packed(offsets).with_mask(mask), d);
        CHECK_SAME_BITS(d[1], 0.0);
        sequence_mean_backward(std::array{g}, packed(offsets).with_mask(mask), d);
        CHECK_SAME_BITS(d[1], 0.0);
    }
}

TEST_CASE("L3: a sequence with no valid token") {
    std::vector<int> const mask{1, 1, 0, 0};
    result const r = run({-1, -3, -5, -7}, padded(matrix_view(mask.data(), 2, 2)), 2);
    CHECK_SAME(r.length, std::array{2, 0});
    CHECK_SAME(r.sum, std::array{-4.0, 0.0});
    CHECK_SAME(r.mean, std::array{-2.0, 0.0});
    CHECK_SAME(r.d_sum, std::array{1.0, 1.0, 0.0, 0.0});
    CHECK_SAME(r.d_mean, std::array{0.5, 0.5, 0.0, 0.0});
    CHECK(r.counts.empty == 1);
    CHECK(r.counts.tokens == 2);
}

TEST_CASE("L4: the response is kept, and divided by its own length") {
    std::array const offsets{0, 4};
    std::array const mask{0, 0, 1, 1};
    result const r = run({-1, -2, -3, -4}, packed(offsets).with_mask(mask), 1);
    CHECK_SAME(r.sum[0], -7.0);
    CHECK_SAME(r.mean[0], -3.5);
    CHECK_DISTINGUISHES(-3.5, -0.75, family::reduction);
    std::array const labels{-100, -100, 0, 5};
    result const same = run({-1, -2, -3, -4}, packed(offsets).with_labels(labels), 1);
    CHECK_SAME(same.mean[0], -3.5);
}

TEST_CASE("L17: lengths come from the mask, not from values") {
    std::vector<std::uint8_t> const mask{1, 1, 1, 0};
    result const r = run({-1, -3, 0, 0}, padded(matrix_view(mask.data(), 1, 4)), 1);
    CHECK(r.length[0] == 3);
    CHECK_CLOSE(r.mean[0], -1.3333333333333333, family::reduction);
    CHECK_DISTINGUISHES(-1.3333333333333333, -4.0, family::reduction);
    CHECK_DISTINGUISHES(-1.3333333333333333, -2.0, family::reduction);
}

TEST_CASE("padded, packed with a mask and packed without padding agree") {
    std::vector<int> const mask{1, 1, 0, 1, 1, 1};
    std::vector<double> const logp{-1, -2, nan, -3, -4, -5};
    result const by_rows = run(logp, padded(matrix_view(mask.data(), 2, 3)), 2);
    std::array const offsets{0, 3, 6};
    result const by_mask = run(logp, packed(offsets).with_mask(mask), 2);
    result const tight = run({-1, -2, -3, -4, -5}, std::array{0, 2, 5}, 2);
    for (result const* r : {&by_rows, &by_mask}) {
        CHECK_SAME(r->sum, tight.sum);
        CHECK_SAME(r->mean, tight.mean);
        CHECK_SAME(r->length, tight.length);
        CHECK_SAME(r->d_mean, std::array{0.5, 0.5, 0.0, 2.0 / 3, 2.0 / 3, 2.0 / 3});
    }
}

TEST_CASE("a padded array of log-probs enters through flatten") {
    std::vector<float> const logp{-1, -2, 9, -3, 9, 9};
    std::vector<int> const mask{1, 1, 0, 1, 0, 0};
    std::vector<float> sums(2);
    sequence_sum(prefer::flatten(matrix_view(logp.data(), 2, 3)),
                 padded(matrix_view(mask.data(), 2, 3)), sums);
    CHECK_SAME(sums, std::array{-3.0F, -3.0F});
}

TEST_CASE("G4: sums are wider than what they are stored in") {
    std::array const offsets{0, 4096};
    std::vector<prefer::bfloat16> const tokens(4096, prefer::bfloat16(-0.1F));
    std::vector<float> sum(1);
    std::vector<float> mean(1);
    sequence_sum(tokens, offsets, sum);
    sequence_mean(tokens, offsets, mean);
    CHECK_SAME(sum[0], -410.0F);  // 4096 · bfloat16(-0.1) = -410 exactly
    CHECK_SAME(mean[0], -0.10009765625F);
    CHECK_DISTINGUISHES_IN(float, -410.0, -32.0, family::reduction);
    std::vector<prefer::bfloat16> d(4096);
    sequence_mean_backward(std::array{1.0F}, offsets, d);
    CHECK(static_cast<float>(d[4095]) == 0x1p-12F);
    // A float sum of 2^24 and then ones would not move.
    std::vector<float> tail(9, -1.0F);
    tail[0] = -16777216.0F;
    std::vector<double> wide(1);
    sequence_sum(tail, std::array{0, 9}, wide);
    CHECK_SAME(wide[0], -16777224.0);
}

TEST_CASE("no sequences") {
    std::vector<double> const none;
    std::vector<double> out;
    sequence_counts const counts = sequence_sum(none, std::array{0}, out);
    CHECK(counts.sequences == 0);
    CHECK(counts.tokens == 0);
    CHECK(counts.empty == 0);
    CHECK_NOTHROW(sequence_mean_backward(none, std::array{0}, out));
}

TEST_CASE("errors leave the results alone") {
    std::vector<double> const logp{-1, -2, -3};
    std::vector<double> out{7};
    std::vector<double> d{7, 7, 7};
    std::vector<int> lengths{7};
    CHECK_THROWS_MESSAGE(sequence_sum(logp, std::array{0, 2}, out), shape_error,
                         "prefer::sequence_sum: token_logp has size 3, but the layout has size 2");
    CHECK_THROWS_MESSAGE(sequence_mean(logp, std::array{0, 1, 3}, out), shape_error,
                         "prefer::sequence_mean: sequence_logp has size 1");
    CHECK_THROWS_MESSAGE(sequence_sum(logp, std::array{1, 3}, out), shape_error, "offsets[0] is 1");
    CHECK_THROWS_MESSAGE(sequence_sum(logp, std::vector<int>(), out), shape_error,
                         "offsets is empty");
    CHECK_THROWS_MESSAGE(sequence_sum_backward(out, std::array{0, 2}, d), shape_error,
                         "prefer::sequence_sum_backward: d_token_logp has size 3");
    CHECK_THROWS_MESSAGE(sequence_mean_backward(out, std::array{0, 1, 3}, d), shape_error,
                         "prefer::sequence_mean_backward: d_sequence_logp has size 1");
    CHECK_THROWS_MESSAGE(sequence_lengths(std::array{0, 1, 3}, lengths), shape_error,
                         "prefer::sequence_lengths: lengths has size 1");
    std::array const short_mask{1, 1};
    std::array const offsets{0, 3};
    CHECK_THROWS_MESSAGE(sequence_sum(logp, packed(offsets).with_mask(short_mask), out),
                         shape_error, "mask has size 2");
    CHECK_SAME(out, std::array{7.0});
    CHECK_SAME(d, std::array{7.0, 7.0, 7.0});
    CHECK_SAME(lengths, std::array{7});
}

}  // namespace
