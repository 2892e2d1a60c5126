// SPDX-License-Identifier: MIT
#include <prefer/core/reduction.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::packed;
using prefer::reduce;
using prefer::reduce_backward;
using prefer::reduction;
using prefer::reduction_options;
using prefer::shape_error;
using prefer::value_error;
using prefer::test::family;

constexpr std::array every{reduction::sum, reduction::mean_over_tokens,
                           reduction::mean_of_sequence_means, reduction::mean_of_sequence_sums};

// Rows [-1] and [-2, -4, -6] of known failure L11.
std::array const values{-1.0, -2.0, -4.0, -6.0};
std::array const offsets{0, 1, 4};

TEST_CASE("L11: four things that are called a mean") {
    // -13; -13/4; (-1 - 12/3)/2; (-1 - 12)/2
    std::array const expected{-13.0, -3.25, -2.5, -6.5};
    for (std::size_t i = 0; i < every.size(); ++i) {
        CHECK_CLOSE(reduce(values, offsets, {.how = every[i]}), expected[i], family::reduction);
    }
    CHECK_CLOSE(reduce(values, offsets), -3.25, family::reduction);
    CHECK_DISTINGUISHES(-2.5, -3.25, family::reduction);
}

TEST_CASE("the gradient of a reduction is what each token weighs") {
    std::array<std::array<double, 4>, 4> const expected{{
        {2, 2, 2, 2},                    // 2
        {0.5, 0.5, 0.5, 0.5},            // 2 / 4
        {1, 1.0 / 3, 1.0 / 3, 1.0 / 3},  // 2 / (2 · 1), 2 / (2 · 3)
        {1, 1, 1, 1},                    // 2 / 2
    }};
    for (std::size_t i = 0; i < every.size(); ++i) {
        std::array<double, 4> d{9, 9, 9, 9};
        reduce_backward(2.0, offsets, d, {.how = every[i]});
        CHECK_CLOSE(d, expected[i], family::gradient);
    }
}

TEST_CASE("micro-batches with a normalizer add up to the whole batch") {
    std::array const first{-1.0};
    std::array const second{-2.0, -4.0, -6.0};
    std::array const one{0, 1};
    std::array const three{0, 3};
    for (reduction const how : every) {
        if (how == reduction::sum) continue;
        bool const tokens = how == reduction::mean_over_tokens;
        reduction_options const parts{.how = how, .normalizer = tokens ? 4.0 : 2.0};
        CHECK_SAME(reduce(first, one, parts) + reduce(second, three, parts),
                   reduce(values, offsets, {.how = how}));
        std::array<double, 3> d{};
        std::array<double, 4> whole{};
        reduce_backward(1.0, three, d, parts);
        reduce_backward(1.0, offsets, whole, {.how = how});
        CHECK_SAME(d[1], whole[2]);
    }
}

TEST_CASE("L2, L13: what is not counted is not read, and has gradient 0") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::array const masked{-1.0, nan, -3.0, -HUGE_VAL};
    std::array const mask{1, 0, 1, 0};
    std::array const ends{0, 3, 4};
    auto const layout = packed(ends).with_mask(mask);
    CHECK_SAME(reduce(masked, layout, {.how = reduction::sum}), -4.0);
    CHECK_SAME(reduce(masked, layout), -2.0);
    // The second sequence has no counted token: mean 0, and it is one of the two.
    CHECK_SAME(reduce(masked, layout, {.how = reduction::mean_of_sequence_means}), -1.0);
    CHECK_SAME(reduce(masked, layout, {.how = reduction::mean_of_sequence_sums}), -2.0);
    for (reduction const how : every) {
        std::array d{nan, nan, nan, nan};
        reduce_backward(1.0, layout, d, {.how = how});
        CHECK_SAME_BITS(d[1], 0.0);
        CHECK_SAME_BITS(d[3], 0.0);
        CHECK(d[0] > 0);
        CHECK_SAME(d[0], d[2]);
    }
}

TEST_CASE("A4: nothing gives 0") {
    std::vector<double> const none;
    std::array const no_sequence{0};
    std::array const empty_sequence{0, 0};
    for (reduction const how : every) {
        CHECK_SAME_BITS(reduce(none, no_sequence, {.how = how}), 0.0);
        CHECK_SAME_BITS(reduce(none, empty_sequence, {.how = how}), 0.0);
        std::vector<double> d;
        CHECK_NOTHROW(reduce_backward(1.0, empty_sequence, d, {.how = how}));
    }
}

TEST_CASE("G4: narrow values are summed wide") {
    // 4096 · bfloat16(-0.1) = 4096 · -0.10009765625 = -410 exactly; a bfloat16 sum stops at -32.
    std::vector<prefer::bfloat16> const x(4096, prefer::bfloat16(-0.1F));
    std::array const whole{0, 4096};
    CHECK_SAME(reduce(x, whole, {.how = reduction::sum}), -410.0);
    // 2^24 + 1 ones in float stop at 2^24 in a float sum.
    std::vector<float> ones((1U << 24U) + 1U, 1.0F);
    std::array const all{0, (1 << 24) + 1};
    CHECK_SAME(reduce(ones, all, {.how = reduction::sum}), 16777217.0);
}

TEST_CASE("errors of a reduction") {
    auto const with = [](double normalizer) {
        return reduce(values, offsets, {.normalizer = normalizer});
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_MESSAGE(with(0.0), value_error,
                         "normalizer is 0, but must be finite and positive");
    CHECK_THROWS_MESSAGE(with(-1.0), value_error, "normalizer is -1");
    CHECK_THROWS_MESSAGE(with(nan), value_error, "normalizer is nan");
    CHECK_THROWS_MESSAGE(with(HUGE_VAL), value_error, "normalizer is inf");
    CHECK_THROWS_MESSAGE((reduce(values, offsets, {.how = reduction::sum, .normalizer = 4.0})),
                         value_error, "it takes no normalizer");
    CHECK_THROWS_MESSAGE((reduce(values, offsets, {.how = static_cast<reduction>(17)})),
                         value_error, "unknown reduction 17");
    std::array const shorter{0, 3};
    CHECK_THROWS_MESSAGE(reduce(values, shorter), shape_error,
                         "prefer::reduce: values has size 4, but the layout has size 3");
    std::array d{7.0, 7.0, 7.0, 7.0};
    CHECK_THROWS_MESSAGE(reduce_backward(1.0, shorter, d), shape_error,
                         "prefer::reduce_backward: d_values has size 4");
    CHECK_THROWS_MESSAGE((reduce_backward(1.0, offsets, d, {.normalizer = nan})), value_error,
                         "normalizer");
    CHECK_SAME(d, std::array{7.0, 7.0, 7.0, 7.0});
}

}  // namespace
