// SPDX-License-Identifier: MIT
#include <prefer/backend/eigen.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "token_log_probs_battery.hpp"

namespace {

using prefer::matrix_view;
using prefer::backend::eigen;
using prefer::test::check_backend;

TEST_CASE("eigen gives what every backend must give") {
    check_backend(eigen{});
}

TEST_CASE("eigen on 2 threads gives what every backend must give") {
    check_backend(eigen{.threads = 2});
}

TEST_CASE("eigen on 3 threads gives what every backend must give") {
    check_backend(eigen{.threads = 3});
}

TEMPLATE_TEST_CASE("the number of threads changes no bit", "", double, float, prefer::bfloat16,
                   prefer::half) {
    std::size_t const rows = 61;
    std::size_t const columns = 4099;  // enough for seven threads
    auto const x = prefer::test::mixed_logits<TestType>(rows, columns);
    std::vector<std::int32_t> labels(rows);
    for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<std::int32_t>(i * 67 % columns);
    labels[60] = -100;
    std::vector<float> const g(rows, 0.3F);
    std::vector<float> expected(rows);
    std::vector<TestType> d_expected(x.size());
    matrix_view const logits(x.data(), rows, columns);
    prefer::token_log_probs(eigen{}, logits, labels, expected);
    prefer::token_log_probs_backward(eigen{}, logits, labels, g,
                                     matrix_view(d_expected.data(), rows, columns));
    for (int const threads : {2, 3, 7, 1024}) {
        CAPTURE(threads);
        std::vector<float> out(rows);
        std::vector<TestType> d(x.size());
        prefer::token_log_probs(eigen{.threads = threads}, logits, labels, out);
        prefer::token_log_probs_backward(eigen{.threads = threads}, logits, labels, g,
                                         matrix_view(d.data(), rows, columns));
        CHECK_SAME_BITS(out, expected);
        std::size_t different = 0;
        for (std::size_t i = 0; i < d.size(); ++i) {
            different += prefer::test::equal_bits(d[i], d_expected[i]) ? 0U : 1U;
        }
        CHECK(different == 0);
    }
}

TEST_CASE("a number of threads out of range is an error before anything is written") {
    std::vector<float> const x(6, 0.0F);
    std::vector<int> const labels{0, 1};
    std::vector<float> out{5, 5};
    std::vector<float> d(6, 5.0F);
    for (int const threads : {0, -1, 1025}) {
        CHECK_THROWS_MESSAGE(prefer::token_log_probs(eigen{.threads = threads},
                                                     matrix_view(x.data(), 2, 3), labels, out),
                             prefer::value_error,
                             "prefer::backend::eigen: threads is " + std::to_string(threads) +
                                 ", but must be in [1, 1024]");
        CHECK_THROWS_MESSAGE(prefer::token_log_probs_backward(eigen{.threads = threads},
                                                              matrix_view(x.data(), 2, 3), labels,
                                                              out, matrix_view(d.data(), 2, 3)),
                             prefer::value_error, "threads");
    }
    CHECK_SAME(out, std::vector<float>(2, 5.0F));
    CHECK_SAME(d, std::vector<float>(6, 5.0F));
}

}  // namespace
