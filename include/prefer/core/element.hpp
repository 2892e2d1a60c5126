// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <prefer/config.hpp>

namespace prefer {

namespace detail {

/// std::bit_cast for device code too (the standard one is host-only there).
template <class To, class From>
PREFER_HOST_DEVICE constexpr To bit_cast(From const& from) {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, from);
}

/// Rounds the bits of a float to the nearest 16-bit pattern that keeps `dropped` fewer mantissa
/// bits, ties to even. `bits` must not be a NaN.
PREFER_HOST_DEVICE constexpr ::std::uint32_t round_bits_to_even(::std::uint32_t bits, int dropped) {
    ::std::uint32_t const half = (1U << (dropped - 1)) - 1U;
    return (bits + half + ((bits >> dropped) & 1U)) >> dropped;
}

}  // namespace detail

/// The 16-bit truncation of float (8 exponent bits, 7 of mantissa). Storage only: arithmetic is
/// done in float. Conversion from float rounds to nearest even; a NaN stays a (quiet) NaN.
struct bfloat16 {
    ::std::uint16_t bits = 0;

    bfloat16() = default;

    PREFER_HOST_DEVICE constexpr explicit bfloat16(float x) {
        auto const u = detail::bit_cast<::std::uint32_t>(x);
        bool const nan = (u & 0x7fffffffU) > 0x7f800000U;
        bits = static_cast<::std::uint16_t>(nan ? (u >> 16) | 0x40U
                                                : detail::round_bits_to_even(u, 16));
    }

    PREFER_HOST_DEVICE constexpr explicit operator float() const {
        return detail::bit_cast<float>(static_cast<::std::uint32_t>(bits) << 16);
    }
};

/// IEEE binary16 (5 exponent bits, 10 of mantissa). Storage only: arithmetic is done in float.
/// Conversion from float rounds to nearest even, to subnormals where needed, and to infinity beyond
/// 65504 + 16; a NaN stays a (quiet) NaN.
struct half {
    ::std::uint16_t bits = 0;

    half() = default;

    PREFER_HOST_DEVICE constexpr explicit half(float x) {
        auto const u = detail::bit_cast<::std::uint32_t>(x);
        ::std::uint32_t const sign = (u >> 16) & 0x8000U;
        ::std::uint32_t const magnitude = u & 0x7fffffffU;
        ::std::uint32_t result = 0;
        if (magnitude > 0x7f800000U) {
            result = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
        } else if (magnitude >= 0x477ff000U) {  // 65520: halfway to the next power of two
            result = 0x7c00U;
        } else if (magnitude >= 0x38800000U) {  // 2^-14: normal; rebias the exponent by 127 - 15
            result = detail::round_bits_to_even(magnitude - (112U << 23), 13);
        } else if (magnitude >= 0x33000000U) {  // 2^-25 and up: subnormal, in units of 2^-24
            ::std::uint32_t const mantissa = (magnitude & 0x7fffffU) | 0x800000U;
            int const shift = 126 - static_cast<int>(magnitude >> 23);
            result = detail::round_bits_to_even(mantissa, shift);
        }
        bits = static_cast<::std::uint16_t>(sign | result);
    }

    PREFER_HOST_DEVICE constexpr explicit operator float() const {
        ::std::uint32_t const sign = static_cast<::std::uint32_t>(bits & 0x8000U) << 16;
        ::std::uint32_t const exponent = (bits >> 10) & 0x1fU;
        ::std::uint32_t const mantissa = bits & 0x3ffU;
        if (exponent == 0) {
            float const magnitude = static_cast<float>(mantissa) * 0x1p-24F;
            return sign != 0 ? -magnitude : magnitude;
        }
        ::std::uint32_t const wide = exponent == 31 ? 0xffU : exponent + 112U;
        return detail::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
    }
};

/// What a type that is stored in a user's array is computed in. The library specialises it for
/// double, float, `bfloat16` and `half`; a backend, or a user with a number type of their own,
/// specialises it with the same two members.
template <class T>
struct element_traits;

template <>
struct element_traits<double> {
    using compute = double;
};

template <>
struct element_traits<float> {
    using compute = float;
};

template <>
struct element_traits<bfloat16> {
    using compute = float;
};

template <>
struct element_traits<half> {
    using compute = float;
};

/// The type in which an element is computed with: float for the 16-bit types.
template <class T>
using compute_t = typename element_traits<::std::remove_cv_t<T>>::compute;

/// A floating type that may stand in a user's array: it has `element_traits`, and converts to and
/// from the type it is computed in.
template <class T>
concept element = requires(compute_t<T> x, ::std::remove_cv_t<T> stored) {
    static_cast<compute_t<T>>(stored);
    static_cast<::std::remove_cv_t<T>>(x);
};

/// An integer type for labels, offsets and lengths.
template <class T>
concept index_element =
    ::std::integral<::std::remove_cv_t<T>> && !::std::same_as<::std::remove_cv_t<T>, bool>;

}  // namespace prefer
