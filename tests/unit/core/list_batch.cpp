// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/list_batch.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

using prefer::list_batch;
using prefer::list_gradients;

TEST_CASE("a list batch views the caller's vectors") {
    std::vector<float> const policy{-1, -2, -3, -4, -5}, reference{-5, -4, -3, -2, -1}, w{1, 0, 2};
    std::vector<std::int32_t> const offsets{0, 2, 2, 5};
    list_batch const batch{policy, reference, offsets};
    STATIC_REQUIRE(std::is_same_v<decltype(batch), list_batch<float, std::int32_t> const>);
    CHECK(batch.size() == 3);
    CHECK(batch.responses(0) == 2);
    CHECK(batch.responses(1) == 0);
    CHECK(batch.responses(2) == 3);
    CHECK(batch.first(2) == 2);
    CHECK(batch.has_reference);
    CHECK_FALSE(batch.has_weights);
    CHECK(batch.policy.data() == policy.data());
    CHECK(batch.reference.data() == reference.data());

    auto const weighted = batch.with_weights(w);
    CHECK(weighted.has_weights);
    CHECK(weighted.weights.data() == w.data());
    CHECK_FALSE(list_batch{policy, offsets}.has_reference);
    std::vector<std::int32_t> const none;
    CHECK(list_batch{policy, none}.size() == 0);

    std::vector<float> d(5);
    list_gradients const gradients{d};
    gradients.d_policy[4] = 7;
    CHECK_SAME(d[4], 7.0F);
}
