// SPDX-License-Identifier: MIT
#include <prefer/core/pair_batch.hpp>

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::pair_batch;
using prefer::pair_gradients;

TEST_CASE("a batch views the caller's vectors") {
    std::vector<float> chosen{-1, -2, -3};
    std::array<float, 3> const rejected{-4, -5, -6};
    pair_batch const batch{chosen, rejected};
    STATIC_REQUIRE(std::is_same_v<decltype(batch), pair_batch<float> const>);
    CHECK(batch.size() == 3);
    CHECK(batch.policy_chosen.data() == chosen.data());
    CHECK(batch.policy_rejected.data() == rejected.data());
    CHECK_FALSE(batch.has_reference);
    CHECK_FALSE(batch.has_lengths);
    CHECK_FALSE(batch.has_weights);
    chosen[1] = -20;
    CHECK(batch.policy_chosen[1] == -20.0F);
}

TEST_CASE("references, lengths and weights are added to a copy") {
    std::vector<double> const x{-1, -2};
    std::vector<double> const y{-3, -4};
    std::vector<double> const w{1, 0.5};
    std::vector<std::int32_t> const n{3, 4};
    std::vector<std::int32_t> const m{5, 6};
    pair_batch const batch{x, x, y, x};
    CHECK(batch.has_reference);
    CHECK(batch.reference_chosen.data() == y.data());
    CHECK(batch.reference_rejected.data() == x.data());

    auto const lengths_first = batch.with_lengths(n, m).with_weights(w);
    auto const weights_first = batch.with_weights(w).with_lengths(n, m);
    STATIC_REQUIRE(std::is_same_v<decltype(lengths_first), pair_batch<double, std::int32_t> const>);
    for (auto const& full : {lengths_first, weights_first}) {
        CHECK(full.has_reference);
        CHECK(full.has_lengths);
        CHECK(full.has_weights);
        CHECK(full.policy_chosen.data() == x.data());
        CHECK(full.reference_chosen.data() == y.data());
        CHECK(full.length_chosen.data() == n.data());
        CHECK(full.length_rejected.data() == m.data());
        CHECK(full.weights.data() == w.data());
    }
    CHECK_FALSE(batch.has_lengths);
    CHECK_FALSE(batch.has_weights);
}

TEST_CASE("lengths of the default type too") {
    std::vector<double> const x{-1};
    std::vector<std::int64_t> const n{3};
    auto const batch = pair_batch{x, x}.with_lengths(n, n);
    CHECK(batch.has_lengths);
    CHECK_FALSE(batch.has_reference);
    CHECK(batch.length_rejected[0] == 3);
}

TEST_CASE("gradients view what they write") {
    std::vector<prefer::bfloat16> chosen(2);
    std::vector<prefer::bfloat16> rejected(2);
    pair_gradients const gradients{chosen, rejected};
    gradients.d_policy_rejected[1] = prefer::bfloat16(1.5F);
    CHECK(static_cast<float>(rejected[1]) == 1.5F);
    CHECK(gradients.d_policy_chosen.data() == chosen.data());
}

TEST_CASE("one vector for both responses: chosen, then rejected") {
    std::vector<double> const log_probs{-1, -2, -3, -4, -5, -6};
    std::vector<std::int32_t> const lengths{1, 2, 3, 4, 5, 6};
    std::vector<double> d(6);
    auto const [chosen, rejected] = prefer::chosen_and_rejected_halves(log_probs);
    auto const [few, many] = prefer::chosen_and_rejected_halves(lengths);
    auto const [d_chosen, d_rejected] = prefer::chosen_and_rejected_halves(d);
    auto const batch = pair_batch{chosen, rejected}.with_lengths(few, many);
    CHECK(batch.size() == 3);
    CHECK(batch.policy_chosen.data() == log_probs.data());
    CHECK(batch.policy_rejected.data() == log_probs.data() + 3);
    CHECK(batch.policy_rejected.size() == 3);
    CHECK(batch.length_rejected[2] == 6);
    pair_gradients const gradients{d_chosen, d_rejected};
    gradients.d_policy_rejected[0] = 7;
    CHECK_CLOSE(d[3], 7.0, prefer::test::family::exact);

    // A strided view; and no pairs.
    auto const strided =
        prefer::chosen_and_rejected_halves(prefer::vector_view(log_probs.data() + 1, 2, 4));
    CHECK_CLOSE(strided.chosen[0], -2.0, prefer::test::family::exact);
    CHECK_CLOSE(strided.rejected[0], -6.0, prefer::test::family::exact);
    std::vector<double> const none;
    CHECK(prefer::chosen_and_rejected_halves(none).chosen.empty());
}

TEST_CASE("an odd size has no halves") {
    std::vector<float> const three{1, 2, 3};
    CHECK_THROWS_AS(prefer::chosen_and_rejected_halves(three), prefer::shape_error);
}

}  // namespace
