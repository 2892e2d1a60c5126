// SPDX-License-Identifier: MIT
#include <prefer/logprob/token_log_probs.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>

#include <support/catch.hpp>
#include <support/compare.hpp>

using prefer::test::family;

namespace {

struct golden_row {
    char const* name;
    double logits[40];
    int label;
    double temperature, logit_scale, soft_cap;
    double log_prob, entropy, log_sum_squares, mean_logit;
};

#include "token_log_probs.inc"

}  // namespace

TEMPLATE_TEST_CASE("log-probs and second outputs are those of the golden table", "", double, float,
                   prefer::bfloat16, prefer::half) {
    using C = prefer::compute_t<TestType>;
    std::size_t rows = 0;
    for (golden_row const& row : golden_rows) {
        if (sizeof(TestType) == 2 && std::string(row.name).rfind("narrow", 0) != 0) continue;
        ++rows;
        INFO(row.name);
        std::array<TestType, 40> logits{};
        for (std::size_t j = 0; j < 40; ++j) {
            logits[j] = static_cast<TestType>(static_cast<C>(row.logits[j]));
        }
        std::array<C, 1> log_prob{}, entropy{}, squares{}, mean{};
        prefer::token_log_probs(prefer::matrix_view(logits.data(), 1, 40), std::array{row.label},
                                prefer::token_outputs(log_prob)
                                    .with_entropy(entropy)
                                    .with_log_sum_squares(squares)
                                    .with_mean_logit(mean),
                                {.temperature = row.temperature,
                                 .logit_scale = row.logit_scale,
                                 .soft_cap = row.soft_cap});
        CHECK_CLOSE(log_prob[0], row.log_prob, family::log_prob);
        CHECK_CLOSE(entropy[0], row.entropy, family::log_prob);
        CHECK_CLOSE(squares[0], row.log_sum_squares, family::log_prob);
        CHECK_CLOSE(mean[0], row.mean_logit, family::log_prob);
    }
    CHECK(rows >= 7);
}
