// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Between memory and packs of SIMD lanes, for the loops over rows of logits: loads that widen and
/// stores that round, in registers, for float, double and the 16-bit types.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prefer/core/element.hpp>
#include <prefer/math/pack.hpp>

namespace prefer::detail {

/// The library's element type that `T` has the layout of: backends specialise it for their own
/// 16-bit types, which are then loaded and stored as fast.
template <class T>
struct layout_of {
    using type = T;
};

/// Whether packs of numbers C are loaded from, and stored to, contiguous elements T.
template <class T, class C>
inline constexpr bool packs_move =
    ::std::same_as<T, C> ||
    (::std::same_as<C, float> && (::std::same_as<typename layout_of<T>::type, bfloat16> ||
                                  ::std::same_as<typename layout_of<T>::type, half>));

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDACC__)

/// Bytes of the packs of rows: with AVX-512 the wide registers, since exponentials are what these
/// loops wait for.
#    if defined(__AVX512F__)
inline constexpr ::std::size_t row_pack_bytes = 64;
#    else
inline constexpr ::std::size_t row_pack_bytes = math::detail::register_bytes;
#    endif

template <class C>
struct row_pack_of {
    using type = C;
};
template <>
struct row_pack_of<float> {
    using type = math::pack<float, row_pack_bytes / sizeof(float)>;
};
template <>
struct row_pack_of<double> {
    using type = math::pack<double, row_pack_bytes / sizeof(double)>;
};

template <class U, ::std::size_t N>
using lanes_of = typename math::detail::vector_of<U, N>::type;

template <::std::size_t N>
lanes_of<float, N> widened_bfloat16(lanes_of<::std::uint16_t, N> const& bits) {
    using words = lanes_of<::std::uint32_t, N>;
    return ::std::bit_cast<lanes_of<float, N>>(__builtin_convertvector(bits, words) << 16);
}

/// As `half`'s own conversion, lane by lane; exact.
template <::std::size_t N>
lanes_of<float, N> widened_half(lanes_of<::std::uint16_t, N> const& bits) {
    using words = lanes_of<::std::uint32_t, N>;
    using floats = lanes_of<float, N>;
    words const u = __builtin_convertvector(bits, words);
    words const sign = (u & 0x8000U) << 16;
    words const shifted = (u & 0x7fffU) << 13;
    words const exponent = shifted & 0x0f800000U;
    words const rebias = words{} + (112U << 23);
    words const special = shifted + 2 * rebias;  // infinity and NaN
    // Subnormal: the mantissa behind the leading bit of 2^-14, which is then taken away.
    floats const tiny = ::std::bit_cast<floats>(shifted + rebias + (1U << 23)) - 0x1p-14F;
    words const normal = exponent == 0x0f800000U ? special : shifted + rebias;
    words const magnitude = exponent == 0U ? ::std::bit_cast<words>(tiny) : normal;
    return ::std::bit_cast<floats>(magnitude | sign);
}

template <::std::size_t N>
lanes_of<::std::uint16_t, N> rounded_bfloat16(lanes_of<float, N> const& x) {
    using words = lanes_of<::std::uint32_t, N>;
    words const u = ::std::bit_cast<words>(x);
    words const rounded = (u + 0x7fffU + ((u >> 16) & 1U)) >> 16;
    words const quiet = (u >> 16) | 0x40U;
    words const chosen = (u & 0x7fffffffU) > 0x7f800000U ? quiet : rounded;
    return __builtin_convertvector(chosen, lanes_of<::std::uint16_t, N>);
}

template <::std::size_t N>
lanes_of<::std::uint16_t, N> rounded_half(lanes_of<float, N> const& x) {
    using words = lanes_of<::std::uint32_t, N>;
    using floats = lanes_of<float, N>;
    words const u = ::std::bit_cast<words>(x);
    words const magnitude = u & 0x7fffffffU;
    words const rebased = magnitude - (112U << 23);
    words const normal = (rebased + 0xfffU + ((rebased >> 13) & 1U)) >> 13;
    // Below 2^-14: the sum with ½ has its last digit at 2^-24, and rounds to even.
    floats const moved = ::std::bit_cast<floats>(magnitude) + 0.5F;
    words const subnormal = ::std::bit_cast<words>(moved) - 0x3f000000U;
    words const finite = magnitude < 0x38800000U ? subnormal : normal;
    words const nan = ((magnitude >> 13) & 0x3ffU) | 0x7e00U;
    words const special = magnitude > 0x7f800000U ? nan : words{} + 0x7c00U;
    words const chosen = magnitude >= 0x477ff000U ? special : finite;
    return __builtin_convertvector(chosen | ((u >> 16) & 0x8000U), lanes_of<::std::uint16_t, N>);
}

template <class P, class T>
    requires math::is_pack<P>
P load_pack(T const* from) {
    using C = math::lane_t<P>;
    using stored = typename layout_of<T>::type;
    static_assert(packs_move<T, C>);
    constexpr ::std::size_t n = sizeof(P) / sizeof(C);
    if constexpr (::std::same_as<T, C>) {
        P lanes;
        ::std::memcpy(static_cast<void*>(&lanes), from, sizeof(P));
        return lanes;
    } else {
        lanes_of<::std::uint16_t, n> bits;
        ::std::memcpy(&bits, from, sizeof(bits));
        if constexpr (::std::same_as<stored, bfloat16>) {
            return P(widened_bfloat16<n>(bits));
        } else {
            return P(widened_half<n>(bits));
        }
    }
}

template <class P, class T>
    requires math::is_pack<P>
void store_pack(P const& lanes, T* to) {
    using C = math::lane_t<P>;
    using stored = typename layout_of<T>::type;
    static_assert(packs_move<T, C>);
    constexpr ::std::size_t n = sizeof(P) / sizeof(C);
    if constexpr (::std::same_as<T, C>) {
        ::std::memcpy(to, &lanes, sizeof(P));
    } else if constexpr (::std::same_as<stored, bfloat16>) {
        auto const bits = rounded_bfloat16<n>(lanes.v);
        ::std::memcpy(static_cast<void*>(to), &bits, sizeof(bits));
    } else {
        auto const bits = rounded_half<n>(lanes.v);
        ::std::memcpy(static_cast<void*>(to), &bits, sizeof(bits));
    }
}

inline void prefetch(void const* address) {
    __builtin_prefetch(address);
}

#else

template <class C>
struct row_pack_of {
    using type = C;
};

inline void prefetch(void const*) {}

#endif

/// A pack of row numbers, or one number where there are no packs.
template <class C>
using row_pack = typename row_pack_of<C>::type;

template <class P, class T>
    requires(!math::is_pack<P>)
P load_pack(T const* from) {
    return static_cast<P>(*from);
}

template <class P, class T>
    requires(!math::is_pack<P>)
void store_pack(P const& number, T* to) {
    *to = static_cast<T>(number);
}

template <class P>
inline constexpr ::std::size_t lanes_in = sizeof(P) / sizeof(math::lane_t<P>);

/// The first `n` lanes from memory, `fill` in the others.
template <class P, class T>
P load_part(T const* from, ::std::size_t n, math::lane_t<P> fill) {
    using C = math::lane_t<P>;
    C numbers[lanes_in<P>];
    for (C& x : numbers) x = fill;
    for (::std::size_t j = 0; j < n; ++j) numbers[j] = static_cast<C>(from[j]);
    return load_pack<P>(numbers);
}

/// The first `n` lanes to memory.
template <class P, class T>
void store_part(P const& lanes, T* to, ::std::size_t n) {
    T elements[lanes_in<P>];
    store_pack(lanes, elements);
    for (::std::size_t j = 0; j < n; ++j) to[j] = elements[j];
}

/// tanh by e^2|u| - 1, which keeps the digits of small u: within 4 ULP.
template <math::real_number P>
P tanh_of(P const& u) {
    using C = math::lane_t<P>;
    P const size = math::min(math::abs(u), P(C(20)));  // where it is 1 to the last digit
    P const above = math::expm1(size + size);
    P const magnitude = above / (above + P(C(2)));
    return math::select(u < P(C(0)), -magnitude, magnitude);
}

}  // namespace prefer::detail
