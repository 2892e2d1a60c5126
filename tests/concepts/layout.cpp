// SPDX-License-Identifier: MIT
#include <prefer/core/layout.hpp>

#include <array>
#include <vector>

#include <prefer/core/reduction.hpp>
#include <prefer/logprob/sequence_log_probs.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

/// What a layout has to have, and nothing more: sequences of two tokens, of which the first counts.
struct twos {
    std::size_t count;

    std::size_t sequences() const { return count; }
    std::size_t tokens() const { return 2 * count; }
    std::size_t first(std::size_t b) const { return 2 * b; }
    std::size_t last(std::size_t b) const { return 2 * b + 2; }
    bool counted(std::size_t i) const { return i % 2 == 0; }
    void check(char const*) const {}
};

struct without_check {
    std::size_t sequences() const { return 0; }
    std::size_t tokens() const { return 0; }
    std::size_t first(std::size_t) const { return 0; }
    std::size_t last(std::size_t) const { return 0; }
    bool counted(std::size_t) const { return false; }
};

TEST_CASE("what is a layout") {
    STATIC_REQUIRE(prefer::sequence_layout<prefer::packed<int>>);
    STATIC_REQUIRE(prefer::sequence_layout<prefer::packed<unsigned long, unsigned char>>);
    STATIC_REQUIRE(prefer::sequence_layout<prefer::padded<bool>>);
    STATIC_REQUIRE(prefer::sequence_layout<twos>);
    STATIC_REQUIRE_FALSE(prefer::sequence_layout<without_check>);
    STATIC_REQUIRE_FALSE(prefer::sequence_layout<std::vector<int>>);
    STATIC_REQUIRE_FALSE(prefer::sequence_layout<int>);
}

TEST_CASE("a user's layout works everywhere") {
    std::array const logp{-1.0, -10.0, -3.0, -20.0};
    std::array<double, 2> sums{};
    std::array<int, 2> lengths{};
    std::array<double, 4> d{};
    CHECK(prefer::sequence_sum(logp, twos{2}, sums).tokens == 2);
    CHECK_SAME(sums, std::array{-1.0, -3.0});
    prefer::sequence_lengths(twos{2}, lengths);
    CHECK_SAME(lengths, std::array{1, 1});
    prefer::sequence_mean_backward(std::array{5.0, 7.0}, twos{2}, d);
    CHECK_SAME(d, std::array{5.0, 0.0, 7.0, 0.0});
    CHECK(prefer::reduce(logp, twos{2}) == -2.0);
}

}  // namespace
