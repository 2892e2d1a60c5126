// SPDX-License-Identifier: MIT
#include <prefer/logprob/kl_estimators.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/math/dual.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::kl_credit;
using prefer::kl_loss_gradient;
using prefer::kl_reward_gradient;
using prefer::packed;
using prefer::reduction;
using prefer::reduction_options;
using prefer::shape_error;
using prefer::value_error;
using prefer::whole_responses;
using prefer::kl::k1;
using prefer::kl::k2;
using prefer::kl::k3;
using prefer::test::family;

double const nan = std::numeric_limits<double>::quiet_NaN();
double const inf = std::numeric_limits<double>::infinity();

template <class Estimator>
double slope(Estimator const& k, double d) {
    return k(prefer::math::dual<double>::variable(d)).gradient[0];
}

TEST_CASE("E2: each name is its own estimator") {
    CHECK_SAME(k1{}(0.5), 0.5);
    CHECK_SAME(k2{}(0.5), 0.125);
    CHECK_CLOSE(k3{}(0.5), 0.10653065971263342, family::elementwise);
    CHECK_SAME(slope(k1{}, 0.5), 1.0);
    CHECK_SAME(slope(k2{}, 0.5), 0.5);
    CHECK_CLOSE(slope(k3{}, 0.5), 0.39346934028736658, family::gradient);
    CHECK_DISTINGUISHES(0.10653065971263342, 0.148721270700128, family::elementwise);
}

TEST_CASE("E1: k3 does not overflow, nor cancel near 0") {
    CHECK_CLOSE(k3{}(-0.5), 0.14872127070012815, family::elementwise);
    CHECK_CLOSE(k3{}(-1e-6), 5.00000166666708e-13, family::quoted);
    CHECK_SAME(k3{}(0.0), 0.0);
    // e^64 - 1 - 64, whatever lies beyond.
    for (double const d : {-64.5, -100.0, -1000.0, -1e300, -inf}) {
        CAPTURE(d);
        CHECK_CLOSE(k3{}(d), 6.2351490808116169e27, family::elementwise);
        CHECK_SAME_BITS(slope(k3{}, d), 0.0);
    }
    float const narrow = k3{}(-100.0F);
    CHECK_CLOSE(narrow, 6.2351490808116169e27, family::elementwise);
    CHECK_CLOSE(slope(k3{}, -63.0), -2.2937831594696099e27, family::gradient);  // 1 - e^63
    CHECK_CLOSE(k3{}(1000.0), 999.0, family::elementwise);
    CHECK_SAME(k3{}(nan), nan);
    CHECK_SAME(slope(k3{}, nan), nan);
    // A lower limit.
    CHECK_CLOSE(k3{.limit = 2}(-9.0), 4.3890560989306502, family::elementwise);  // e² - 3
    CHECK_SAME_BITS(slope(k3{.limit = 2}, -9.0), 0.0);
}

TEST_CASE("E5: the formulas are of log-probs, so ratio 1 is 0") {
    std::vector<double> const policy{std::log(0.25), std::log(0.5)};
    std::vector<double> const reference{std::log(0.5), std::log(0.5)};
    auto const e = prefer::estimate_kl(k3{}, policy, reference, whole_responses{2});
    // 2 - 1 - log 2, and 0
    CHECK_CLOSE(e.mean, 0.30685281944005469 / 2, family::reduction);
    CHECK_CLOSE(e.standard_error, 0.30685281944005469 / 2, family::reduction);
    CHECK_DISTINGUISHES(0.30685281944005469, 4.3890560989306502, family::reduction);
}

TEST_CASE("E3: values, and gradients as loss and as reward, expected over both tokens") {
    // The policy (0.7, 0.3), the reference (0.5, 0.5): exact expectations.
    std::array const p{0.7, 0.3};
    std::array const score{0.3, -0.7};  // of the logit gap
    double const half = std::log(0.5);
    struct expectation {
        double value = 0, loss = 0, reward = 0;
    };
    auto const expect = [&](auto const& k) {
        expectation e;
        for (std::size_t y = 0; y < 2; ++y) {
            std::array const policy{std::log(p[y])};
            std::array const reference{half};
            std::array<double, 1> as_loss{nan};
            std::array<double, 1> as_reward{nan};
            whole_responses const one{1};
            kl_loss_gradient(k, policy, reference, one, as_loss);
            kl_reward_gradient(k, policy, reference, one, as_reward);
            e.value += p[y] * prefer::estimate_kl(k, policy, reference, one).mean;
            e.loss += p[y] * score[y] * as_loss[0];
            e.reward += p[y] * score[y] * as_reward[0];
        }
        return e;
    };
    double const kl = 0.0822828785;
    double const d_kl = 0.177932551;
    expectation const one = expect(k1{});
    expectation const two = expect(k2{});
    expectation const three = expect(k3{});
    CHECK_CLOSE(one.value, kl, family::quoted);
    CHECK_CLOSE(two.value, 0.0787661708, family::quoted);
    CHECK_CLOSE(three.value, kl, family::quoted);
    CHECK_CLOSE(one.loss, 0.0, family::gradient);
    CHECK_CLOSE(two.loss, d_kl, family::quoted);
    CHECK_CLOSE(three.loss, 0.2, family::gradient);
    CHECK_CLOSE(one.reward, d_kl, family::quoted);
    // The derivative of the expected value is the sum of the two: for k3 that of the KL.
    CHECK_CLOSE(three.reward, 0.21 * std::log(7.0 / 3.0) - 0.2, family::gradient);
    // Σ p·score·d²/2
    CHECK_CLOSE(two.reward, 0.105 * (std::pow(std::log(1.4), 2) - std::pow(std::log(0.6), 2)),
                family::gradient);
    CHECK_DISTINGUISHES(d_kl, three.loss, family::quoted);
}

std::vector<double> const zeros(6, 0.0);

TEST_CASE("each mean, and its standard error over responses") {
    // Log-ratios (1), (2, 4), (0, 3, 5); the responses' sums are 1, 6, 8, their means 1, 3, 8/3.
    std::vector<double> const policy{1, 2, 4, 0, 3, 5};
    std::array const offsets{0, 1, 3, 6};
    auto const sums = prefer::estimate_kl(k1{}, policy, zeros, offsets);
    CHECK(sums.count == 3);
    CHECK(sums.tokens == 6);
    CHECK(sums.empty == 0);
    CHECK_CLOSE(sums.mean, 5.0, family::reduction);
    CHECK_CLOSE(sums.standard_error, std::sqrt(26.0 / 6), family::reduction);
    auto const means =
        prefer::estimate_kl(k1{}, policy, zeros, offsets, reduction::mean_of_sequence_means);
    CHECK_CLOSE(means.mean, 20.0 / 9, family::reduction);
    // Deviations -11/9, 7/9, 4/9
    CHECK_CLOSE(means.standard_error, std::sqrt(186.0 / 81 / 6), family::reduction);
    auto const tokens =
        prefer::estimate_kl(k1{}, policy, zeros, offsets, reduction::mean_over_tokens);
    CHECK_CLOSE(tokens.mean, 2.5, family::reduction);
    // Residuals 1 - 2.5, 6 - 5, 8 - 7.5; over the mean length 2
    CHECK_CLOSE(tokens.standard_error, std::sqrt(3.5 / 6) / 2, family::reduction);
    // Squares: sums 0.5, 10, 17
    CHECK_CLOSE(prefer::estimate_kl(k2{}, policy, zeros, offsets).mean, 27.5 / 3,
                family::reduction);
    // The same numbers as exact divergences.
    auto const exact = prefer::estimate_exact_kl(policy, offsets);
    CHECK_SAME(exact.mean, sums.mean);
    CHECK_SAME(exact.standard_error, sums.standard_error);
    CHECK(exact.tokens == 6);
    for (auto const how : {reduction::mean_over_tokens, reduction::mean_of_sequence_means,
                           reduction::mean_of_sequence_sums}) {
        CHECK_SAME(prefer::estimate_exact_kl(policy, offsets, how).mean,
                   prefer::reduce(policy, offsets, {.how = how}));
    }
    // Every token a response: k2 of each, 0.5, 2, 8, 0, 4.5, 12.5.
    auto const whole = prefer::estimate_kl(k2{}, policy, zeros, whole_responses{6});
    CHECK(whole.count == 6);
    CHECK(whole.tokens == 6);
    CHECK_CLOSE(whole.mean, 27.5 / 6, family::reduction);
}

TEST_CASE("numbers far from 0 keep their spread") {
    // 1e8 + {-1, 0, 1}: the sum of squares less the square of the sum would be 0 here.
    std::vector<double> const v{1e8 - 1, 1e8, 1e8 + 1};
    auto const e = prefer::estimate_exact_kl(v, std::array{0, 1, 2, 3});
    CHECK_CLOSE(e.standard_error, std::sqrt(1.0 / 3), family::reduction);
}

TEST_CASE("one response has no standard error; none has the mean 0") {
    auto const one = prefer::estimate_exact_kl(std::array{0.25, 0.5}, std::array{0, 2});
    CHECK_SAME(one.mean, 0.75);
    CHECK_SAME(one.standard_error, nan);
    CHECK(one.count == 1);
    auto const none = prefer::estimate_exact_kl(std::vector<float>{}, std::array{0});
    CHECK_SAME(none.mean, 0.0);
    CHECK_SAME(none.standard_error, nan);
    CHECK(none.count == 0);
    CHECK(none.tokens == 0);
}

TEST_CASE("E7: what is masked is skipped; an empty response counts as 0 and is reported") {
    std::array const offsets{0, 3, 3, 5};
    std::array const mask{1, 0, 1, 0, 0};
    auto const layout = packed(offsets).with_mask(mask);
    for (double const bad : {nan, inf, -inf}) {
        std::vector<double> const kl{0.2, bad, 0.4, bad, bad};
        auto const e = prefer::estimate_exact_kl(kl, layout);
        CHECK(e.count == 3);
        CHECK(e.tokens == 2);
        CHECK(e.empty == 2);
        CHECK_CLOSE(e.mean, 0.2, family::reduction);
        CHECK_CLOSE(e.standard_error, 0.2, family::reduction);  // 0.6, 0, 0
        CHECK_CLOSE(prefer::estimate_exact_kl(kl, layout, reduction::mean_over_tokens).mean, 0.3,
                    family::reduction);
        std::vector<double> const zero(5, 0.0);
        std::vector<double> d(5, nan);
        kl_loss_gradient(k2{}, kl, zero, layout, d);
        CHECK_CLOSE(d[0], 0.2 / 3, family::gradient);
        CHECK_CLOSE(d[2], 0.4 / 3, family::gradient);
        for (std::size_t const i : {1U, 3U, 4U}) CHECK_SAME_BITS(d[i], 0.0);
        d.assign(5, nan);
        kl_reward_gradient(k1{}, kl, zero, layout, d);
        CHECK_CLOSE(d[0], 0.6 / 3, family::gradient);
        CHECK_CLOSE(d[2], 0.4 / 3, family::gradient);
        for (std::size_t const i : {1U, 3U, 4U}) CHECK_SAME_BITS(d[i], 0.0);
        CHECK_CLOSE(prefer::estimate_kl(k1{}, kl, zero, layout).mean, 0.2, family::reduction);
    }
}

TEST_CASE("the sum of k1 over tokens is the log-ratio of the response") {
    std::vector<double> const policy{-1.25, -0.3, -2.7, -0.01};
    std::vector<double> const reference{-1.5, -0.1, -3.3, -0.7};
    auto const e = prefer::estimate_kl(k1{}, policy, reference, std::array{0, 4});
    CHECK_CLOSE(e.mean, 1.34, family::reduction);
    auto const whole =
        prefer::estimate_kl(k1{}, std::array{-4.26}, std::array{-5.6}, whole_responses{1});
    CHECK_CLOSE(whole.mean, 1.34, family::reduction);
}

TEST_CASE("the loss gradient under each reduction and normalizer") {
    std::vector<double> const policy{1, 2, 4, 0, 3, 5};
    std::array const offsets{0, 1, 3, 6};
    std::vector<double> d(6, nan);
    auto const run = [&](reduction_options options) {
        kl_loss_gradient(k2{}, policy, zeros, offsets, d, options);
        return d;
    };
    kl_loss_gradient(k2{}, policy, zeros, offsets, d);
    CHECK_CLOSE(d, (std::array{1.0 / 3, 2.0 / 3, 4.0 / 3, 0.0, 1.0, 5.0 / 3}), family::gradient);
    CHECK_CLOSE(run({.how = reduction::sum}), policy, family::gradient);
    CHECK_CLOSE(run({.how = reduction::mean_over_tokens}),
                (std::array{1.0 / 6, 2.0 / 6, 4.0 / 6, 0.0, 3.0 / 6, 5.0 / 6}), family::gradient);
    CHECK_CLOSE(run({.how = reduction::mean_of_sequence_means}),
                (std::array{1.0 / 3, 1.0 / 3, 2.0 / 3, 0.0, 1.0 / 3, 5.0 / 9}), family::gradient);
    CHECK_CLOSE(run({.how = reduction::mean_of_sequence_sums, .normalizer = 10.0}),
                (std::array{0.1, 0.2, 0.4, 0.0, 0.3, 0.5}), family::gradient);
    kl_loss_gradient(k1{}, policy, zeros, offsets, d, {.how = reduction::sum});
    CHECK_SAME(d, std::vector<double>(6, 1.0));
    // In place: over the policy's log-probs.
    std::vector<double> place = policy;
    kl_loss_gradient(k2{}, place, zeros, offsets, place, {.how = reduction::sum});
    CHECK_SAME(place, policy);
}

TEST_CASE("the reward gradient: penalties to go, or the token's own") {
    std::vector<double> const policy{1, 2, 4, 0, 3, 5};
    std::array const offsets{0, 1, 3, 6};
    std::vector<double> d(6, nan);
    kl_reward_gradient(k1{}, policy, zeros, offsets, d, kl_credit::to_go, {.how = reduction::sum});
    CHECK_SAME(d, std::array{1.0, 6.0, 4.0, 8.0, 8.0, 5.0});
    kl_reward_gradient(k1{}, policy, zeros, offsets, d, kl_credit::own_token,
                       {.how = reduction::sum});
    CHECK_SAME(d, policy);
    kl_reward_gradient(k2{}, policy, zeros, offsets, d);
    CHECK_CLOSE(d, (std::array{0.5 / 3, 10.0 / 3, 8.0 / 3, 17.0 / 3, 17.0 / 3, 12.5 / 3}),
                family::gradient);
    kl_reward_gradient(k1{}, policy, zeros, offsets, d, kl_credit::to_go,
                       {.how = reduction::mean_of_sequence_means});
    CHECK_CLOSE(d, (std::array{1.0 / 3, 1.0, 2.0 / 3, 8.0 / 9, 8.0 / 9, 5.0 / 9}),
                family::gradient);
}

TEMPLATE_TEST_CASE("log-probs of any element type, strided", "", double, float, prefer::bfloat16,
                   prefer::half) {
    auto const stored = [](double x) {
        return static_cast<TestType>(static_cast<prefer::compute_t<TestType>>(x));
    };
    std::vector<TestType> memory(8, stored(nan));
    for (std::size_t i = 0; i < 4; ++i) memory[2 * i] = stored(-0.25 * static_cast<double>(i + 1));
    prefer::vector_view const policy(memory.data(), 4, 2);
    std::vector<double> const reference(4, -1.0);
    // Log-ratios 0.75, 0.5, 0.25, 0
    auto const e = prefer::estimate_kl(k2{}, policy, reference, std::array{0, 2, 4});
    CHECK_SAME(e.mean, 0.21875);
    CHECK_SAME(e.standard_error, 0.1875);
    std::vector<TestType> d_memory(8, stored(9.0));
    prefer::vector_view const d(d_memory.data(), 4, 2);
    kl_loss_gradient(k2{}, policy, reference, std::array{0, 2, 4}, d);
    for (std::size_t i = 0; i < 4; ++i) {
        auto const got = static_cast<prefer::compute_t<TestType>>(d[i]);
        CHECK_SAME(got, 0.125 * static_cast<double>(3 - i));
        CHECK_SAME(static_cast<prefer::compute_t<TestType>>(d_memory[2 * i + 1]), 9);
    }
}

TEST_CASE("errors, before anything is written") {
    std::vector<double> const two(2, 0.0);
    std::vector<double> const three(3, 0.0);
    std::vector<double> d(2, 5.0);
    std::array const offsets{0, 2};
    std::array const broken{0, 3, 2};
    CHECK_THROWS_MESSAGE(prefer::estimate_kl(k1{}, three, two, offsets), shape_error,
                         "prefer::estimate_kl: policy_logp has size 3, but the layout has size 2");
    CHECK_THROWS_MESSAGE(prefer::estimate_kl(k1{}, two, three, offsets), shape_error,
                         "reference_logp has size 3");
    CHECK_THROWS_MESSAGE(prefer::estimate_kl(k1{}, two, two, broken), shape_error,
                         "offsets[2] is 2");
    CHECK_THROWS_MESSAGE(prefer::estimate_kl(k1{}, two, two, offsets, reduction::sum), value_error,
                         "prefer::estimate_kl: an estimate is a mean");
    CHECK_THROWS_MESSAGE(prefer::estimate_exact_kl(three, offsets), shape_error,
                         "prefer::estimate_exact_kl: token_kl has size 3");
    CHECK_THROWS_MESSAGE(prefer::estimate_exact_kl(two, offsets, reduction::sum), value_error,
                         "prefer::estimate_exact_kl: an estimate is a mean");
    for (double const limit : {0.0, -1.0, 80.5, nan, inf}) {
        k3 const bad{.limit = limit};
        CHECK_THROWS_MESSAGE(prefer::estimate_kl(bad, two, two, offsets), value_error,
                             "prefer::kl::k3: limit is ");
        CHECK_THROWS_MESSAGE(kl_loss_gradient(bad, two, two, offsets, d), value_error, "limit");
        CHECK_THROWS_MESSAGE(kl_reward_gradient(bad, two, two, offsets, d), value_error, "limit");
    }
    CHECK_THROWS_MESSAGE(kl_loss_gradient(k1{}, three, two, offsets, d), shape_error,
                         "prefer::kl_loss_gradient: policy_logp has size 3");
    CHECK_THROWS_MESSAGE(kl_loss_gradient(k1{}, two, two, std::array{0, 1}, d), shape_error,
                         "policy_logp has size 2, but the layout has size 1");
    std::vector<double> short_d(1, 5.0);
    CHECK_THROWS_MESSAGE(kl_loss_gradient(k1{}, two, two, offsets, short_d), shape_error,
                         "d_policy_logp has size 1");
    CHECK_THROWS_MESSAGE(kl_reward_gradient(k1{}, two, two, offsets, short_d), shape_error,
                         "prefer::kl_reward_gradient: d_policy_logp has size 1");
    CHECK_THROWS_MESSAGE(
        (kl_loss_gradient(k1{}, two, two, offsets, d,
                          reduction_options{.how = reduction::sum, .normalizer = 2.0})),
        value_error, "normalizer");
    CHECK_SAME(d, std::vector<double>(2, 5.0));
    CHECK_SAME(short_d[0], 5.0);
}

struct quartic {
    void validate() const {}
    template <class S>
    S operator()(S const& d) const {
        return d * d * d * d;
    }
};

struct no_formula {
    void validate() const {}
};

struct of_double_only {
    void validate() const {}
    double operator()(double d) const { return d; }
};

TEST_CASE("a user's own estimator; what is none") {
    STATIC_REQUIRE(prefer::kl_estimator<k1>);
    STATIC_REQUIRE(prefer::kl_estimator<k2>);
    STATIC_REQUIRE(prefer::kl_estimator<k3>);
    STATIC_REQUIRE(prefer::kl_estimator<quartic>);
    STATIC_REQUIRE_FALSE(prefer::kl_estimator<no_formula>);
    STATIC_REQUIRE_FALSE(prefer::kl_estimator<of_double_only>);
    STATIC_REQUIRE_FALSE(prefer::kl_estimator<int>);
    std::array<double, 1> d{nan};
    kl_loss_gradient(quartic{}, std::array{2.0}, std::array{0.0}, whole_responses{1}, d);
    CHECK_SAME(d[0], 32.0);
}

}  // namespace
