// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/example_batch.hpp>
#include <prefer/core/state.hpp>
#include <prefer/loss/bco.hpp>
#include <prefer/loss/bco_running_mean.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

using prefer::example_batch;
using prefer::loss::bco;
using prefer::loss::bco_running_mean;
using prefer::test::family;

namespace {

bco_running_mean of(std::vector<double> const& rewards) {
    bco_running_mean mean;
    for (double const r : rewards) mean.add(r);
    return mean;
}

bool same(bco_running_mean const& a, bco_running_mean const& b) {
    return a.state() == b.state();
}

}  // namespace

TEST_CASE("bco_running_mean: one sample has a variance of 0, never NaN (K8)") {
    CHECK_SAME(bco_running_mean{}.mean(), 0.0);
    CHECK_SAME(bco_running_mean{}.variance(), 0.0);
    auto const one = of({2});
    CHECK_SAME(one.mean(), 2.0);
    CHECK_SAME(one.variance(), 0.0);
    CHECK_SAME(one.standard_deviation(), 0.0);
    CHECK_SAME(one.count(), 1.0);
}

TEST_CASE("bco_running_mean: two updates are one (K8)") {
    auto const both = of({2, 4});
    CHECK_SAME(both.mean(), 3.0);
    CHECK_SAME(both.variance(), 2.0);
    auto merged = of({2});
    merged += of({4});
    CHECK_SAME(merged.mean(), 3.0);
    CHECK_SAME(merged.variance(), 2.0);
    CHECK_CLOSE(merged.standard_deviation(), std::sqrt(2.0), family::elementwise);
}

TEST_CASE("bco_running_mean: a split into micro-batches changes no bit, a merge a rounding") {
    std::vector<double> policy, reference;
    for (std::size_t i = 0; i < 37; ++i) {
        policy.push_back(-30.3 + static_cast<double>(i * 29 % 37) * 1.1);
        reference.push_back(-20.7 - static_cast<double>(i % 5));
    }
    bco const loss{.beta = 0.3};
    bco_running_mean whole;
    whole.add(loss, example_batch{policy, reference});
    for (std::size_t cut = 0; cut <= 37; ++cut) {
        auto const part = [&](std::size_t first, std::size_t count) {
            return example_batch{std::span<double const>(policy).subspan(first, count),
                                 std::span<double const>(reference).subspan(first, count)};
        };
        bco_running_mean split;
        split.add(loss, part(0, cut));
        split.add(loss, part(cut, 37 - cut));
        CHECK(same(split, whole));
        bco_running_mean a, b;
        a.add(loss, part(0, cut));
        b.add(loss, part(cut, 37 - cut));
        a += b;
        CHECK_SAME(a.count(), 37.0);
        CHECK_CLOSE(a.mean(), whole.mean(), family::reduction);
        CHECK_CLOSE(a.variance(), whole.variance(), family::reduction);
    }
    long double sum = 0;
    for (std::size_t i = 0; i < 37; ++i) {
        sum += static_cast<long double>(policy[i]) - static_cast<long double>(reference[i]);
    }
    CHECK_CLOSE(whole.mean(), 0.3L * sum / 37, family::reduction);
}

TEST_CASE("bco_running_mean: a large common part of the rewards does not drown the variance") {
    auto const x = of({1e8 + 1, 1e8 + 2, 1e8 + 3});
    CHECK_SAME(x.mean(), 1e8 + 2);
    CHECK_SAME(x.variance(), 1.0);
}

TEST_CASE("bco_running_mean: saved and restored exactly; damaged state is refused (K8)") {
    auto const mean = of({0.1, -0.7, 2.3, 1e-3});
    prefer::state_writer out;
    save(out, "delta", mean);
    auto const bytes = out.finish();
    prefer::state_reader in(bytes);
    bco_running_mean restored;
    load(in, "delta", restored);
    in.finish();
    CHECK(same(restored, mean));
    auto a = mean, b = restored;
    a.add(0.3);
    b.add(0.3);
    CHECK(same(a, b));

    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(bco_running_mean::from({-1, 0, 0}), prefer::value_error);
    CHECK_THROWS_AS(bco_running_mean::from({1, nan, 0}), prefer::value_error);
    CHECK_THROWS_AS(bco_running_mean::from({1, 0, -1}), prefer::value_error);
}

TEST_CASE("bco_running_mean: masked examples are not read; mistakes add nothing") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> const policy{-19, nan, -18}, reference{-20, -20, -20}, mask{1, 0, 1};
    bco_running_mean mean;
    mean.add(bco{}, example_batch{policy, reference}.with_weights(mask));
    CHECK_SAME(mean.count(), 2.0);
    CHECK_CLOSE(mean.mean(), 0.15, family::reduction);
    auto const before = mean;
    CHECK_THROWS_MESSAGE(mean.add(bco{}, example_batch{policy, reference}), prefer::value_error,
                         "prefer::loss::bco_running_mean::add: policy[1] is nan");
    CHECK_THROWS_MESSAGE(mean.add(bco{}, example_batch{reference}), prefer::value_error,
                         "the reference's log-probs are needed");
    std::vector<double> const two{-1, -2};
    CHECK_THROWS_AS(mean.add(bco{}, example_batch{reference, two}), prefer::shape_error);
    CHECK_THROWS_AS(mean.add(bco{.beta = 0}, example_batch{reference, reference}),
                    prefer::value_error);
    CHECK_THROWS_AS(mean.add(nan), prefer::value_error);
    CHECK(same(mean, before));
}
