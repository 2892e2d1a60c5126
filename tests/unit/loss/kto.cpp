// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/loss/evaluate_examples.hpp>
#include <prefer/loss/kto.hpp>

#include <cmath>
#include <limits>
#include <vector>

using prefer::evaluate_examples;
using prefer::example;
using prefer::example_batch;
using prefer::example_gradients;
using prefer::loss::kto;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

/// An example with this log-ratio.
example<double> with_ratio(double d, double label) {
    return {{-20 + d, -20, 4}, label};
}

}  // namespace

TEST_CASE("kto: defaults and inputs") {
    CHECK_SAME(kto{}.beta, 0.1);
    CHECK_SAME(kto{}.desirable_weight, 1.0);
    CHECK_SAME(kto{}.undesirable_weight, 1.0);
    CHECK_SAME(kto{}.reference_point, 0.0);
    STATIC_REQUIRE(kto::inputs().reference);
    STATIC_REQUIRE(kto::inputs().labels);
    STATIC_REQUIRE(!kto::inputs().lengths);
}

TEST_CASE("kto: desirable and undesirable examples beside the reference point (K3)") {
    kto const loss{.beta = 0.1, .reference_point = 0.5};
    CHECK_CLOSE(loss(with_ratio(1, 1)), 0.487502604, family::quoted);
    CHECK_CLOSE(loss(with_ratio(2, 1)), 0.462570155, family::quoted);
    CHECK_CLOSE(loss(with_ratio(-1, 0)), 0.462570155, family::quoted);
    CHECK_CLOSE(loss(with_ratio(0.5, 1)), 0.5, family::pair_loss);
    CHECK_CLOSE(loss(with_ratio(0.5, 0)), 0.5, family::pair_loss);
    auto const up = value_and_grad(loss, with_ratio(1, 1));
    CHECK_CLOSE(up.d_policy, -0.0249843815081, family::quoted);
    auto const down = value_and_grad(loss, with_ratio(-1, 0));
    CHECK_CLOSE(down.d_policy, 0.0248599006678, family::quoted);
}

TEST_CASE("kto: a batch of one kind has finite loss, gradients and metrics (K3)") {
    std::vector<double> const policy{-19, -18}, reference{-20, -20};
    std::vector<int> const labels{1, 1};
    std::vector<double> d(2);
    kto const loss{.beta = 0.1, .reference_point = 0.5};
    auto const s = evaluate_examples(loss, example_batch{policy, reference}.with_labels(labels),
                                     example_gradients{d});
    CHECK_CLOSE(s.loss, 0.475036379, family::quoted);
    CHECK(s.desirable.examples == 2);
    CHECK(s.undesirable.examples == 0);
    CHECK_SAME(s.undesirable.loss, 0.0);
    CHECK_SAME(s.undesirable.reward, 0.0);
    CHECK(std::isfinite(d[0]));
    CHECK(std::isfinite(d[1]));
    CHECK(d[0] < 0);
}

TEST_CASE("kto: the class weights have an effect, on every path (K6)") {
    kto const loss{.beta = 0.1, .undesirable_weight = 2, .reference_point = 0.5};
    double const by_hand =
        loss(with_ratio(1, 1)) + loss(with_ratio(2, 1)) + loss(with_ratio(-1, 0));
    CHECK_CLOSE(by_hand, 1.87521307, family::quoted);
    std::vector<double> const policy{-19, -18, -21}, reference{-20, -20, -20};
    std::vector<double> d(3);
    std::vector<int> const labels{1, 1, 0};
    auto const batch = example_batch{policy, reference}.with_labels(labels);
    CHECK_CLOSE(evaluate_examples(loss, batch, example_gradients{d}, {.normalizer = 1}).loss,
                1.87521307, family::quoted);
    CHECK_CLOSE(evaluate_examples(loss, batch, {.normalizer = 1}).loss, 1.87521307, family::quoted);
    std::vector<float> const policy_f{-19, -18, -21}, reference_f{-20, -20, -20};
    auto const narrow = example_batch{policy_f, reference_f}.with_labels(labels);
    CHECK_CLOSE(static_cast<float>(evaluate_examples(loss, narrow, {.normalizer = 1}).loss),
                1.87521307, family::reduction);
    CHECK_DISTINGUISHES(1.87521307, 1.41264291, family::quoted);  // ignored
    kto plain = loss;
    plain.undesirable_weight = 1;
    CHECK_CLOSE(d[2], 2 * value_and_grad(plain, with_ratio(-1, 0)).d_policy, family::gradient);
}

TEST_CASE("kto: matched and mismatched log-probs are not exchangeable (K10)") {
    CHECK_CLOSE((kto{.beta = 0.1, .reference_point = 0.5}(with_ratio(1, 1))), 0.487502604,
                family::quoted);
    CHECK_CLOSE((kto{.beta = 0.1, .reference_point = 1}(with_ratio(0.5, 1))), 0.512497396,
                family::quoted);
}

TEST_CASE("kto: no digits are lost far from the reference point") {
    CHECK_CLOSE((kto{.beta = 1}(with_ratio(600, 1))), std::exp(-600.0), family::pair_loss);
    CHECK_CLOSE((kto{.beta = 1}(with_ratio(-600, 0))), std::exp(-600.0), family::pair_loss);
    CHECK_SAME((kto{.beta = 1}(with_ratio(-600, 1))), 1.0);
}

TEST_CASE("kto: hyper-parameters out of range are refused in words (K4)") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {0.0, -0.1, inf, nan}) {
        CHECK_THROWS_MESSAGE((kto{.beta = bad}.validate()), prefer::value_error,
                             "prefer::loss::kto: beta is ");
    }
    for (double const bad : {-0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE((kto{.desirable_weight = bad}.validate()), prefer::value_error,
                             "desirable_weight is ");
        CHECK_THROWS_MESSAGE((kto{.undesirable_weight = bad}.validate()), prefer::value_error,
                             "undesirable_weight is ");
        CHECK_THROWS_MESSAGE((kto{.reference_point = bad}.validate()), prefer::value_error,
                             "reference_point is ");
    }
    CHECK_NOTHROW((kto{.desirable_weight = 0, .undesirable_weight = 0}.validate()));
}
