// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include <prefer/config.hpp>
#include <prefer/errors.hpp>

namespace prefer {
namespace detail {

/// Ten rounds of Philox4x32 over N counters, whose words j stand in c[j].
template <::std::size_t N>
PREFER_HOST_DEVICE constexpr void philox_rounds(::std::uint32_t (&c)[4][N], ::std::uint32_t key0,
                                                ::std::uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        for (::std::size_t i = 0; i < N; ++i) {
            ::std::uint64_t const p0 = ::std::uint64_t{0xD2511F53U} * c[0][i];
            ::std::uint64_t const p1 = ::std::uint64_t{0xCD9E8D57U} * c[2][i];
            c[0][i] = static_cast<::std::uint32_t>(p1 >> 32) ^ c[1][i] ^ key0;
            c[1][i] = static_cast<::std::uint32_t>(p1 & 0xffffffffU);
            c[2][i] = static_cast<::std::uint32_t>(p0 >> 32) ^ c[3][i] ^ key1;
            c[3][i] = static_cast<::std::uint32_t>(p0 & 0xffffffffU);
        }
        key0 += 0x9E3779B9U;
        key1 += 0xBB67AE85U;
    }
}

}  // namespace detail

/// The generator of this library: Philox4x32-10, a counter-based generator.
///
/// The n-th block of four 32-bit numbers is a function of (seed, stream, n) and of nothing else, so
/// streams are independent without any set-up, a position is reached in O(1), the same bits come
/// out on host and device, and the whole state is three numbers. 2^64 numbers per stream, 2^64
/// streams per seed. Satisfies `std::uniform_random_bit_generator`.
/// Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the test
/// checks the published known answers.
///
/// ```cpp
/// prefer::philox rng(42);  // seed 42, stream 0
/// double u = prefer::uniform01<double>(rng);
/// ```
class philox {
public:
    using result_type = ::std::uint32_t;

    /// Everything there is to a generator; equal states give equal numbers.
    struct state {
        ::std::uint64_t seed = 0;
        ::std::uint64_t stream = 0;
        ::std::uint64_t position = 0;  ///< numbers drawn so far

        friend constexpr bool operator==(state const&, state const&) = default;
    };

    struct block {
        ::std::uint32_t words[4];
    };

    PREFER_HOST_DEVICE constexpr explicit philox(::std::uint64_t seed, ::std::uint64_t stream = 0)
        : philox(state{seed, stream, 0}) {}

    PREFER_HOST_DEVICE constexpr explicit philox(state const& s) : state_(s) {
        if (state_.position % 4 != 0) refill();
    }

    PREFER_HOST_DEVICE static constexpr result_type min() { return 0; }
    PREFER_HOST_DEVICE static constexpr result_type max() { return 0xffffffffU; }

    PREFER_HOST_DEVICE constexpr result_type operator()() {
        if (state_.position % 4 == 0) refill();
        return buffer_.words[state_.position++ % 4];
    }

    /// As if `count` numbers had been drawn. O(1).
    PREFER_HOST_DEVICE constexpr void discard(::std::uint64_t count) {
        state_.position += count;
        if (state_.position % 4 != 0) refill();
    }

    /// What to save; `philox(rng.save())` continues exactly where `rng` stands.
    PREFER_HOST_DEVICE constexpr state const& save() const { return state_; }

    PREFER_HOST_DEVICE friend constexpr bool operator==(philox const& a, philox const& b) {
        return a.state_ == b.state_;
    }

    /// The bare bijection: ten rounds over a 128-bit counter with a 64-bit key.
    PREFER_HOST_DEVICE static constexpr block bijection(block counter, ::std::uint32_t key0,
                                                        ::std::uint32_t key1) {
        ::std::uint32_t c[4][1] = {
            {counter.words[0]}, {counter.words[1]}, {counter.words[2]}, {counter.words[3]}};
        detail::philox_rounds(c, key0, key1);
        return block{{c[0][0], c[1][0], c[2][0], c[3][0]}};
    }

    /// Blocks `first` to `first + N` of a generator's stream, one after the other: what drawing
    /// from position 4 · first gives, made on vector registers.
    template <::std::size_t N>
    static void blocks(state const& of, ::std::uint64_t first, ::std::uint32_t (&words)[4 * N]) {
        ::std::uint32_t c[4][N];
        for (::std::size_t i = 0; i < N; ++i) {
            c[0][i] = low(first + i);
            c[1][i] = high(first + i);
            c[2][i] = low(of.stream);
            c[3][i] = high(of.stream);
        }
        detail::philox_rounds(c, low(of.seed), high(of.seed));
        for (::std::size_t i = 0; i < N; ++i) {
            for (::std::size_t j = 0; j < 4; ++j) words[4 * i + j] = c[j][i];
        }
    }

private:
    PREFER_HOST_DEVICE static constexpr ::std::uint32_t low(::std::uint64_t x) {
        return static_cast<::std::uint32_t>(x & 0xffffffffU);
    }
    PREFER_HOST_DEVICE static constexpr ::std::uint32_t high(::std::uint64_t x) {
        return static_cast<::std::uint32_t>(x >> 32);
    }

    PREFER_HOST_DEVICE constexpr void refill() {
        ::std::uint64_t const n = state_.position / 4;
        buffer_ = bijection(block{{low(n), high(n), low(state_.stream), high(state_.stream)}},
                            low(state_.seed), high(state_.seed));
    }

    state state_;
    block buffer_{};
};

/// A generator whose numbers are full 32- or 64-bit words (philox, std::mt19937, std::mt19937_64):
/// what the mappings below need. `std::minstd_rand`, whose range is not a power of two, is not one.
template <class G>
concept bit_generator =
    ::std::uniform_random_bit_generator<::std::remove_reference_t<G>> &&
    ::std::remove_reference_t<G>::min() == 0 &&
    (::std::uint64_t{::std::remove_reference_t<G>::max()} == 0xffffffffU ||
     ::std::uint64_t{::std::remove_reference_t<G>::max()} == 0xffffffffffffffffU);

namespace detail {

template <bit_generator G>
inline constexpr bool draws_64_bits = ::std::uint64_t{G::max()} > 0xffffffffU;

/// 32 random bits: one draw; the upper half of a 64-bit one.
template <bit_generator G>
PREFER_HOST_DEVICE constexpr ::std::uint32_t random_bits_32(G& rng) {
    if constexpr (draws_64_bits<G>) {
        return static_cast<::std::uint32_t>(rng() >> 32);
    } else {
        return static_cast<::std::uint32_t>(rng());
    }
}

/// 64 random bits: one 64-bit draw, or two 32-bit draws, the first one on top.
template <bit_generator G>
PREFER_HOST_DEVICE constexpr ::std::uint64_t random_bits_64(G& rng) {
    if constexpr (draws_64_bits<G>) {
        return rng();
    } else {
        ::std::uint64_t const top = static_cast<::std::uint32_t>(rng());
        return (top << 32) | static_cast<::std::uint32_t>(rng());
    }
}

}  // namespace detail

/// A uniform number in [0, 1): a multiple of 2^-24 (float, one 32-bit draw) or 2^-53 (double, one
/// 64-bit or two 32-bit draws). Never 1. The standard's distributions differ between libraries;
/// this mapping is part of the contract.
template <::std::floating_point T, bit_generator G>
PREFER_HOST_DEVICE constexpr T uniform01(G& rng) {
    static_assert(::std::same_as<T, float> || ::std::same_as<T, double>,
                  "prefer: uniform01 makes float or double");
    if constexpr (::std::same_as<T, float>) {
        return static_cast<float>(detail::random_bits_32(rng) >> 8) * 0x1p-24F;
    } else {
        return static_cast<double>(detail::random_bits_64(rng) >> 11) * 0x1p-53;
    }
}

namespace detail {

inline constexpr ::std::size_t uniforms_ahead = 32;

/// The numbers that `uniform01<double>(rng)` gives: `peek` writes the next few of them, `take`
/// says how many of these were used. Where a generator cannot look ahead, that is all of them. At
/// most `uniforms_ahead` at a time.
template <bit_generator G>
class uniform_source {
public:
    static constexpr bool looks_ahead = false;

    explicit uniform_source(G& rng) : rng_(rng) {}
    void peek(double* to, ::std::size_t n) {
        for (::std::size_t i = 0; i < n; ++i) to[i] = uniform01<double>(rng_);
    }
    void take(::std::size_t) {}

private:
    G& rng_;
};

/// The same of philox, whose blocks are made many at a time. When this goes, the generator stands
/// behind the last number that was taken.
template <>
class uniform_source<philox> {
public:
    static constexpr bool looks_ahead = true;

    explicit uniform_source(philox& rng) : rng_(rng), first_(rng.save().position - words) {}
    uniform_source(uniform_source const&) = delete;
    uniform_source& operator=(uniform_source const&) = delete;
    ~uniform_source() { rng_.discard(first_ + next_ - rng_.save().position); }

    void peek(double* to, ::std::size_t n) {
        if (next_ + 2 * n > words) refill();
        for (::std::size_t i = 0; i < n; ++i) {
            ::std::uint32_t const high = words_[next_ + 2 * i];
            ::std::uint32_t const low = words_[next_ + 2 * i + 1] >> 11;
            to[i] = static_cast<double>(high) * 0x1p-32 + static_cast<double>(low) * 0x1p-53;
        }
    }
    void take(::std::size_t n) { next_ += 2 * n; }

private:
    static constexpr ::std::size_t blocks = 32;
    static constexpr ::std::size_t words = 4 * blocks;

    void refill() {
        ::std::uint64_t const position = first_ + next_;
        next_ = static_cast<::std::size_t>(position % 4);
        first_ = position - next_;
        philox::blocks<blocks>(rng_.save(), first_ / 4, words_);
    }

    philox& rng_;
    ::std::uint64_t first_;       // the position of words_[0]
    ::std::size_t next_ = words;  // the next word to take; none are there yet
    ::std::uint32_t words_[words];
};

}  // namespace detail

/// A uniform index in [0, n), without bias: 32 bits a try for n <= 2^32, else 64, and another try
/// for the few values past the largest multiple of n. Throws `value_error` for n = 0.
template <bit_generator G>
constexpr ::std::size_t uniform_index(G& rng, ::std::size_t n) {
    if (n == 0) throw value_error("prefer::uniform_index: n is 0, but must be at least 1");
    ::std::uint64_t const range = n;
    bool const wide = range > 0x100000000U;
    // 2^32 mod n and 2^64 mod n: how many values at the low end would be drawn once too often.
    ::std::uint64_t const excess = wide ? (0 - range) % range : (0x100000000U - range) % range;
    for (;;) {
        ::std::uint64_t const bits =
            wide ? detail::random_bits_64(rng) : ::std::uint64_t{detail::random_bits_32(rng)};
        if (bits >= excess) return static_cast<::std::size_t>(bits % range);
    }
}

}  // namespace prefer
