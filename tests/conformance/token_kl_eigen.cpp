// SPDX-License-Identifier: MIT
#include <prefer/backend/eigen.hpp>

#include <cstddef>
#include <vector>

#include "token_kl_battery.hpp"

namespace {

using prefer::matrix_view;
using prefer::backend::eigen;

TEST_CASE("eigen on 2 threads gives what every backend must give") {
    prefer::test::check_kl_backend(eigen{.threads = 2});
}

TEMPLATE_TEST_CASE("the number of threads changes no bit", "", double, float, prefer::bfloat16,
                   prefer::half) {
    std::size_t const rows = 61;
    std::size_t const columns = 4099;  // enough for seven threads
    auto const x = prefer::test::mixed_logits<TestType>(rows * columns, 1);
    auto const y = prefer::test::mixed_logits<TestType>(rows * columns, 2);
    matrix_view const policy(x.data(), rows, columns);
    matrix_view const reference(y.data(), rows, columns);
    std::vector<int> labels(rows, 3);
    labels[60] = -100;
    std::vector<float> const g(rows, 0.3F);
    std::vector<float> expected(rows);
    std::vector<TestType> dp_expected(x.size());
    std::vector<TestType> dq_expected(x.size());
    auto const both = [&](std::vector<TestType>& dp, std::vector<TestType>& dq) {
        return prefer::token_kl_gradients(matrix_view(dp.data(), rows, columns))
            .with_reference(matrix_view(dq.data(), rows, columns));
    };
    prefer::token_kl(policy, reference, labels, expected);
    prefer::token_kl_backward(policy, reference, labels, g, both(dp_expected, dq_expected));
    for (int const threads : {2, 3, 7}) {
        CAPTURE(threads);
        std::vector<float> out(rows);
        std::vector<TestType> dp(x.size());
        std::vector<TestType> dq(x.size());
        prefer::token_kl(eigen{.threads = threads}, policy, reference, labels, out);
        prefer::token_kl_backward(eigen{.threads = threads}, policy, reference, labels, g,
                                  both(dp, dq));
        CHECK_SAME_BITS(out, expected);
        std::size_t different = 0;
        for (std::size_t i = 0; i < dp.size(); ++i) {
            different += prefer::test::equal_bits(dp[i], dp_expected[i]) ? 0U : 1U;
            different += prefer::test::equal_bits(dq[i], dq_expected[i]) ? 0U : 1U;
        }
        CHECK(different == 0);
    }
}

TEST_CASE("a number of threads out of range is an error before anything is written") {
    std::vector<float> const x(6, 0.0F);
    std::vector<int> const labels{0, 1};
    std::vector<float> out{5, 5};
    matrix_view const logits(x.data(), 2, 3);
    CHECK_THROWS_MESSAGE(prefer::token_kl(eigen{.threads = 0}, logits, logits, labels, out),
                         prefer::value_error, "prefer::backend::eigen: threads is 0");
    CHECK_SAME(out, std::vector<float>(2, 5.0F));
}

}  // namespace
