// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/loss/kto_reference_point.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <set>
#include <vector>

using prefer::example_batch;
using prefer::loss::kto_reference_point;
using prefer::loss::mismatched;
using prefer::test::family;

namespace {

/// The statistic of these log-ratios, in one go.
kto_reference_point of(std::vector<double> const& ratios) {
    std::vector<double> policy, reference;
    for (double const d : ratios) {
        policy.push_back(-20 + d);
        reference.push_back(-20);
    }
    kto_reference_point point;
    point.add(example_batch{policy, reference});
    return point;
}

}  // namespace

TEST_CASE("mismatched: a rotation by one, without a fixed point, for every size (K1)") {
    std::array const letters{'a', 'b', 'c'};
    CHECK(letters[mismatched(0, 3)] == 'b');
    CHECK(letters[mismatched(1, 3)] == 'c');
    CHECK(letters[mismatched(2, 3)] == 'a');
    for (std::size_t n = 2; n <= 9; ++n) {
        std::set<std::size_t> seen;
        for (std::size_t i = 0; i < n; ++i) {
            CHECK(mismatched(i, n) != i);
            CHECK(mismatched(i, n) == (i + 1) % n);
            seen.insert(mismatched(i, n));
        }
        CHECK(seen.size() == n);
    }
    CHECK_THROWS_MESSAGE(mismatched(0, 1), prefer::value_error,
                         "prefer::loss::mismatched: n is 1, but must be at least 2");
    CHECK_THROWS_AS(mismatched(0, 0), prefer::value_error);
    CHECK_THROWS_MESSAGE(mismatched(3, 3), prefer::value_error, "i is 3, but must be below n");
}

TEST_CASE("kto_reference_point: the mean, not below 0 (K4)") {
    CHECK_SAME(of({-0.5, 0.125}).value(), 0.0);
    CHECK_CLOSE(of({-0.5, 0.125}).mean(), -0.1875, family::reduction);
    CHECK_CLOSE(of({-0.4, 0.1}).mean(), -0.15, family::reduction);
    CHECK_SAME(of({-0.4, 0.1}).value(), 0.0);
    CHECK_CLOSE(of({0.4, 0.2}).value(), 0.3, family::reduction);
}

TEST_CASE("kto_reference_point: clamped once, after the mean over all parts") {
    auto whole = of({-3, 1, 0.5, 2.25});
    auto parts = of({-3});
    parts += of({1, 0.5});
    parts += of({2.25});
    CHECK_SAME_BITS(parts.value(), whole.value());
    CHECK_CLOSE(whole.value(), 0.1875, family::reduction);
    CHECK_DISTINGUISHES(0.1875, (0 + 0.75 + 2.25) / 3, family::reduction);  // each part clamped
    CHECK_SAME(parts.count(), 4.0);
    // What is reduced over ranks is the sum and the count.
    auto const reduced = kto_reference_point::from(parts.sum(), parts.count());
    CHECK_SAME_BITS(reduced.value(), whole.value());
}

TEST_CASE("kto_reference_point: with nothing added it is 0 and says so") {
    CHECK_SAME(kto_reference_point{}.value(), 0.0);
    CHECK_SAME(kto_reference_point{}.count(), 0.0);
    CHECK_SAME(of({}).value(), 0.0);
}

TEST_CASE("kto_reference_point: masked completions are not read, other weights do not matter") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const policy{-19, nan, -18.5}, reference{-20, -20, -20}, w{3, 0, 0.5};
    kto_reference_point point;
    point.add(example_batch{policy, reference}.with_weights(w));
    CHECK_CLOSE(point.value(), 1.25, family::reduction);
    CHECK_SAME(point.count(), 2.0);
}

TEST_CASE("kto_reference_point: what is wrong is said, and nothing is added") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const two{-19, -18}, bad{-19, nan}, three{-1, -2, -3};
    auto point = of({1});
    CHECK_THROWS_MESSAGE(point.add(example_batch{two}), prefer::value_error,
                         "the reference's log-probs are needed");
    CHECK_THROWS_MESSAGE(point.add(example_batch{two, three}), prefer::shape_error,
                         "prefer::loss::kto_reference_point::add: reference has size 3");
    CHECK_THROWS_MESSAGE(point.add(example_batch{bad, two}), prefer::value_error,
                         "policy[1] is nan");
    CHECK_THROWS_MESSAGE(point.add(example_batch{two, bad}), prefer::value_error,
                         "reference[1] is nan");
    CHECK_THROWS_MESSAGE(point.add(example_batch{two, two}.with_weights(three)),
                         prefer::shape_error, "weights has size 3");
    CHECK_SAME(point.count(), 1.0);
    CHECK_SAME(point.value(), 1.0);
    CHECK_THROWS_AS(kto_reference_point::from(nan, 1), prefer::value_error);
    CHECK_THROWS_AS(kto_reference_point::from(1, -1), prefer::value_error);
}
