// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/loss/aot_partners.hpp>
#include <prefer/loss/aot_unpaired.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_examples.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

using prefer::evaluate_examples;
using prefer::example_batch;
using prefer::example_gradients;
using prefer::loss::aot_partners;
using prefer::loss::aot_unpaired;
using prefer::test::family;

namespace {

struct columns {
    std::vector<double> policy, reference, d;
    std::vector<int> labels;

    void push(double ratio, int label) {
        policy.push_back(-20 + ratio);
        reference.push_back(-20);
        labels.push_back(label);
        d.push_back(-9);
    }
    auto batch() const { return example_batch{policy, reference}.with_labels(labels); }
};

/// Desirable 2, -1, 0.5 and undesirable 1, -3, 0: couples with differences 1, 2 and 0.5.
columns six() {
    columns c;
    for (auto const& [ratio, label] :
         {std::pair{2.0, 1}, {1.0, 0}, {-1.0, 1}, {-3.0, 0}, {0.5, 1}, {0.0, 0}}) {
        c.push(ratio, label);
    }
    return c;
}

// -0.1·σ(-0.1·difference)/3
std::array const slopes{-0.0158340270840853, 0.0158340270840853,  -0.0150055334229174,
                        0.0150055334229174,  -0.0162500867838596, 0.0162500867838596};

}  // namespace

TEST_CASE("aot_partners: value and gradient of a batch are those of the sorted couples") {
    auto c = six();
    aot_partners couples;
    auto const place = couples.add(c.batch());
    CHECK(couples.couples() == 3);
    std::vector<double> partners(6);
    couples.partners(c.batch(), place, partners);
    CHECK_SAME(partners, (std::array{1.0, 2.0, -3.0, -1.0, 0.0, 0.5}));
    auto const s = evaluate_examples(aot_unpaired{}, c.batch().with_scores(partners),
                                     example_gradients{c.d}, {.normalizer = 3});
    CHECK_CLOSE(s.loss, 0.636998392489483, family::quoted);
    CHECK_CLOSE(c.d, slopes, family::quoted);
    // Its derivative as a whole: sorting and all, by central differences.
    auto const total = [&](std::size_t i, double policy) {
        auto moved = six();
        moved.policy[i] = policy;
        aot_partners all;
        auto const at = all.add(moved.batch());
        std::vector<double> scores(6);
        all.partners(moved.batch(), at, scores);
        return evaluate_examples(aot_unpaired{}, moved.batch().with_scores(scores),
                                 {.normalizer = 3})
            .loss;
    };
    for (std::size_t i = 0; i < 6; ++i) {
        double const h = 1e-3;
        double const slope = (total(i, c.policy[i] + h) - total(i, c.policy[i] - h)) / (2 * h);
        CHECK_CLOSE(slope, slopes[i], family::finite_difference);
    }
}

TEST_CASE("aot_partners: micro-batches and ranks add up to the whole") {
    columns a, b;
    auto const whole = six();
    for (std::size_t i = 0; i < 6; ++i) {
        (i < 4 ? a : b).push(whole.policy[i] + 20, whole.labels[i]);
    }
    aot_partners rank_a, rank_b;
    rank_a.add(a.batch());
    auto at_b = rank_b.add(b.batch());
    at_b.desirable += rank_a.desirable_log_ratios().size();
    at_b.undesirable += rank_a.undesirable_log_ratios().size();
    aot_partners all = rank_a;
    all += rank_b;
    auto const gathered =
        aot_partners::from(all.desirable_log_ratios(), all.undesirable_log_ratios());
    double loss = 0;
    auto const run = [&](columns& c, aot_partners::place at) {
        std::vector<double> scores(c.policy.size());
        gathered.partners(c.batch(), at, scores);
        loss += evaluate_examples(aot_unpaired{}, c.batch().with_scores(scores),
                                  example_gradients{c.d}, {.normalizer = 3})
                    .loss;
    };
    run(a, {});
    run(b, at_b);
    CHECK_CLOSE(loss, 0.636998392489483, family::quoted);
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK_CLOSE(i < 4 ? a.d[i] : b.d[i - 4], slopes[i], family::quoted);
    }
}

TEST_CASE("aot_partners: one couple is dpo") {
    columns c;
    c.push(2, 1);
    c.push(-1, 0);
    aot_partners couples;
    auto const place = couples.add(c.batch());
    std::vector<double> partners(2);
    couples.partners(c.batch(), place, partners);
    auto const s = evaluate_examples(aot_unpaired{}, c.batch().with_scores(partners),
                                     example_gradients{c.d}, {.normalizer = 1});
    auto const p = prefer::loss::value_and_grad(prefer::loss::dpo{},
                                                prefer::pair<double>{{-18, -20, 4}, {-21, -20, 4}});
    CHECK_CLOSE(s.loss, p.loss, family::reduction);
    CHECK_CLOSE(c.d, (std::array{p.d_chosen, p.d_rejected}), family::gradient);
}

TEST_CASE("aot_partners: equal log-ratios are ranked in the order of addition") {
    columns c;
    for (double const ratio : {1.0, 1.0, 0.0}) c.push(ratio, 1);
    for (double const ratio : {7.0, 5.0, 6.0}) c.push(ratio, 0);
    aot_partners couples;
    couples.add(c.batch());
    std::vector<double> partners(6);
    couples.partners(c.batch(), {}, partners);
    CHECK_SAME(partners, (std::array{6.0, 7.0, 5.0, 1.0, 0.0, 1.0}));
}

TEST_CASE("aot_partners: what is wrong is said, and nothing is added") {
    auto const good = six();
    auto c = good;
    aot_partners couples;
    couples.add(good.batch());
    c.labels[5] = 2;
    CHECK_THROWS_MESSAGE(couples.add(c.batch()), prefer::value_error,
                         "prefer::loss::aot_partners::add: labels[5] is 2, but must be 0 or 1");
    c = good;
    c.policy[4] = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_MESSAGE(couples.add(c.batch()), prefer::value_error, "policy[4] is nan");
    CHECK_THROWS_MESSAGE(couples.add(example_batch{good.policy, good.reference}),
                         prefer::value_error, "labels is needed");
    CHECK_THROWS_MESSAGE(couples.add(example_batch{good.policy}.with_labels(good.labels)),
                         prefer::value_error, "reference is needed");
    CHECK(couples.couples() == 3);

    std::vector<double> out(6), two(2);
    CHECK_THROWS_MESSAGE(couples.partners(good.batch(), {1, 0}, out), prefer::value_error,
                         "more examples than were added");
    CHECK_THROWS_MESSAGE(couples.partners(good.batch(), {}, two), prefer::shape_error,
                         "out has size 2");
    columns lone;
    lone.push(1, 1);
    couples.add(lone.batch());
    CHECK_THROWS_MESSAGE(couples.couples(), prefer::value_error, "4 desirable and 3 undesirable");
    CHECK_THROWS_AS(couples.partners(good.batch(), {}, out), prefer::value_error);
    CHECK_THROWS_AS(aot_partners::from({std::nan("")}, {0}), prefer::value_error);

    // Masked examples are not read; their partner is 0.
    auto masked = six();
    masked.policy[1] = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const mask{0, 0, 1, 1, 1, 1};
    aot_partners rest;
    rest.add(masked.batch().with_weights(mask));
    rest.partners(masked.batch().with_weights(mask), {}, out);
    CHECK_SAME(out, (std::array{0.0, 0.0, -3.0, -1.0, 0.0, 0.5}));
}
