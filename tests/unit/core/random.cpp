// SPDX-License-Identifier: MIT
#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/scripted_generator.hpp"

#include <prefer/core/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

using prefer::bit_generator;
using prefer::philox;
using prefer::uniform01;
using prefer::uniform_index;

namespace {

using words32 = prefer::test::scripted<std::uint32_t>;
using words64 = prefer::test::scripted<std::uint64_t>;

void check_words(philox::block const& actual, std::array<std::uint32_t, 4> const& expected) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(actual.words[i] == expected[i]);
}

}  // namespace

TEST_CASE("philox: the published known answers of philox4x32-10") {
    check_words(philox::bijection({{0, 0, 0, 0}}, 0, 0),
                {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_words(philox::bijection({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff,
                                  0xffffffff),
                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_words(philox::bijection({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822,
                                  0x299f31d0),
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: position, stream and seed are the counter and the key") {
    philox zero(0);
    for (std::uint32_t const word : {0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}) {
        CHECK(zero() == word);
    }
    // Counter words 0 and 1 are the number of the block, 2 and 3 the stream.
    philox rng(philox::state{0x299f31d0a4093822U, 0x0370734413198a2eU, 0});
    rng.discard(4 * 0x05a308d3243f6a88U);
    check_words(philox::bijection({{0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822,
                                  0x299f31d0),
                {rng(), rng(), rng(), rng()});
}

TEST_CASE("philox: usable at compile time, and in range") {
    STATIC_REQUIRE(philox(0)() == 0x6627e8d5U);
    STATIC_REQUIRE(philox::min() == 0);
    STATIC_REQUIRE(philox::max() == 0xffffffffU);
    STATIC_REQUIRE(std::uniform_random_bit_generator<philox>);
}

TEST_CASE("philox: discard is drawing, from every phase and by every count") {
    for (unsigned start = 0; start < 6; ++start) {
        for (unsigned count = 0; count < 12; ++count) {
            CAPTURE(start, count);
            philox drawn(3, 4);
            for (unsigned i = 0; i < start; ++i) static_cast<void>(drawn());
            philox skipped = drawn;
            for (unsigned i = 0; i < count; ++i) static_cast<void>(drawn());
            skipped.discard(count);
            CHECK((skipped == drawn));
            for (int i = 0; i < 6; ++i) CHECK(skipped() == drawn());
        }
    }
    philox far(3);
    far.discard(std::uint64_t{1} << 63U);
    CHECK(far.save().position == std::uint64_t{1} << 63U);
}

TEST_CASE("philox: saved at any phase, it continues exactly") {
    for (unsigned drawn = 0; drawn < 9; ++drawn) {
        CAPTURE(drawn);
        philox rng(11, 5);
        for (unsigned i = 0; i < drawn; ++i) static_cast<void>(rng());
        philox restored(rng.save());
        CHECK((restored == rng));
        for (int i = 0; i < 9; ++i) CHECK(restored() == rng());
    }
}

TEST_CASE("philox: seeds, streams and positions give other numbers") {
    auto const first = [](philox rng) { return std::array{rng(), rng(), rng(), rng()}; };
    auto const base = first(philox(1, 0));
    CHECK((first(philox(1, 0)) == base));
    CHECK((first(philox(2, 0)) != base));
    CHECK((first(philox(1, 1)) != base));
    CHECK((first(philox(std::uint64_t{1} << 32U, 0)) != base));
    CHECK((first(philox(1, std::uint64_t{1} << 32U)) != base));
    CHECK((first(philox(philox::state{1, 0, 4})) != base));
    CHECK_FALSE((philox(1) == philox(2)));
    CHECK_FALSE((philox(1, 0) == philox(1, 1)));
}

TEST_CASE("philox: copies are independent") {
    philox a(9);
    philox b = a;
    static_cast<void>(a());
    static_cast<void>(a());
    CHECK(b() == philox(9)());
}

TEST_CASE("uniform01: the first values are the contract (S10)") {
    // The first words of key 0 are 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
    philox rng(0);
    CHECK_SAME_BITS(uniform01<double>(rng),
                    static_cast<double>(0x6627e8d5e169c58dU >> 11U) * 0x1p-53);
    CHECK_SAME_BITS(uniform01<double>(rng),
                    static_cast<double>(0xbc57ac4c9b00dbd8U >> 11U) * 0x1p-53);
    philox again(0);
    CHECK_SAME_BITS(uniform01<double>(again), 0x1.989fa35785a70p-2);
    CHECK(again.save().position == 2);
    philox narrow(0);
    CHECK_SAME_BITS(uniform01<float>(narrow), 0x6627e8p-24F);
    CHECK_SAME_BITS(uniform01<float>(narrow), 0xe169c5p-24F);
    CHECK(narrow.save().position == 2);
}

TEST_CASE("uniform01: one 64-bit draw, its upper bits") {
    words64 rng({0x6627e8d5e169c58dU, 0x6627e8d5e169c58dU});
    CHECK_SAME_BITS(uniform01<double>(rng), 0x1.989fa35785a70p-2);
    CHECK_SAME_BITS(uniform01<float>(rng), 0x6627e8p-24F);
    CHECK(rng.calls() == 2);
}

TEST_CASE("uniform01: 0 is reached and 1 is not (S10)") {
    std::uint32_t const top32 = 0xffffffffU;
    std::uint64_t const top64 = 0xffffffffffffffffU;
    words32 low32({0, 0, 0});
    words32 high32({top32, top32, top32});
    CHECK_SAME_BITS(uniform01<float>(low32), 0.0F);
    CHECK_SAME_BITS(uniform01<double>(low32), 0.0);
    CHECK_SAME_BITS(uniform01<float>(high32), 1 - 0x1p-24F);
    CHECK_SAME_BITS(uniform01<double>(high32), 1 - 0x1p-53);
    words64 high64({top64, top64});
    CHECK_SAME_BITS(uniform01<float>(high64), 1 - 0x1p-24F);
    CHECK_SAME_BITS(uniform01<double>(high64), 1 - 0x1p-53);
}

TEST_CASE("uniform01: the standard's engines and a move-only one are welcome") {
    // The 10000th numbers that the standard fixes: 4123659995 and 9981545732273789042.
    std::mt19937 narrow;
    narrow.discard(9999);
    CHECK_SAME_BITS(uniform01<float>(narrow), static_cast<float>(4123659995U >> 8U) * 0x1p-24F);
    std::mt19937_64 wide;
    wide.discard(9999);
    CHECK_SAME_BITS(uniform01<double>(wide),
                    static_cast<double>(9981545732273789042U >> 11U) * 0x1p-53);
    prefer::test::move_only_generator own(1);
    double const u = uniform01<double>(own);
    CHECK((u >= 0 && u < 1));
    CHECK(own.calls() == 1);
    CHECK(uniform_index(own, 10) < 10);
}

TEST_CASE("bit_generator: full words only") {
    STATIC_REQUIRE(bit_generator<philox>);
    STATIC_REQUIRE(bit_generator<philox&>);
    STATIC_REQUIRE(bit_generator<std::mt19937>);
    STATIC_REQUIRE(bit_generator<std::mt19937_64>);
    STATIC_REQUIRE(bit_generator<prefer::test::move_only_generator>);
    STATIC_REQUIRE(!bit_generator<std::minstd_rand>);  // 1 to 2^31 - 2
    STATIC_REQUIRE(!bit_generator<std::ranlux24>);     // 24 bits
    STATIC_REQUIRE(!bit_generator<int>);
    STATIC_REQUIRE(!bit_generator<philox const>);
}

TEST_CASE("uniform_index: exactly the low values that come once too often are drawn again") {
    // 2^32 mod 10 = 6: the words 0 to 5 are rejected, so that each residue has 429496729 words.
    for (std::uint32_t word = 0; word < 6; ++word) {
        words32 rng({word, 4294967295U});
        CHECK(uniform_index(rng, 10) == 5);
        CHECK(rng.calls() == 2);
    }
    for (std::uint32_t word = 6; word < 30; ++word) {
        words32 rng({word});
        CHECK(uniform_index(rng, 10) == word % 10);
        CHECK(rng.calls() == 1);
    }
    // For every n, the accepted words of a small range split evenly: count them.
    for (std::uint64_t n = 1; n < 50; ++n) {
        std::uint64_t const excess = 0x100000000U % n;
        words32 rejected({static_cast<std::uint32_t>(excess == 0 ? 0 : excess - 1), 0xffffffffU});
        static_cast<void>(uniform_index(rejected, n));
        CHECK(rejected.calls() == (excess == 0 ? 1U : 2U));
        words32 accepted({static_cast<std::uint32_t>(excess)});
        CHECK(uniform_index(accepted, n) == excess % n);
        CHECK((0x100000000U - excess) % n == 0);
    }
}

TEST_CASE("uniform_index: 2^32 itself, and beyond it 64 bits") {
    std::uint64_t const two_32 = 0x100000000U;
    words32 whole({0xdeadbeefU});
    CHECK(uniform_index(whole, two_32) == 0xdeadbeefU);
    CHECK(whole.calls() == 1);
    // n = 2^32 + 1: 2^64 mod n = 1, so only the pair (0, 0) is rejected.
    words32 wide({0, 0, 0, 1});
    CHECK(uniform_index(wide, two_32 + 1) == 1);
    CHECK(wide.calls() == 4);
    words32 top({0xffffffffU, 0xffffffffU});
    CHECK(uniform_index(top, two_32 + 1) == 0xffffffffffffffffU % (two_32 + 1));
    words64 one_draw({two_32 + 3});
    CHECK(uniform_index(one_draw, two_32 + 1) == 2);
    // n = 2^63 + 1 rejects almost half of all words.
    std::uint64_t const half = std::uint64_t{1} << 63U;
    words64 often({half - 2, half - 1});
    CHECK(uniform_index(often, half + 1) == half - 1);
    CHECK(often.calls() == 2);
}

TEST_CASE("uniform_index: one choice is no choice, none is an error") {
    philox rng(5);
    for (int i = 0; i < 10; ++i) CHECK(uniform_index(rng, 1) == 0);
    auto const before = rng.save();
    CHECK_THROWS_MESSAGE(uniform_index(rng, 0), prefer::value_error,
                         "uniform_index: n is 0, but must be at least 1");
    CHECK((rng.save() == before));
}

TEST_CASE("uniform_index: the first choices of a seed (S10)") {
    // The words 6627e8d5 e169c58d bc57ac4c 9b00dbd8 modulo 10.
    philox rng(0);
    for (std::size_t const expected : {0x6627e8d5U % 10, 0xe169c58dU % 10, 0xbc57ac4cU % 10}) {
        CHECK(uniform_index(rng, 10) == expected);
    }
}

TEST_CASE("philox: blocks made at once are those that are drawn") {
    philox const of(20260202, 0xfeedfacecafebeefU);
    for (std::uint64_t const first : {0ULL, 5ULL, 0xffffffffULL, 0x3fffffffffffffe0ULL}) {
        std::uint32_t words[4 * 32];
        philox::blocks<32>(of.save(), first, words);
        auto state = of.save();
        state.position = 4 * first;
        philox rng(state);
        for (auto const word : words) {
            CHECK(word == rng());
        }
    }
}

TEST_CASE("uniform_source: looks ahead, and leaves the generator behind what was taken") {
    // From positions inside a block and across blocks, in pieces of all sizes.
    for (std::uint64_t const start : {0U, 1U, 2U, 3U, 127U, 4001U}) {
        philox expected(7, 9);
        expected.discard(start);
        philox rng = expected;
        {
            prefer::detail::uniform_source source(rng);
            double ahead[prefer::detail::uniforms_ahead];
            for (std::size_t n = 0; n <= prefer::detail::uniforms_ahead; ++n) {
                source.peek(ahead, n);
                std::size_t const taken = n - n / 3;
                for (std::size_t i = 0; i < taken; ++i) {
                    CHECK_SAME_BITS(ahead[i], uniform01<double>(expected));
                }
                source.take(taken);
            }
        }
        CHECK(rng == expected);
    }
}
