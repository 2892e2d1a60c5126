// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prefer/core/element.hpp>
#include <prefer/core/random.hpp>
#include <prefer/math/pack.hpp>

namespace prefer::detail {

/// Sixteen random bits for each element number: half of a 32-bit mixing of the number of its pair
/// under two keys, which come from philox for each update and each 2^33 elements. A block of philox
/// for each eight elements would take longer than the memory.
class rounding_bits {
public:
    /// Elements that have the keys of the first of them.
    static constexpr ::std::uint64_t period = ::std::uint64_t{1} << 33;

    rounding_bits(::std::uint64_t seed, ::std::uint64_t update, ::std::uint64_t element) {
        philox rng(philox::state{seed, update, 4 * (element / period)});
        keys_[0] = rng();
        keys_[1] = rng();
    }

    /// Of elements 2 · pair (the lower half) and 2 · pair + 1; a word, or a vector of them.
    template <class Word>
    Word of_pair(Word pair) const {
        Word x = pair + keys_[0];
        x ^= x >> 16;
        x *= 0x21F0AAADU;
        x ^= x >> 15;
        x ^= keys_[1];
        x *= 0xD35A2D97U;
        return x ^ (x >> 15);
    }

    ::std::uint32_t of(::std::uint64_t element) const {
        ::std::uint32_t const word =
            of_pair(static_cast<::std::uint32_t>((element / 2) & 0xffffffffU));
        return element % 2 == 0 ? word & 0xffffU : word >> 16;
    }

private:
    ::std::uint32_t keys_[2];
};

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDACC__)

/// reference += rate · (policy - reference) of bfloat16, two elements a word: the upper half of it
/// is a float once the lower one is cleared, and the lower one after a shift, so that nothing moves
/// between lanes. Counts in 16 bits: for at most 2^15 packs.
class bfloat16_packs {
    static constexpr ::std::size_t words = math::detail::register_bytes / 4;
    using word = math::detail::vector_of<::std::uint32_t, words>::type;
    using floats = math::detail::vector_of<float, words>::type;
    using counter = math::detail::vector_of<::std::int16_t, 2 * words>::type;

public:
    static constexpr ::std::size_t width = 2 * words;

    bfloat16_packs(float rate, rounding_bits const& bits) : rate_(rate), bits_(bits) {
        for (::std::size_t i = 0; i < words; ++i) lanes_[i] = static_cast<::std::uint32_t>(i);
    }

    /// `width` elements, of which the first has the number `element`, an even one.
    template <bool Stochastic>
    void move(bfloat16 const* policy, bfloat16* reference, ::std::uint64_t element) {
        word p;
        word r;
        ::std::memcpy(&p, policy, sizeof(p));
        ::std::memcpy(&r, reference, sizeof(r));
        p = in_order(p);
        r = in_order(r);
        word first = lerp(p << 16, r << 16);
        word second = lerp(p & 0xffff0000U, r & 0xffff0000U);
        if constexpr (Stochastic) {
            auto const pair = static_cast<::std::uint32_t>((element / 2) & 0xffffffffU);
            word const random = bits_.of_pair(lanes_ + pair);
            first += random & 0xffffU;
            second += random >> 16;
        } else {
            first += ((first >> 16) & 1U) + 0x7fffU;
            second += ((second >> 16) & 1U) + 0x7fffU;
        }
        word const rounded = (second & 0xffff0000U) | (first >> 16);
        auto const equal = ::std::bit_cast<counter>(p) == ::std::bit_cast<counter>(r);
        word const now = r ^ ((rounded ^ r) & ~::std::bit_cast<word>(equal));
        auto const same = ::std::bit_cast<counter>(rounded) == ::std::bit_cast<counter>(r);
        minus_stuck_ += same & ~equal;
        word const stored = in_order(now);
        ::std::memcpy(static_cast<void*>(reference), &stored, sizeof(stored));
    }

    /// `count` elements that lie at `at` of a pack, the others of which are left out.
    template <bool Stochastic>
    void move_some(bfloat16 const* policy, bfloat16* reference, ::std::size_t count,
                   ::std::size_t at, ::std::uint64_t element) {
        bfloat16 p[width]{};
        bfloat16 r[width]{};
        for (::std::size_t i = 0; i < count; ++i) {
            p[at + i] = policy[i];
            r[at + i] = reference[i];
        }
        move<Stochastic>(p, r, element - at);
        for (::std::size_t i = 0; i < count; ++i) reference[i] = r[at + i];
    }

    /// Elements that differed and did not change.
    ::std::uint32_t stuck() const {
        ::std::uint32_t count = 0;
        for (::std::size_t i = 0; i < width; ++i) {
            count += static_cast<::std::uint32_t>(-minus_stuck_[i]);
        }
        return count;
    }

private:
    /// No NaN needs a look: one made of bfloat16 has 16 zeros below, and no rounding carries there.
    word lerp(word p, word r) const {
        auto const old = ::std::bit_cast<floats>(r);
        return ::std::bit_cast<word>(old + rate_ * (::std::bit_cast<floats>(p) - old));
    }

    static word in_order(word x) {
        return ::std::endian::native == ::std::endian::big ? (x << 16) | (x >> 16) : x;
    }

    float rate_;
    rounding_bits bits_;
    word lanes_{};
    counter minus_stuck_{};
};

/// At most 2^15 elements, of which the first has the number `element`.
template <bool Stochastic>
::std::uint32_t move_bfloat16(bfloat16 const* policy, bfloat16* reference, ::std::size_t n,
                              float rate, rounding_bits const& bits, ::std::uint64_t element) {
    constexpr ::std::size_t width = bfloat16_packs::width;
    bfloat16_packs packs(rate, bits);
    ::std::size_t i = 0;
    if (element % 2 != 0 && n > 0) {
        packs.move_some<Stochastic>(policy, reference, 1, 1, element);
        i = 1;
    }
    // To where each store, of a whole register, stays within a line of the cache.
    auto const address = reinterpret_cast<::std::uintptr_t>(reference + i);
    auto const ahead = static_cast<::std::size_t>(0 - address) % (2 * width) / 2;
    if (ahead > 0 && ahead % 2 == 0 && i + ahead <= n) {
        packs.move_some<Stochastic>(policy + i, reference + i, ahead, 0, element + i);
        i += ahead;
    }
    bfloat16_packs in_registers = packs;
    for (; i + width <= n; i += width) {
        in_registers.move<Stochastic>(policy + i, reference + i, element + i);
    }
    packs = in_registers;
    if (i < n) packs.move_some<Stochastic>(policy + i, reference + i, n - i, 0, element + i);
    return packs.stuck();
}

#endif

}  // namespace prefer::detail
