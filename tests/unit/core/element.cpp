// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/element.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>

using prefer::bfloat16;
using prefer::half;

namespace {

template <class T>
T of_bits(unsigned bits) {
    T x;
    x.bits = static_cast<std::uint16_t>(bits);
    return x;
}

template <class T>
float widen(unsigned bits) {
    return static_cast<float>(of_bits<T>(bits));
}

template <class T>
unsigned narrow(float x) {
    return T(x).bits;
}

/// A number and the pattern it is stored as.
struct stored {
    float value;
    unsigned bits;
};

float const inf = std::numeric_limits<float>::infinity();

template <class T>
constexpr unsigned infinity_bits = 0x7f80;
template <>
constexpr unsigned infinity_bits<half> = 0x7c00;

template <class T>
constexpr unsigned quiet_bit = 0x40;
template <>
constexpr unsigned quiet_bit<half> = 0x200;

}  // namespace

TEMPLATE_TEST_CASE("16-bit types: every pattern survives the way to float and back", "", bfloat16,
                   half) {
    unsigned wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        bool const nan = (bits & 0x7fffU) > infinity_bits<TestType>;
        // A signalling NaN comes back quiet, with the rest of its payload.
        unsigned const expected = nan ? bits | quiet_bit<TestType> : bits;
        float const wide = widen<TestType>(bits);
        if (std::isnan(wide) != nan) ++wrong;
        if (narrow<TestType>(wide) != expected) ++wrong;
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("16-bit types: patterns are in the order of their numbers", "", bfloat16, half) {
    for (unsigned bits = 0; bits < infinity_bits<TestType>; ++bits) {
        if (!(widen<TestType>(bits) < widen<TestType>(bits + 1)) ||
            !(widen<TestType>(bits | 0x8000U) > widen<TestType>((bits + 1) | 0x8000U))) {
            CAPTURE(bits);
            FAIL("not in order");
        }
    }
    SUCCEED();
}

TEMPLATE_TEST_CASE("16-bit types: between two neighbours the nearer, at a tie the even one", "",
                   bfloat16, half) {
    unsigned wrong = 0;
    for (unsigned bits = 0; bits + 1 < infinity_bits<TestType>; ++bits) {
        for (unsigned const sign : {0U, 0x8000U}) {
            float const low = widen<TestType>(bits | sign);
            float const high = widen<TestType>((bits + 1) | sign);
            float const middle = low + (high - low) / 2;  // exact
            unsigned const even = (bits % 2 == 0 ? bits : bits + 1) | sign;
            if (narrow<TestType>(middle) != even) ++wrong;
            if (narrow<TestType>(std::nextafter(middle, low)) != (bits | sign)) ++wrong;
            if (narrow<TestType>(std::nextafter(middle, high)) != ((bits + 1) | sign)) ++wrong;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("bfloat16: known numbers") {
    for (stored const s : std::initializer_list<stored>{{0.0F, 0x0000},
                                                        {-0.0F, 0x8000},
                                                        {1.0F, 0x3f80},
                                                        {-2.0F, 0xc000},
                                                        {0x1.fep127F, 0x7f7f},
                                                        {0x1p-126F, 0x0080},
                                                        {0x1p-133F, 0x0001},
                                                        {inf, 0x7f80},
                                                        {-inf, 0xff80}}) {
        CAPTURE(s.value);
        CHECK(narrow<bfloat16>(s.value) == s.bits);
        CHECK_SAME_BITS(widen<bfloat16>(s.bits), s.value);
    }
    CHECK(narrow<bfloat16>(1.00390625F) == 0x3f80);  // 1 + 2^-8: a tie, to even
    CHECK(narrow<bfloat16>(1.01171875F) == 0x3f82);  // 1 + 3·2^-8: a tie, to even
    CHECK(narrow<bfloat16>(std::nextafter(1.00390625F, 2.0F)) == 0x3f81);
    CHECK(narrow<bfloat16>(0x1.fefffep127F) == 0x7f7f);  // just below half a step too large
    CHECK(narrow<bfloat16>(0x1.ffp127F) == 0x7f80);      // half a step too large: infinite
    CHECK(narrow<bfloat16>(std::numeric_limits<float>::max()) == 0x7f80);
    CHECK(narrow<bfloat16>(0x1p-134F) == 0x0000);  // half the smallest, to even
    CHECK(narrow<bfloat16>(std::nextafter(0x1p-134F, 1.0F)) == 0x0001);
    // A sum of log-probs loses its fraction; sums should arrive in float (G4).
    CHECK_SAME(static_cast<float>(bfloat16(-203.3F)), -203.0F);
    CHECK_SAME(static_cast<float>(bfloat16(-203.7F)), -204.0F);
}

TEST_CASE("half: known numbers") {
    for (stored const s : std::initializer_list<stored>{{0.0F, 0x0000},
                                                        {-0.0F, 0x8000},
                                                        {1.0F, 0x3c00},
                                                        {-2.0F, 0xc000},
                                                        {65504.0F, 0x7bff},
                                                        {0x1p-14F, 0x0400},
                                                        {0x1.ff8p-15F, 0x03ff},
                                                        {0x1p-24F, 0x0001},
                                                        {inf, 0x7c00},
                                                        {-inf, 0xfc00}}) {
        CAPTURE(s.value);
        CHECK(narrow<half>(s.value) == s.bits);
        CHECK_SAME_BITS(widen<half>(s.bits), s.value);
    }
    CHECK(narrow<half>(0.1F) == 0x2e66);
    CHECK(narrow<half>(1.0F / 3) == 0x3555);
    CHECK(narrow<half>(65519.996F) == 0x7bff);  // the last float below 65520
    CHECK(narrow<half>(65520.0F) == 0x7c00);
    CHECK(narrow<half>(-65520.0F) == 0xfc00);
    CHECK(narrow<half>(std::numeric_limits<float>::max()) == 0x7c00);
    CHECK(narrow<half>(0x1p-25F) == 0x0000);  // half the smallest, to even
    CHECK(narrow<half>(std::nextafter(0x1p-25F, 1.0F)) == 0x0001);
    CHECK(narrow<half>(-0x1p-26F) == 0x8000);
    CHECK(narrow<half>(std::numeric_limits<float>::denorm_min()) == 0x0000);
    CHECK(narrow<half>(0x1.ffcp-15F) == 0x0400);  // rounds up into the normal numbers
}

TEMPLATE_TEST_CASE("16-bit types: NaN stays NaN, whatever its payload and sign", "", bfloat16,
                   half) {
    for (std::uint32_t const bits : {0x7fc00000U, 0x7f800001U, 0xff800001U, 0x7fffffffU,
                                     0xffc00000U, 0x7f804000U, 0x7fbfffffU}) {
        CAPTURE(bits);
        auto const stored_bits = narrow<TestType>(std::bit_cast<float>(bits));
        CHECK((stored_bits & 0x7fffU) > infinity_bits<TestType>);
        CHECK((stored_bits & quiet_bit<TestType>) != 0);
        CHECK((stored_bits >> 15U) == (bits >> 31U));
        CHECK(std::isnan(widen<TestType>(stored_bits)));
    }
}

TEST_CASE("element: the types of a user's array, and what they are computed in") {
    STATIC_REQUIRE(sizeof(bfloat16) == 2);
    STATIC_REQUIRE(sizeof(half) == 2);
    STATIC_REQUIRE(std::same_as<prefer::compute_t<bfloat16 const>, float>);
    STATIC_REQUIRE(std::same_as<prefer::compute_t<half>, float>);
    STATIC_REQUIRE(std::same_as<prefer::compute_t<float>, float>);
    STATIC_REQUIRE(std::same_as<prefer::compute_t<double>, double>);
    STATIC_REQUIRE(prefer::element<double const>);
    STATIC_REQUIRE(prefer::element<half>);
    STATIC_REQUIRE(!prefer::element<int>);
    STATIC_REQUIRE(!prefer::element<long double>);
    STATIC_REQUIRE(prefer::index_element<std::int32_t>);
    STATIC_REQUIRE(!prefer::index_element<bool>);
    STATIC_REQUIRE(!prefer::index_element<double>);
    STATIC_REQUIRE(bfloat16(1.0F).bits == 0x3f80);  // at compile time
    STATIC_REQUIRE(static_cast<float>(half(0.5F)) == 0.5F);
}
