// SPDX-License-Identifier: MIT
// What every backend must give is in tests/conformance; here are the calls themselves.
#include <prefer/logprob/token_log_probs.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::token_log_probs;
using prefer::token_log_probs_backward;
using prefer::test::family;

double const nan = std::numeric_limits<double>::quiet_NaN();
double const minus_log_2 = -0.69314718055994531;

TEST_CASE("the log-softmax of the label") {
    // softmax(log 1, log 2, log 5) = 1/8, 1/4, 5/8
    std::vector<double> const row{0.0, 0.69314718055994531, 1.6094379124341003};
    std::vector<double> logits;
    for (int i = 0; i < 3; ++i) logits.insert(logits.end(), row.begin(), row.end());
    std::vector<int> const labels{0, 1, 2};
    std::vector<double> out(3);
    token_log_probs(matrix_view(logits.data(), 3, 3), labels, out);
    CHECK_CLOSE(out, std::array{-2.0794415416798357, -1.3862943611198906, -0.47000362924573558},
                family::log_prob);

    std::vector<double> const g{1.0, 2.0, -8.0};
    std::vector<double> d(9);
    token_log_probs_backward(matrix_view(logits.data(), 3, 3), labels, g,
                             matrix_view(d.data(), 3, 3));
    CHECK_CLOSE(d, std::array{0.875, -0.25, -0.625, -0.25, 1.5, -1.25, 1.0, 2.0, -3.0},
                family::gradient);
}

TEST_CASE("one column is certain") {
    std::vector<float> const logits{3.0F, -7.0F};
    std::vector<int> const labels{0, 0};
    std::vector<float> out(2, 5.0F);
    token_log_probs(matrix_view(logits.data(), 2, 1), labels, out);
    CHECK_SAME(out, std::array{0.0F, 0.0F});
    std::vector<float> d(2, 5.0F);
    token_log_probs_backward(matrix_view(logits.data(), 2, 1), labels, std::array{1.0F, 2.0F},
                             matrix_view(d.data(), 2, 1));
    CHECK_SAME(d, std::array{0.0F, 0.0F});
}

TEST_CASE("L6: a call changes no input, and a second call gives the same") {
    std::vector<double> const logits{1, 2, 3, 4};
    std::vector<int> const labels{-100, 1};
    std::vector<double> first(2);
    std::vector<double> second(2);
    token_log_probs(matrix_view(logits.data(), 2, 2), labels, first);
    token_log_probs(matrix_view(logits.data(), 2, 2), labels, second);
    CHECK_SAME_BITS(first, second);
    CHECK_SAME(labels, std::array{-100, 1});
    CHECK_SAME(first[0], 0.0);
}

TEST_CASE("L9: infinite logits") {
    std::vector<double> const logits{-HUGE_VAL, 0.0, -HUGE_VAL, 0.0};
    std::vector<int> const labels{1, 0};
    std::vector<double> out(2);
    token_log_probs(matrix_view(logits.data(), 2, 2), labels, out);
    CHECK_SAME(out, std::array{0.0, -HUGE_VAL});
    std::vector<double> d(4);
    token_log_probs_backward(matrix_view(logits.data(), 2, 2), labels, std::array{1.0, 1.0},
                             matrix_view(d.data(), 2, 2));
    // Target 1: 0, 0. Target 0, which cannot occur: onehot - softmax.
    CHECK_SAME(d, std::array{0.0, 0.0, 1.0, -1.0});
}

TEST_CASE("L13: every gradient is written, whatever was there") {
    std::vector<double> const logits{1, 2, 0, 0};
    std::vector<double> d(4, nan);
    token_log_probs_backward(matrix_view(logits.data(), 2, 2), std::array{-100, 0},
                             std::array{1.0, 1.0}, matrix_view(d.data(), 2, 2));
    CHECK_SAME_BITS(d[0], 0.0);
    CHECK_SAME_BITS(d[1], 0.0);
    CHECK_CLOSE(d, std::array{0.0, 0.0, 0.5, -0.5}, family::gradient);
}

TEST_CASE("a probability near 1 keeps its gradient, in double also for float logits") {
    // 1 - p of the label = 1 / (1 + e^20) = 2.0611536181902037e-9, which is 0 in float arithmetic.
    std::vector<float> const logits{20.0F, 0.0F};
    std::vector<double> out(1);
    token_log_probs(matrix_view(logits.data(), 1, 2), std::array{0}, out);
    CHECK_CLOSE(out[0], -2.0611536203143808e-9, family::log_prob);
    CHECK_DISTINGUISHES(-2.0611536203143808e-9, 0.0, family::log_prob);
    std::vector<double> d(2);
    token_log_probs_backward(matrix_view(logits.data(), 1, 2), std::array{0}, std::array{1.0},
                             matrix_view(d.data(), 1, 2));
    CHECK_CLOSE(d[0], 2.0611536181902037e-9, family::gradient);
    CHECK_DISTINGUISHES(2.0611536181902037e-9, 0.0, family::gradient);
}

TEST_CASE("G4: narrow logits are computed in float, sums in double") {
    // 70000 equal bfloat16 logits: a bfloat16 sum stops at 256, a half sum overflows at 65504.
    std::size_t const n = 70000;
    double const expected = -11.156250521031495;  // -log 70000
    std::vector<float> out(1);
    std::vector<prefer::bfloat16> const narrow(n, prefer::bfloat16(3.0F));
    token_log_probs(matrix_view(narrow.data(), 1, n), std::array{0}, out);
    CHECK_CLOSE(out[0], expected, family::log_prob);
    std::vector<prefer::half> const halves(n, prefer::half(3.0F));
    token_log_probs(matrix_view(halves.data(), 1, n), std::array{0}, out);
    CHECK_CLOSE(out[0], expected, family::log_prob);
    // 2^24 + 2^20 equal float logits: a float sum stops at 2^24.
    std::size_t const many = (1U << 24U) + (1U << 20U);
    std::vector<float> const wide(many, 0.0F);
    std::vector<double> precise(1);
    token_log_probs(matrix_view(wide.data(), 1, many), std::array{0}, precise);
    CHECK_CLOSE(static_cast<float>(precise[0]), -16.696156955,  // -log(2^24 + 2^20)
                family::log_prob);
    CHECK_DISTINGUISHES_IN(float, -16.696156955, -16.635532333, family::log_prob);
}

TEST_CASE("labels of every integer type, containers of every kind") {
    std::vector<float> const logits{0, 0, 0, 0};
    matrix_view const x(logits.data(), 2, 2);
    std::array<double, 2> out{};
    auto const check = [&](auto const& labels) {
        out = {7, 7};
        token_log_probs(x, labels, out);
        CHECK_CLOSE(out, std::array{minus_log_2, minus_log_2}, family::log_prob);
    };
    check(std::vector<std::int64_t>{0, 1});
    check(std::array<std::int8_t, 2>{1, 0});
    check(std::array<std::uint8_t, 2>{1, 0});
    check(std::array<std::uint64_t, 2>{1, 0});
    std::array<int, 4> const spread{0, 9, 1, 9};
    check(prefer::vector_view(spread.data(), 2, 2));
    check(std::span<int const>(spread.data(), 1).size() == 1 ? std::array{0, 0} : std::array{1, 1});
    // 2^64 - 100 is no ignore index for an unsigned type, and no column.
    std::array<std::uint64_t, 2> const huge{0, 18446744073709551516U};
    CHECK_THROWS_AS(token_log_probs(x, huge, out), prefer::value_error);
}

TEST_CASE("results may be narrower than logits, and temporaries may be written through") {
    std::vector<double> const logits{0, 0};
    std::vector<prefer::bfloat16> narrow(1);
    token_log_probs(matrix_view(logits.data(), 1, 2), std::array{0}, narrow);
    CHECK(static_cast<float>(narrow[0]) == -0.69140625F);  // the bfloat16 next to -log 2
    std::vector<float> out(3, 5.0F);
    token_log_probs(matrix_view(logits.data(), 1, 2), std::array{0}, std::span(out).subspan(1, 1));
    CHECK(out[0] == 5.0F);
    CHECK_CLOSE(out[1], minus_log_2, family::log_prob);
    CHECK(out[2] == 5.0F);
}

TEST_CASE("G8: results of a strided call land at their strides, and nowhere else") {
    std::vector<double> const logits{0, 9, 0, 9};
    std::vector<double> out{5, 5, 5};
    token_log_probs(matrix_view(logits.data(), 2, 1, 2, 2), std::array{0, 0},
                    prefer::vector_view(out.data(), 2, 2));
    CHECK_SAME(out, std::array{0.0, 5.0, 0.0});
}

}  // namespace
