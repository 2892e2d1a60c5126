// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

using prefer::chosen_examples;
using prefer::example_batch;
using prefer::example_gradients;
using prefer::pair_batch;
using prefer::rejected_examples;
using prefer::vector_view;

TEST_CASE("an example batch views the caller's vectors") {
    std::vector<float> policy{-1, -2, -3};
    std::array<float, 3> const reference{-4, -5, -6};
    example_batch const free{policy};
    example_batch const batch{policy, reference};
    STATIC_REQUIRE(std::is_same_v<decltype(batch), example_batch<float> const>);
    CHECK(batch.size() == 3);
    CHECK(batch.policy.data() == policy.data());
    CHECK(batch.reference.data() == reference.data());
    CHECK(batch.has_reference);
    CHECK_FALSE(free.has_reference);
    CHECK_FALSE(batch.has_labels);
    CHECK_FALSE(batch.has_lengths);
    CHECK_FALSE(batch.has_scores);
    CHECK_FALSE(batch.has_weights);
    policy[1] = -20;
    CHECK_SAME(batch.policy[1], -20.0F);
}

TEST_CASE("labels, lengths, scores and weights are added to a copy, in any order") {
    std::vector<double> const x{-1, -2}, y{-3, -4}, s{0.5, 0.25}, w{1, 0.5};
    std::vector<std::int32_t> const n{3, 4};
    std::vector<std::uint8_t> const label{1, 0};
    example_batch const batch{x, y};
    auto const a = batch.with_labels(label).with_lengths(n).with_scores(s).with_weights(w);
    auto const b = batch.with_weights(w).with_scores(s).with_lengths(n).with_labels(label);
    STATIC_REQUIRE(
        std::is_same_v<decltype(a), example_batch<double, std::int32_t, std::uint8_t> const>);
    STATIC_REQUIRE(std::is_same_v<decltype(a), decltype(b)>);
    for (auto const& full : {a, b}) {
        CHECK(full.has_reference);
        CHECK(full.has_labels);
        CHECK(full.has_lengths);
        CHECK(full.has_scores);
        CHECK(full.has_weights);
        CHECK(full.policy.data() == x.data());
        CHECK(full.reference.data() == y.data());
        CHECK(full.labels.data() == label.data());
        CHECK(full.lengths.data() == n.data());
        CHECK(full.scores.data() == s.data());
        CHECK(full.weights.data() == w.data());
    }
    CHECK_FALSE(batch.has_labels);
    CHECK_FALSE(batch.has_lengths);
    CHECK_FALSE(batch.has_weights);
    // Labels of the log-probs' own type, and lengths of the default one.
    auto const plain = batch.with_labels(s).with_lengths(std::span<std::int64_t const>{});
    STATIC_REQUIRE(std::is_same_v<decltype(plain), example_batch<double> const>);
    CHECK(plain.has_lengths);
}

TEST_CASE("gradients of examples are a view that is written") {
    std::vector<float> d(3);
    example_gradients const gradients{d};
    STATIC_REQUIRE(std::is_same_v<decltype(gradients), example_gradients<float> const>);
    gradients.d_policy[2] = 4;
    CHECK_SAME(d[2], 4.0F);
}

TEST_CASE("the two sides of paired data as examples") {
    std::vector<double> const pc{-1, -2}, pr{-3, -4}, rc{-5, -6}, rr{-7, -8}, w{1, 0.5};
    std::vector<int> const lc{2, 3}, lr{4, 5};
    auto const pairs = pair_batch{pc, pr, rc, rr}.with_lengths(lc, lr).with_weights(w);
    auto const good = chosen_examples(pairs);
    auto const bad = rejected_examples(pairs);
    CHECK(good.size() == 2);
    CHECK(good.policy.data() == pc.data());
    CHECK(good.reference.data() == rc.data());
    CHECK(good.lengths.data() == lc.data());
    CHECK(good.weights.data() == w.data());
    CHECK(bad.policy.data() == pr.data());
    CHECK(bad.reference.data() == rr.data());
    CHECK(bad.lengths.data() == lr.data());
    CHECK(bad.weights.data() == w.data());
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK_SAME(good.labels[i], 1.0);
        CHECK_SAME(bad.labels[i], 0.0);
    }
    CHECK(good.has_labels);
    CHECK(good.has_reference);
    CHECK(good.has_lengths);
    CHECK_FALSE(good.has_scores);
    CHECK(good.has_weights);

    auto const scored = pairs.with_scores(rc, rr);
    CHECK(chosen_examples(scored).scores.data() == rc.data());
    CHECK(rejected_examples(scored).scores.data() == rr.data());
    auto const bare = chosen_examples(pair_batch{pc, pr});
    CHECK(bare.has_labels);
    CHECK_FALSE(bare.has_reference);
    CHECK_FALSE(bare.has_lengths);
    CHECK_FALSE(bare.has_weights);
}
