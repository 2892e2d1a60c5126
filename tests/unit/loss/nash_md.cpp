// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/loss/evaluate_examples.hpp>
#include <prefer/loss/nash_md.hpp>

#include <array>
#include <limits>
#include <vector>

using prefer::evaluate_examples;
using prefer::example;
using prefer::example_batch;
using prefer::example_gradients;
using prefer::loss::nash_md;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("nash_md: value and gradient; the log-ratio is held") {
    CHECK_SAME(nash_md{}.beta, 0.1);
    // d = 2, P = 0.75: (0.2 - 0.25)·(-8) = 0.4, with slope -0.05.
    auto const y = value_and_grad(nash_md{}, example<double>{{-8, -10, 4}, 0.75});
    CHECK_CLOSE(y.loss, 0.4, family::gradient);
    CHECK_CLOSE(y.d_policy, -0.05, family::gradient);
    CHECK_DISTINGUISHES(-0.05, -0.85, family::gradient);  // differentiated through the log-ratio
    auto const still = value_and_grad(nash_md{}, example<double>{{-8, -8, 4}, 0.5});
    CHECK_SAME(still.d_policy, 0.0);
}

TEST_CASE("nash_md: on tokens there are no cross terms, on responses there are") {
    // Two tokens, log-ratios 1 and -3; P = 1.
    std::vector<double> const policy{-2, -5}, reference{-3, -2}, p{1, 1};
    std::vector<double> d(2);
    auto const s = evaluate_examples(nash_md{}, example_batch{policy, reference}.with_labels(p),
                                     example_gradients{d}, {.normalizer = 1});
    CHECK_CLOSE(d, (std::array{0.1 - 0.5, -0.3 - 0.5}), family::gradient);
    CHECK_CLOSE(s.loss, 0.8 + 4.0, family::reduction);
    auto const whole = value_and_grad(nash_md{}, example<double>{{-7, -5, 2}, 1});
    CHECK_CLOSE(whole.d_policy, -0.2 - 0.5, family::gradient);
}

TEST_CASE("nash_md: labels are probabilities, and are asked for") {
    std::vector<double> const policy{-2}, reference{-3}, bad{1.5};
    example_batch const batch{policy, reference};
    CHECK_THROWS_MESSAGE(evaluate_examples(nash_md{}, batch), prefer::value_error, "reads labels");
    CHECK_THROWS_MESSAGE(evaluate_examples(nash_md{}, batch.with_labels(bad)), prefer::value_error,
                         "labels[0] is 1.5, but must be in [0, 1]");
    CHECK_THROWS_MESSAGE((nash_md{.beta = -1}.validate()), prefer::value_error,
                         "prefer::loss::nash_md: beta is -1");
    CHECK_NOTHROW((nash_md{.beta = 0}.validate()));
}
