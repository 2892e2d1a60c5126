// SPDX-License-Identifier: MIT
#include <prefer/logprob/token_kl.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::test::family;
namespace divergence = prefer::token_divergence;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr std::size_t width = 7;

struct divergence_case {
    double value;
    std::array<double, width> d_policy, d_reference;
};

struct divergence_row {
    char const* name;
    std::array<double, width> policy, reference;
    std::array<divergence_case, 5> expected;
};

#include "token_kl.inc"

template <class T, class Divergence>
void check(divergence_row const& row, divergence_case const& expected,
           Divergence const& divergence) {
    std::vector<T> p, q;
    for (std::size_t j = 0; j < width; ++j) {
        p.push_back(static_cast<T>(row.policy[j]));
        q.push_back(static_cast<T>(row.reference[j]));
    }
    matrix_view const policy(p.data(), 1, width);
    matrix_view const reference(q.data(), 1, width);
    std::array const labels{2};
    std::array<T, 1> out{T(-1)};
    prefer::token_kl(policy, reference, labels, out, divergence);
    CHECK(out[0] >= 0);
    if (std::isinf(expected.value)) {
        CHECK_SAME(out[0], expected.value);
        return;
    }
    CHECK_CLOSE(out[0], expected.value, family::log_prob);
    std::array const g{1.0};
    std::vector<T> dp(width, T(nan)), dq(width, T(nan));
    auto const both = prefer::token_kl_gradients(matrix_view(dp.data(), 1, width))
                          .with_reference(matrix_view(dq.data(), 1, width));
    prefer::token_kl_backward(policy, reference, labels, g, both, divergence);
    CHECK_CLOSE(dp, expected.d_policy, family::log_prob);
    CHECK_CLOSE(dq, expected.d_reference, family::log_prob);
}

TEMPLATE_TEST_CASE("divergences of two rows, and their gradients", "", double, float) {
    for (divergence_row const& row : token_kl_rows) {
        CAPTURE(row.name);
        check<TestType>(row, row.expected[0], divergence::reverse_kl{});
        check<TestType>(row, row.expected[1], divergence::forward_kl{});
        check<TestType>(row, row.expected[2], divergence::jensen_shannon{});
        check<TestType>(row, row.expected[3], divergence::alpha{.order = 0.25});
        check<TestType>(row, row.expected[4], divergence::alpha{.order = 0.875});
    }
}

/// "nearly equal": a sum of p·log(p/q) would be off by 1e-2 of it in float.
TEST_CASE("nearly equal rows lose no digits") {
    for (divergence_row const& row : token_kl_rows) {
        if (std::string(row.name) != "nearly equal") continue;
        std::vector<float> const p(row.policy.begin(), row.policy.end());
        std::vector<float> const q(row.reference.begin(), row.reference.end());
        std::array const labels{0};
        std::array<float, 1> out{};
        prefer::token_kl(matrix_view(p.data(), 1, width), matrix_view(q.data(), 1, width), labels,
                         out);
        // The relative tolerance alone: the value is 9e-6.
        CHECK_CLOSE(out[0] * 0x1p20F, row.expected[0].value * 0x1p20, family::log_prob);
    }
}

}  // namespace
