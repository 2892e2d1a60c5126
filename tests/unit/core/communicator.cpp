// SPDX-License-Identifier: MIT
#include <prefer/core/communicator.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <prefer/loss/kto_reference_point.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>
#include <support/in_process_communicator.hpp>

namespace {

using prefer::test::in_process_communicator;
using prefer::test::on_ranks;
using prefer::test::try_on_ranks;

double const inf = std::numeric_limits<double>::infinity();
double const nan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("single_rank: a reduction leaves the numbers alone") {
    prefer::single_rank const alone;
    CHECK(alone.size() == 1);
    CHECK(alone.rank() == 0);
    std::array numbers{1.5, -0.0, nan, -inf};
    auto const before = numbers;
    alone.all_reduce_sum(numbers);
    alone.all_reduce_max(numbers);
    CHECK_SAME_BITS(numbers, before);
}

TEST_CASE("ranks on threads: sums and maxima reach every rank") {
    for (std::size_t const ranks : {1U, 2U, 3U, 5U, 8U}) {
        CAPTURE(ranks);
        std::vector<std::array<double, 3>> sums(ranks), maxima(ranks);
        on_ranks(ranks, [&](auto const& on) {
            auto const r = static_cast<double>(on.rank());
            sums[on.rank()] = {1, r, on.rank() == 0 ? -inf : 0.0};
            maxima[on.rank()] = {r, -r, -inf};
            on.all_reduce_sum(sums[on.rank()]);
            on.all_reduce_max(maxima[on.rank()]);
        });
        auto const n = static_cast<double>(ranks);
        for (std::size_t r = 0; r < ranks; ++r) {
            CHECK_SAME(sums[r], std::array{n, n * (n - 1) / 2, -inf});
            CHECK_SAME(maxima[r], std::array{n - 1, 0.0, -inf});
        }
    }
}

TEST_CASE("ranks on threads: sums run in rank order") {
    // 1 + 2^53 is 2^53, to even; from there, 1s are lost one by one. In another order they are not.
    std::array<double, 4> const parts{0x1p53, 1, 1, -0x1p53};
    std::array<double, 4> sums{};
    on_ranks(4, [&](auto const& on) {
        double x = parts[on.rank()];
        on.all_reduce_sum(std::span(&x, 1));
        sums[on.rank()] = x;
    });
    CHECK_SAME(sums, std::array{0.0, 0.0, 0.0, 0.0});
}

TEST_CASE("ranks on threads: no numbers, and a NaN in a sum") {
    std::array<double, 2> sums{nan, 1};
    on_ranks(2, [&](auto const& on) {
        on.all_reduce_max({});
        on.all_reduce_sum(std::span(&sums[on.rank()], 1));
    });
    CHECK_SAME(sums, std::array{nan, nan});
}

template <class Work>
void check_all_throw(std::size_t ranks, Work const& work, std::string const& words) {
    auto const thrown = try_on_ranks(ranks, work);
    for (auto const& e : thrown) {
        REQUIRE(e);
        CHECK_THROWS_MESSAGE(std::rethrow_exception(e), std::logic_error, words);
    }
}

TEST_CASE("ranks on threads: what would hang a program is an error on every rank") {
    check_all_throw(
        3,
        [](auto const& on) {
            std::vector<double> numbers(on.rank() == 2 ? 2 : 1);
            on.all_reduce_sum(numbers);
        },
        "rank 2 passes 2 numbers, another 1");
    check_all_throw(
        3,
        [](auto const& on) {
            std::vector<double> numbers(1);
            on.rank() == 1 ? on.all_reduce_max(numbers) : on.all_reduce_sum(numbers);
        },
        "rank 1 does another reduction");
    check_all_throw(
        2,
        [](auto const& on) {
            std::vector<double> numbers(1, on.rank() == 1 ? nan : 0.0);
            on.all_reduce_max(numbers);
        },
        "rank 1 passes NaN to a maximum");

    auto const thrown = try_on_ranks(3, [](auto const& on) {
        if (on.rank() == 0) return;
        std::vector<double> numbers(1);
        on.all_reduce_sum(numbers);
    });
    CHECK_FALSE(thrown[0]);
    for (std::size_t const r : {1U, 2U}) {
        REQUIRE(thrown[r]);
        CHECK_THROWS_MESSAGE(std::rethrow_exception(thrown[r]), std::logic_error,
                             "rank 0 has left");
    }
}

TEST_CASE("a statistic of a loss is reduced over ranks in three lines") {
    // The log-ratios of rank r are r and 2 + r: the mean over 2 ranks is 1.5, over 3 it is 2.
    for (std::size_t const ranks : {1U, 2U, 3U}) {
        std::vector<double> values(ranks), counts(ranks);
        on_ranks(ranks, [&](auto const& on) {
            auto const r = static_cast<double>(on.rank());
            std::array const policy{r - 1, r + 1};
            std::array const reference{-1.0, -1.0};
            prefer::loss::kto_reference_point point;
            point.add(prefer::example_batch{policy, reference});

            std::array sums{point.sum(), point.count()};
            on.all_reduce_sum(sums);
            point = prefer::loss::kto_reference_point::from(sums[0], sums[1]);

            values[on.rank()] = point.value();
            counts[on.rank()] = point.count();
        });
        auto const n = static_cast<double>(ranks);
        CHECK_SAME(values, std::vector<double>(ranks, 1 + (n - 1) / 2));
        CHECK_SAME(counts, std::vector<double>(ranks, 2 * n));
    }
}

}  // namespace
