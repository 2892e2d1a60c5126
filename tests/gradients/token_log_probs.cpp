// SPDX-License-Identifier: MIT
// Central differences through every option, every column and every label.
#include <prefer/logprob/token_log_probs.hpp>

#include <array>
#include <cstddef>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

using prefer::matrix_view;
using prefer::test::family;

TEST_CASE("gradients of token log-probs are the differences of their values") {
    std::size_t const columns = 35;
    std::vector<double> x(columns);
    for (std::size_t j = 0; j < columns; ++j) {
        x[j] = static_cast<double>(j * 37 % 71) / 8 - 4;
    }
    std::vector<prefer::token_options> const cases{
        {},
        {.temperature = 0.7},
        {.logit_scale = 1.5},
        {.soft_cap = 3},
        {.temperature = 0.7, .logit_scale = 1.5, .soft_cap = 3},
        {.temperature = 0.7, .logit_scale = 1.5, .soft_cap = 3, .vocabulary = 33}};
    for (auto const& options : cases) {
        for (int label = 0; label < 33; ++label) {
            CAPTURE(label, options.temperature, options.logit_scale, options.soft_cap);
            std::array const labels{label};
            auto const value = [&](std::size_t j, double by) {
                std::vector<double> moved = x;
                moved[j] += by;
                std::array<double, 1> out{};
                prefer::token_log_probs(matrix_view(moved.data(), 1, columns), labels, out,
                                        options);
                return out[0];
            };
            std::vector<double> d(columns);
            prefer::token_log_probs_backward(matrix_view(x.data(), 1, columns), labels,
                                             std::array{1.0}, matrix_view(d.data(), 1, columns),
                                             options);
            double const h = 1e-4;
            for (std::size_t j = 0; j < columns; ++j) {
                double const near = (value(j, h) - value(j, -h)) / (2 * h);
                double const far = (value(j, 2 * h) - value(j, -2 * h)) / (4 * h);
                REQUIRE_CLOSE(d[j], (4 * near - far) / 3, family::finite_difference);
            }
        }
    }
}
