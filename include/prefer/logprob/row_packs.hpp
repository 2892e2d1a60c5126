// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Between memory and packs of SIMD lanes, for the loops over rows of logits: loads that widen and
/// stores that round, in registers, for float, double and the 16-bit types.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prefer/core/element.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sum_exp.hpp>
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

template <class U, ::std::size_t N>
using lanes_of = typename math::detail::vector_of<U, N>::type;

template <class C>
struct row_pack_of {
    using type = C;
};
template <>
struct row_pack_of<float> {
    using type = math::lanes_t<float>;
};
template <>
struct row_pack_of<double> {
    using type = math::lanes_t<double>;
};

/// a·b + c: one expression, which compilers make one operation of where the target has it.
template <class C, ::std::size_t N>
math::pack<C, N> mul_add(math::pack<C, N> const& a, math::pack<C, N> const& b,
                         math::pack<C, N> const& c) {
    return math::pack<C, N>(a.v * b.v + c.v);
}

/// Whether `fused` rounds once, whatever the flags of contraction and optimisation: it calls the
/// operation of the target by its name.
template <::std::size_t N>
inline constexpr bool is_fused =
#    if defined(__clang__) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
    true;
#    elif defined(__AVX512F__) && defined(__FMA__)
    N == 4 || N == 8 || N == 16;
#    elif defined(__FMA__)
    N == 4 || N == 8;
#    else
    false;
#    endif

/// a·b + c, rounded once where `is_fused`.
template <::std::size_t N>
math::pack<float, N> fused(math::pack<float, N> const& a, math::pack<float, N> const& b,
                           math::pack<float, N> const& c) {
    if constexpr (!is_fused<N>) {
        return mul_add(a, b, c);
    } else {
#    if defined(__clang__)
        return math::pack<float, N>(__builtin_elementwise_fma(a.v, b.v, c.v));
#    elif defined(__FMA__)
        if constexpr (N == 4) return math::pack<float, N>(__builtin_ia32_vfmaddps(a.v, b.v, c.v));
        if constexpr (N == 8) {
            return math::pack<float, N>(__builtin_ia32_vfmaddps256(a.v, b.v, c.v));
        }
#        if defined(__AVX512F__)
        if constexpr (N == 16) {  // all lanes, in the rounding mode that is set
            return math::pack<float, N>(__builtin_ia32_vfmaddps512_mask(a.v, b.v, c.v, -1, 4));
        }
#        endif
#    endif
    }
}

template <class C, ::std::size_t N>
math::packs<C, N> mul_add(math::packs<C, N> const& a, math::packs<C, N> const& b,
                          math::packs<C, N> const& c) {
    return {mul_add(a.first, b.first, c.first), mul_add(a.second, b.second, c.second)};
}

/// The numbers of 16-bit elements in the low halves of words.
template <::std::size_t N>
lanes_of<float, N> widened_bfloat16(lanes_of<::std::uint32_t, N> const& bits) {
    return ::std::bit_cast<lanes_of<float, N>>(bits << 16);
}

/// As `half`'s own conversion, lane by lane; exact.
template <::std::size_t N>
lanes_of<float, N> widened_half(lanes_of<::std::uint32_t, N> const& u) {
    using words = lanes_of<::std::uint32_t, N>;
    using floats = lanes_of<float, N>;
    words const sign = (u & 0x8000U) << 16;
    words const shifted = (u & 0x7fffU) << 13;
    words const exponent = shifted & 0x0f800000U;
    words const normal = shifted + (112U << 23);
    words const special = normal + (112U << 23);  // infinity and NaN
    // Subnormal: the mantissa behind the leading bit of 2^-14, which is then taken away.
    floats const tiny = ::std::bit_cast<floats>(normal + (1U << 23)) - 0x1p-14F;
    words const large = exponent == 0x0f800000U ? special : normal;
    words const magnitude = exponent == 0U ? ::std::bit_cast<words>(tiny) : large;
    return ::std::bit_cast<floats>(magnitude | sign);
}

/// The bits of the 16-bit element next to each number, ties to even, in the low halves of words.
template <::std::size_t N>
lanes_of<::std::uint32_t, N> rounded_bfloat16(lanes_of<float, N> const& x) {
    using words = lanes_of<::std::uint32_t, N>;
    words const u = ::std::bit_cast<words>(x);
    words const rounded = (u + 0x7fffU + ((u >> 16) & 1U)) >> 16;
    words const quiet = (u >> 16) | 0x40U;
    return (u & 0x7fffffffU) > 0x7f800000U ? quiet : rounded;
}

template <::std::size_t N>
lanes_of<::std::uint32_t, N> rounded_half(lanes_of<float, N> const& x) {
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
    return chosen | ((u >> 16) & 0x8000U);
}

/// As many elements as `P` has lanes. 16-bit elements are taken by the word: the lower halves are
/// the first pack, the upper ones the second, so that nothing has to be moved between lanes.
template <class P, class T>
    requires math::is_pack<P>
P load_pack(T const* from) {
    using C = math::lane_t<P>;
    using part = typename P::part;
    static_assert(packs_move<T, C>);
    if constexpr (::std::same_as<T, C>) {
        P lanes;
        ::std::memcpy(static_cast<void*>(&lanes.first), from, sizeof(part));
        ::std::memcpy(static_cast<void*>(&lanes.second), from + sizeof(part) / sizeof(C),
                      sizeof(part));
        return lanes;
    } else {
        constexpr ::std::size_t n = sizeof(part) / sizeof(C);
        lanes_of<::std::uint32_t, n> bits;
        ::std::memcpy(&bits, from, sizeof(bits));
        if constexpr (::std::same_as<typename layout_of<T>::type, bfloat16>) {
            return {part(widened_bfloat16<n>(bits)),
                    part(::std::bit_cast<lanes_of<float, n>>(bits & 0xffff0000U))};
        } else {
            return {part(widened_half<n>(bits)), part(widened_half<n>(bits >> 16))};
        }
    }
}

/// The same with the elements one after the other in the lanes, as numbers C lie in memory.
template <class P, class T>
    requires math::is_pack<P>
P load_in_order(T const* from) {
    using C = math::lane_t<P>;
    using part = typename P::part;
    if constexpr (::std::same_as<T, C>) {
        return load_pack<P>(from);
    } else {
        constexpr ::std::size_t n = sizeof(part) / sizeof(C);
        auto const widened = [&](T const* at) {
            lanes_of<::std::uint16_t, n> bits;
            ::std::memcpy(&bits, at, sizeof(bits));
            auto const words = __builtin_convertvector(bits, lanes_of<::std::uint32_t, n>);
            if constexpr (::std::same_as<typename layout_of<T>::type, bfloat16>) {
                return part(widened_bfloat16<n>(words));
            } else {
                return part(widened_half<n>(words));
            }
        };
        return {widened(from), widened(from + n)};
    }
}

template <class P, class T>
    requires math::is_pack<P>
void store_pack(P const& lanes, T* to) {
    using C = math::lane_t<P>;
    using part = typename P::part;
    static_assert(packs_move<T, C>);
    if constexpr (::std::same_as<T, C>) {
        ::std::memcpy(to, &lanes.first, sizeof(part));
        ::std::memcpy(to + sizeof(part) / sizeof(C), &lanes.second, sizeof(part));
    } else {
        constexpr ::std::size_t n = sizeof(part) / sizeof(C);
        constexpr bool brain = ::std::same_as<typename layout_of<T>::type, bfloat16>;
        auto const rounded = [](part const& x) {
            if constexpr (brain) {
                return rounded_bfloat16<n>(x.v);
            } else {
                return rounded_half<n>(x.v);
            }
        };
        lanes_of<::std::uint32_t, n> const bits =
            rounded(lanes.first) | (rounded(lanes.second) << 16);
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

template <::std::floating_point C>
C mul_add(C a, C b, C c) {
    return a * b + c;
}

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
P load_in_order(T const* from) {
    return static_cast<P>(*from);
}

template <class P, class T>
    requires(!math::is_pack<P>)
void store_pack(P const& number, T* to) {
    *to = static_cast<T>(number);
}

template <class P>
inline constexpr ::std::size_t lanes_in = sizeof(P) / sizeof(math::lane_t<P>);

/// Numbers from `n` elements in the places `load_pack` puts them, `fill` in the others.
template <class P, class T>
P load_part(T const* from, ::std::size_t n, T fill) {
    T elements[lanes_in<P>];
    for (T& x : elements) x = fill;
    for (::std::size_t j = 0; j < n; ++j) elements[j] = from[j];
    return load_pack<P>(elements);
}

/// The first `n` elements to memory.
template <class P, class T>
void store_part(P const& lanes, T* to, ::std::size_t n) {
    T elements[lanes_in<P>];
    store_pack(lanes, elements);
    for (::std::size_t j = 0; j < n; ++j) to[j] = elements[j];
}

/// Weights e^(z - top) of logits z <= top, up to one factor, `of_top()`, and 0 where that is too
/// small for a normal number. Here for double, and for single numbers.
template <class P>
class row_weights {
    using C = math::lane_t<P>;

public:
    explicit row_weights(C top) : top_(top) {}

    /// What logits are taken relative to, because they are large; else 0.
    C origin() const { return C(0); }
    C top() const { return top_; }

    /// z, or where e^(z - top) is 0 from there on. NaN stays.
    P cut(P const& z) const {
        P const lowest(top_ - (sizeof(C) == 4 ? C(110) : C(760)));
        return math::select(lowest > z, lowest, z);
    }

    /// The weights of cut logits.
    P operator()(P const& z) const { return math::exp_below_zero(z - P(top_)); }
    P add_to(P const& sum, P const& z) const { return sum + (*this)(z); }

    C of_top() const { return C(1); }

    /// What sums of weights are multiplied with to become relative to another top.
    math::wide_t<C> ratio_to(row_weights const& other) const {
        using W = math::wide_t<C>;
        return math::exp(static_cast<W>(top_) - static_cast<W>(other.top_));
    }

private:
    C top_;
};

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDACC__)

/// In float: 2^(z·log2(e) - c), with a whole c near top·log2(e). The product less the whole part of
/// it is exact where the target has fused multiply-add, so a common offset costs nothing, not even
/// a subtraction. Within 1.6e-7 of the value.
template <::std::size_t N>
class row_weights<math::packs<float, N>> {
    using P = math::packs<float, N>;
    using part = math::pack<float, N>;

public:
    explicit row_weights(float top)
        : origin_(math::abs(top) < near ? 0.0F : top), top_(top - origin_),
          whole_((top_ * log2e + rounder) - rounder), shift_((rounder + 127) - whole_),
          lowest_((whole_ - 127) / log2e) {}

    float origin() const { return origin_; }
    float top() const { return top_; }

    P cut(P const& z) const { return {cut(z.first), cut(z.second)}; }
    P operator()(P const& z) const {
        factors const a(*this, z.first);
        factors const b(*this, z.second);
        return {a.fraction * a.power, b.fraction * b.power};
    }
    P add_to(P const& sum, P const& z) const {
        factors const a(*this, z.first);
        factors const b(*this, z.second);
        return {mul_add(a.fraction, a.power, sum.first), mul_add(b.fraction, b.power, sum.second)};
    }

    float of_top() const { return (*this)(P(top_))[0]; }

    double ratio_to(row_weights const& other) const {
        double const moved = static_cast<double>(origin_) - static_cast<double>(other.origin_);
        return ::std::exp2(moved * static_cast<double>(log2e) + static_cast<double>(whole_) -
                           static_cast<double>(other.whole_));
    }

private:
    /// Tops of which the products above are exact enough: none without fused multiply-add.
    static constexpr float near = is_fused<N> ? 0x1p18F : 0.0F;

    static constexpr float log2e = 1.44269504088896340736F;
    static constexpr float rounder = 0x1.8p23F;  // x + rounder is rounded to a whole number

    part cut(part const& z) const {
        part const lowest(lowest_);
        return part(lowest.v > z.v ? lowest.v : z.v);
    }

    /// 2^n and 2^f, n + f = z·log2(e) - c, |f| <= ½.
    struct factors {
        part power;
        part fraction;

        factors(row_weights const& w, part const& z) {
            using words = lanes_of<::std::uint32_t, N>;
            using vector = typename part::vector;
            part const shift(w.shift_);
            part const shifted = fused(z, part(log2e), shift);  // its low bits are n + 127
            part const f = fused(z, part(log2e), shift - shifted);
            power = part(::std::bit_cast<vector>(::std::bit_cast<words>(shifted.v) << 23));
            // The polynomial of the smallest relative error, 9.4e-8, in short chains.
            part const low = mul_add(f, part(0x1.62e42ap-1F), part(1.0F));
            part const middle = mul_add(f, part(0x1.c6b6dap-5F), part(0x1.ebf9c2p-3F));
            part const high = mul_add(f, part(0x1.5bd97cp-10F), part(0x1.3ce8b2p-7F));
            part const square = f * f;
            fraction = mul_add(mul_add(high, square, middle), square, low);
        }
    };

    float origin_;
    float top_;
    float whole_;
    float shift_;
    float lowest_;
};

#endif

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
