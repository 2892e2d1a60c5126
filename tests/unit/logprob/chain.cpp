// SPDX-License-Identifier: MIT
// Logits to sequence log-probs and back, against central differences of the whole chain.
#include <prefer/logprob/logprob.hpp>

#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>
#include <support/finite_difference.hpp>

namespace {

using prefer::matrix_view;
using prefer::test::family;

constexpr std::size_t rows = 6;
constexpr std::size_t columns = 4;

// Two packed sequences of 4 and 2 tokens; the first row of the first, and the last rows, are not
// scored.
std::vector<int> const offsets{0, 4, 6};
std::vector<int> const labels{-100, 3, 0, -100, 2, -100};
std::vector<double> const upstream{0.7, -1.3};
std::vector<double> const logits{0.5,  -1.0, 2.0, 0.0, 1.5, 1.5,  -0.5, 0.25, -2.0, 0.0, 3.0, 1.0,
                                 -0.5, 0.5,  1.0, 2.0, 0.0, -3.0, 0.5,  0.75, 9.0,  8.0, 7.0, 6.0};

double scalar(std::vector<double> const& x, bool mean) {
    std::vector<double> token(rows);
    std::vector<double> sequence(2);
    prefer::token_log_probs(matrix_view(x.data(), rows, columns), labels, token);
    auto const layout = prefer::packed(offsets).with_labels(labels);
    if (mean) {
        prefer::sequence_mean(token, layout, sequence);
    } else {
        prefer::sequence_sum(token, layout, sequence);
    }
    return upstream[0] * sequence[0] + upstream[1] * sequence[1];
}

TEST_CASE("the backward of the chain is its derivative") {
    for (bool const mean : {false, true}) {
        auto const layout = prefer::packed(offsets).with_labels(labels);
        std::vector<double> d_token(rows);
        if (mean) {
            prefer::sequence_mean_backward(upstream, layout, d_token);
        } else {
            prefer::sequence_sum_backward(upstream, layout, d_token);
        }
        std::vector<double> d(logits.size());
        prefer::token_log_probs_backward(matrix_view(logits.data(), rows, columns), labels, d_token,
                                         matrix_view(d.data(), rows, columns));
        for (std::size_t i = 0; i < logits.size(); ++i) {
            auto const along = [&](double value) {
                std::vector<double> moved = logits;
                moved[i] = value;
                return scalar(moved, mean);
            };
            CAPTURE(mean, i);
            CHECK_CLOSE(d[i], prefer::test::derivative(along, logits[i]).value,
                        family::finite_difference);
        }
    }
}

TEST_CASE("G6: a value is the same whether or not its gradient is taken") {
    double const before = scalar(logits, false);
    std::vector<double> x = logits;
    std::vector<double> d_token(rows, 0.5);
    std::vector<double> d(logits.size());
    prefer::token_log_probs_backward(matrix_view(x.data(), rows, columns), labels, d_token,
                                     matrix_view(d.data(), rows, columns));
    CHECK_SAME_BITS(x, logits);
    CHECK_SAME_BITS(scalar(x, false), before);
    // In place only where the caller passes the logits themselves.
    prefer::token_log_probs_backward(matrix_view(x.data(), rows, columns), labels, d_token,
                                     matrix_view(x.data(), rows, columns));
    CHECK_SAME_BITS(x, d);
}

}  // namespace
