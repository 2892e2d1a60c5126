// SPDX-License-Identifier: MIT

/// \file
/// Estimates of the KL of a small autoregressive policy and its reference, beside what enumerating
/// all responses gives. Exact where the expectation is enumerated; otherwise single-shot with a
/// fixed seed, and with bounds of 4.9 exact standard errors: with another seed, each fails by
/// chance once in a million times. None is repeated.

#include <prefer/core/random.hpp>
#include <prefer/logprob/kl_estimators.hpp>
#include <prefer/logprob/token_kl.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>
#include <support/finite_difference.hpp>

namespace {

using prefer::matrix_view;
using prefer::test::family;

// Tokens 0, 1 and the end, 2; at most three tokens. The logits depend on the place and on the last
// token, so that what the policy samples decides what follows.
constexpr std::size_t vocabulary = 3;
constexpr std::size_t longest = 3;

using logits_table = std::array<std::array<double, vocabulary>, longest * vocabulary>;

logits_table const reference_table{{{0.2, -0.1, -1.0},
                                    {0.0, 0.0, 0.0},
                                    {0.0, 0.0, 0.0},
                                    {0.5, 0.0, -0.5},
                                    {-0.5, 0.3, 0.2},
                                    {0.0, 0.0, 0.0},
                                    {0.0, 1.0, 0.4},
                                    {0.7, -0.7, 0.0},
                                    {0.0, 0.0, 0.0}}};

logits_table moved(double by) {
    logits_table t = reference_table;
    for (std::size_t k = 0; k < t.size(); ++k) {
        for (std::size_t v = 0; v < vocabulary; ++v) {
            t[k][v] += by * std::sin(static_cast<double>(7 * k + 3 * v + 1));
        }
    }
    return t;
}

logits_table const policy_table = moved(0.8);

/// The row of the table that the token at `place` is drawn from.
std::size_t state_of(std::size_t place, std::size_t last) {
    return place * vocabulary + (place == 0 ? 0 : last);
}

std::array<double, vocabulary> softmax(std::array<double, vocabulary> const& logits) {
    std::array<double, vocabulary> p{};
    double total = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) total += p[v] = std::exp(logits[v]);
    for (double& x : p) x /= total;
    return p;
}

struct response {
    std::vector<std::size_t> tokens, states;
};

/// Every response there is.
void enumerate(response const& prefix, std::vector<response>& all) {
    std::size_t const place = prefix.tokens.size();
    if (place == longest || (place > 0 && prefix.tokens.back() == 2)) {
        all.push_back(prefix);
        return;
    }
    for (std::size_t v = 0; v < vocabulary; ++v) {
        response next = prefix;
        next.states.push_back(state_of(place, place == 0 ? 0 : prefix.tokens.back()));
        next.tokens.push_back(v);
        enumerate(next, all);
    }
}

std::vector<response> responses() {
    std::vector<response> all;
    enumerate({}, all);
    return all;
}

std::vector<double> log_probs(response const& r, logits_table const& table) {
    std::vector<double> logp;
    for (std::size_t i = 0; i < r.tokens.size(); ++i) {
        logp.push_back(std::log(softmax(table[r.states[i]])[r.tokens[i]]));
    }
    return logp;
}

double sum(std::vector<double> const& v) {
    double total = 0;
    for (double const x : v) total += x;
    return total;
}

/// KL of whole responses, by its definition.
double true_kl(logits_table const& policy) {
    double kl = 0;
    for (response const& r : responses()) {
        double const own = sum(log_probs(r, policy));
        kl += std::exp(own) * (own - sum(log_probs(r, reference_table)));
    }
    return kl;
}

/// The library's exact divergence of each token of a response.
std::vector<double> exact_tokens(response const& r, logits_table const& policy) {
    std::vector<double> p;
    std::vector<double> q;
    std::vector<int> labels;
    for (std::size_t i = 0; i < r.tokens.size(); ++i) {
        p.insert(p.end(), policy[r.states[i]].begin(), policy[r.states[i]].end());
        q.insert(q.end(), reference_table[r.states[i]].begin(), reference_table[r.states[i]].end());
        labels.push_back(static_cast<int>(r.tokens[i]));
    }
    std::vector<double> kl(labels.size());
    prefer::token_kl(matrix_view(p.data(), kl.size(), vocabulary),
                     matrix_view(q.data(), kl.size(), vocabulary), labels, kl);
    return kl;
}

/// What the library estimates from one response.
template <class Estimator>
double from_tokens(Estimator const& k, response const& r) {
    std::array const offsets{std::size_t{0}, r.tokens.size()};
    return prefer::estimate_kl(k, log_probs(r, policy_table), log_probs(r, reference_table),
                               offsets)
        .mean;
}

template <class Estimator>
double from_whole(Estimator const& k, response const& r) {
    std::array const own{sum(log_probs(r, policy_table))};
    std::array const other{sum(log_probs(r, reference_table))};
    return prefer::estimate_kl(k, own, other, prefer::whole_responses{1}).mean;
}

double from_exact(response const& r) {
    std::array const offsets{std::size_t{0}, r.tokens.size()};
    return prefer::estimate_exact_kl(exact_tokens(r, policy_table), offsets).mean;
}

struct moments {
    double mean = 0;
    double variance = 0;
};

template <class Estimate>
moments expect(Estimate const& estimate) {
    moments m;
    double squares = 0;
    for (response const& r : responses()) {
        double const p = std::exp(sum(log_probs(r, policy_table)));
        double const x = estimate(r);
        m.mean += p * x;
        squares += p * x * x;
    }
    m.variance = squares - m.mean * m.mean;
    return m;
}

TEST_CASE("expected exactly: k1, k3 and the sum of exact divergences are the KL, k2 is not") {
    double const kl = true_kl(policy_table);
    CHECK(responses().size() == 15);  // 1 of one token, 2 of two, 12 of three
    using prefer::kl::k1;
    using prefer::kl::k2;
    using prefer::kl::k3;
    CHECK_CLOSE(expect([](auto const& r) { return from_tokens(k1{}, r); }).mean, kl,
                family::gradient);
    CHECK_CLOSE(expect([](auto const& r) { return from_whole(k1{}, r); }).mean, kl,
                family::gradient);
    CHECK_CLOSE(expect([](auto const& r) { return from_tokens(k3{}, r); }).mean, kl,
                family::gradient);
    CHECK_CLOSE(expect([](auto const& r) { return from_whole(k3{}, r); }).mean, kl,
                family::gradient);
    CHECK_CLOSE(expect(from_exact).mean, kl, family::gradient);
    CHECK_DISTINGUISHES(kl, expect([](auto const& r) { return from_tokens(k2{}, r); }).mean,
                        family::gradient);
    // Exact next tokens, and k3, vary less than k1.
    double const plain = expect([](auto const& r) { return from_tokens(k1{}, r); }).variance;
    CHECK(expect(from_exact).variance < 0.5 * plain);
    CHECK(expect([](auto const& r) { return from_tokens(k3{}, r); }).variance < plain);
}

/// E over responses of Σ_t d[t]·∂log π(t)/∂θ, at the policy `moved(by)`, θ being `by`.
template <class Gradient>
double score_gradient(double by, Gradient const& gradient) {
    logits_table const table = moved(by);
    double total = 0;
    for (response const& r : responses()) {
        auto const own = log_probs(r, table);
        std::vector<double> d(own.size());
        gradient(r, own, log_probs(r, reference_table), d);
        for (std::size_t i = 0; i < d.size(); ++i) {
            double const score =
                prefer::test::derivative(
                    [&](double theta) { return log_probs(r, moved(theta))[i]; }, by)
                    .value;
            total += std::exp(sum(own)) * d[i] * score;
        }
    }
    return total;
}

TEST_CASE("expected exactly: the reward gradient of k1 is that of the KL, loss gradients are not") {
    double const by = 0.8;
    double const d_kl =
        prefer::test::derivative([](double theta) { return true_kl(moved(theta)); }, by).value;
    auto const reward = [&](auto const& k, prefer::kl_credit credit) {
        return score_gradient(by, [&](response const& r, auto const& p, auto const& q, auto& d) {
            std::array const offsets{std::size_t{0}, r.tokens.size()};
            prefer::kl_reward_gradient(k, p, q, offsets, d, credit);
        });
    };
    auto const loss = [&](auto const& k) {
        return score_gradient(by, [&](response const& r, auto const& p, auto const& q, auto& d) {
            std::array const offsets{std::size_t{0}, r.tokens.size()};
            prefer::kl_loss_gradient(k, p, q, offsets, d);
        });
    };
    CHECK_CLOSE(reward(prefer::kl::k1{}, prefer::kl_credit::to_go), d_kl,
                family::finite_difference);
    CHECK_CLOSE(loss(prefer::kl::k1{}), 0.0, family::finite_difference);
    // Without what comes later: the derivative at fixed prefixes, which is that of k2 as a loss.
    double const own = reward(prefer::kl::k1{}, prefer::kl_credit::own_token);
    CHECK_CLOSE(loss(prefer::kl::k2{}), own, family::finite_difference);
    CHECK_DISTINGUISHES(d_kl, own, family::finite_difference);
    CHECK_DISTINGUISHES(d_kl, loss(prefer::kl::k3{}), family::finite_difference);
    CHECK_DISTINGUISHES(d_kl, reward(prefer::kl::k3{}, prefer::kl_credit::to_go),
                        family::finite_difference);
}

TEST_CASE("sampled: means and standard errors are what enumeration says") {
    prefer::philox rng(20260110);
    std::size_t const count = 40000;
    std::vector<double> own, other, exact, whole_own, whole_other;
    std::vector<std::size_t> offsets{0};
    for (std::size_t b = 0; b < count; ++b) {
        response r;
        while (r.tokens.size() < longest && (r.tokens.empty() || r.tokens.back() != 2)) {
            r.states.push_back(state_of(r.tokens.size(), r.tokens.empty() ? 0 : r.tokens.back()));
            auto const p = softmax(policy_table[r.states.back()]);
            double const u = prefer::uniform01<double>(rng);
            r.tokens.push_back(u < p[0] ? 0 : u < p[0] + p[1] ? 1 : 2);
        }
        auto const a = log_probs(r, policy_table);
        auto const c = log_probs(r, reference_table);
        auto const e = exact_tokens(r, policy_table);
        own.insert(own.end(), a.begin(), a.end());
        other.insert(other.end(), c.begin(), c.end());
        exact.insert(exact.end(), e.begin(), e.end());
        whole_own.push_back(sum(a));
        whole_other.push_back(sum(c));
        offsets.push_back(own.size());
    }
    double const kl = true_kl(policy_table);
    auto const check = [&](char const* name, prefer::kl_estimate const& got, moments const& truth) {
        CAPTURE(name, got.mean, got.standard_error, truth.mean);
        double const error = std::sqrt(truth.variance / static_cast<double>(count));
        CHECK(got.count == count);
        CHECK(got.tokens == own.size());
        CHECK(std::abs(got.mean - truth.mean) < 4.9 * error);
        CHECK(got.standard_error / error > 0.9);
        CHECK(got.standard_error / error < 1.1);
    };
    using prefer::kl::k1;
    using prefer::kl::k2;
    using prefer::kl::k3;
    check("k1", prefer::estimate_kl(k1{}, own, other, offsets),
          expect([](auto const& r) { return from_tokens(k1{}, r); }));
    check("k2", prefer::estimate_kl(k2{}, own, other, offsets),
          expect([](auto const& r) { return from_tokens(k2{}, r); }));
    check("k3", prefer::estimate_kl(k3{}, own, other, offsets),
          expect([](auto const& r) { return from_tokens(k3{}, r); }));
    check("exact", prefer::estimate_exact_kl(exact, offsets), expect(from_exact));
    // k2's bias is far outside its error.
    auto const biased = prefer::estimate_kl(k2{}, own, other, offsets);
    CHECK(std::abs(biased.mean - kl) > 4.9 * biased.standard_error);
    auto const whole =
        prefer::estimate_kl(k3{}, whole_own, whole_other, prefer::whole_responses{count});
    CHECK(std::abs(whole.mean - kl) < 4.9 * whole.standard_error / 0.9);
}

}  // namespace
