// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// A pack of SIMD lanes as a scalar: what batch loops evaluate formulas on. Needs the vector
/// extensions of gcc and clang; elsewhere, and in CUDA sources, `lanes_t<T>` is `T` itself, and the
/// same loops take one element at a time.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <prefer/math/elementary.hpp>

namespace prefer::math {

/// Whether all (any) lanes of a comparison hold; of a comparison of plain numbers, itself.
PREFER_HOST_DEVICE constexpr bool all_of(bool condition) {
    return condition;
}
PREFER_HOST_DEVICE constexpr bool any_of(bool condition) {
    return condition;
}

/// What counts how often a comparison holds, lane by lane: -1 for each lane that does, or 1.
PREFER_HOST_DEVICE constexpr ::std::ptrdiff_t minus_held(bool condition) {
    return condition ? -1 : 0;
}

/// The sum of what `minus_held` gave.
PREFER_HOST_DEVICE constexpr double sum_of_counts(::std::ptrdiff_t count) {
    return static_cast<double>(count);
}

/// A pack in double, in so many parts of at most the size of a register. Two packs are added.
template <real_number P>
inline constexpr ::std::size_t doubles_in = is_pack<P> ? sizeof(double) / sizeof(lane_t<P>) : 1;

template <::std::floating_point T>
double as_double(T x, ::std::size_t) {
    return static_cast<double>(x);
}

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDACC__)

namespace detail {

/// Bytes of a pack: a vector register of the architecture this is compiled for.
#    if defined(__AVX512F__)
inline constexpr ::std::size_t register_bytes = 64;
#    elif defined(__AVX__)
inline constexpr ::std::size_t register_bytes = 32;
#    else
inline constexpr ::std::size_t register_bytes = 16;
#    endif

template <class T, ::std::size_t N>
struct vector_of {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};

template <class T>
using bits_of = ::std::conditional_t<sizeof(T) == 4, ::std::int32_t, ::std::int64_t>;

template <class T>
using word_of = ::std::conditional_t<sizeof(T) == 4, ::std::uint32_t, ::std::uint64_t>;

template <class>
inline constexpr bool never = false;

}  // namespace detail

/// The outcome of a comparison of packs, lane by lane. It is no `bool`: a formula on packs cannot
/// branch, it selects.
template <class T, ::std::size_t N>
struct mask {
    using vector = typename detail::vector_of<detail::bits_of<T>, N>::type;
    vector v;  // -1 where it holds, else 0

    friend mask operator&&(mask a, mask b) { return {a.v & b.v}; }
    friend mask operator||(mask a, mask b) { return {a.v | b.v}; }
    mask operator!() const { return {~v}; }

    template <class Any = void>
    explicit operator bool() const {
        static_assert(
            detail::never<Any>,
            "prefer: a formula has no `if`, `?:` or && on its numbers, since it also runs "
            "on packs of SIMD lanes; say prefer::math::select, min or max");
        return false;
    }
};

template <class T, ::std::size_t N>
typename mask<T, N>::vector minus_held(mask<T, N> const& m) {
    return m.v;
}

/// The same of a vector of counts.
template <class V>
    requires(!::std::is_arithmetic_v<V>)
double sum_of_counts(V const& counts) {
    double sum = 0;
    for (::std::size_t i = 0; i < sizeof(V) / sizeof(counts[0]); ++i) {
        sum += static_cast<double>(counts[i]);
    }
    return sum;
}

template <class T, ::std::size_t N>
bool any_of(mask<T, N> const& m) {
    using words = typename detail::vector_of<::std::uint64_t, N * sizeof(T) / 8>::type;
    auto const w = ::std::bit_cast<words>(m.v);
    ::std::uint64_t joined = 0;
    for (::std::size_t i = 0; i < N * sizeof(T) / 8; ++i) joined |= w[i];
    return joined != 0;
}

template <class T, ::std::size_t N>
bool all_of(mask<T, N> const& m) {
    return !any_of(!m);
}

/// `N` numbers of type `T`, float or double, as one: every operation works lane by lane.
///
/// The elementary functions have no branch and no call: exp, expm1, log and log1p are within 2 ULP,
/// over the whole range, with the values of the plain ones at ±0, infinities and NaN. So a formula
/// gives on packs what it gives on plain numbers, to rounding; sigmoid and softplus give 0 where
/// that is below the smallest normal number.
template <class T, ::std::size_t N>
struct pack {
    using vector = typename detail::vector_of<T, N>::type;
    vector v{};

    pack() = default;
    explicit pack(vector lanes) : v(lanes) {}

    /// The same number in every lane.
    template <class U>
        requires ::std::is_arithmetic_v<U>
    pack(U x) : v(static_cast<T>(x) - vector{}) {}

    T operator[](::std::size_t lane) const { return v[lane]; }

    /// By its sign bit, so that compilers see that |-x| is |x| and take an exponential of it once.
    pack operator-() const {
        using bits = typename mask<T, N>::vector;
        using word = detail::bits_of<T>;
        return pack(::std::bit_cast<vector>(::std::bit_cast<bits>(v) ^
                                            (::std::numeric_limits<word>::min() - bits{})));
    }
    friend pack operator+(pack const& a, pack const& b) { return pack(a.v + b.v); }
    friend pack operator-(pack const& a, pack const& b) { return pack(a.v - b.v); }
    friend pack operator*(pack const& a, pack const& b) { return pack(a.v * b.v); }
    friend pack operator/(pack const& a, pack const& b) { return pack(a.v / b.v); }
    pack& operator+=(pack const& b) { return *this = *this + b; }
    pack& operator-=(pack const& b) { return *this = *this - b; }
    pack& operator*=(pack const& b) { return *this = *this * b; }
    pack& operator/=(pack const& b) { return *this = *this / b; }

    friend mask<T, N> operator<(pack const& a, pack const& b) { return {a.v < b.v}; }
    friend mask<T, N> operator>(pack const& a, pack const& b) { return {a.v > b.v}; }
    friend mask<T, N> operator<=(pack const& a, pack const& b) { return {a.v <= b.v}; }
    friend mask<T, N> operator>=(pack const& a, pack const& b) { return {a.v >= b.v}; }
};

template <class T, ::std::size_t N>
inline constexpr bool is_pack<pack<T, N>> = true;

template <class T, ::std::size_t N>
struct lane<pack<T, N>> {
    using type = T;
};

/// The pack that fills a vector register.
template <::std::floating_point T>
using register_t = pack<T, detail::register_bytes / sizeof(T)>;

namespace detail {

/// A vector of float in double. gcc 12 makes ten instructions of the last line.
template <class V, class Floats>
V widened(Floats const& x) {
#    if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof(V) == 64) return __builtin_ia32_cvtps2pd512_mask(x, V{}, -1, 4);
#    endif
#    if defined(__AVX__) && !defined(__clang__)
    if constexpr (sizeof(V) == 32) return __builtin_ia32_cvtps2pd256(x);
#    endif
    return __builtin_convertvector(x, V);
}

/// The lower (k = 0) or upper half of a vector.
template <class V, ::std::size_t... I>
auto half_of(V const& v, ::std::size_t k, ::std::index_sequence<I...>) {
    constexpr ::std::size_t n = sizeof...(I);
    return k == 0 ? __builtin_shufflevector(v, v, I...) : __builtin_shufflevector(v, v, (n + I)...);
}

}  // namespace detail

/// Part `k` of a pack in double: N numbers of double, or half of N numbers of float.
template <class T, ::std::size_t N>
pack<double, N * sizeof(T) / sizeof(double)> as_double(pack<T, N> const& x, ::std::size_t k) {
    using part = pack<double, N * sizeof(T) / sizeof(double)>;
    if constexpr (sizeof(T) == sizeof(double)) {
        return x;
    } else {
        auto const half = detail::half_of(x.v, k, ::std::make_index_sequence<N / 2>());
        return part(detail::widened<typename part::vector>(half));
    }
}

template <class T, ::std::size_t N>
pack<T, N> select(mask<T, N> const& m, pack<T, N> const& a, pack<T, N> const& b) {
    return pack<T, N>(m.v ? a.v : b.v);
}

template <class T, ::std::size_t N>
mask<T, N> is_nan(pack<T, N> const& x) {
    return !(x <= x);
}

template <class T, ::std::size_t N>
pack<T, N> abs(pack<T, N> const& x) {
    using bits = typename mask<T, N>::vector;
    using word = detail::bits_of<T>;
    bits const positive =
        ::std::bit_cast<bits>(x.v) & (static_cast<word>(detail::word_of<T>(-1) >> 1) - bits{});
    return pack<T, N>(::std::bit_cast<typename pack<T, N>::vector>(positive));
}

template <class T, ::std::size_t N>
mask<T, N> is_finite(pack<T, N> const& x) {
    return abs(x) <= pack<T, N>(largest<T>);
}

template <class T, ::std::size_t N>
pack<T, N> max(pack<T, N> const& a, pack<T, N> const& b) {
    return select(b > a || is_nan(b), b, a);
}

template <class T, ::std::size_t N>
pack<T, N> min(pack<T, N> const& a, pack<T, N> const& b) {
    return select(b < a || is_nan(b), b, a);
}

template <class T, ::std::size_t N>
pack<T, N> detach(pack<T, N> const& x) {
    return x;
}

template <class T, ::std::size_t N>
pack<T, N> sqrt(pack<T, N> const& x) {
    pack<T, N> y;
    for (::std::size_t i = 0; i < N; ++i) y.v[i] = sqrt(static_cast<T>(x.v[i]));
    return y;
}

namespace detail {

/// The constants of exp and log, and their polynomials: P(r) close to (e^r - 1 - r)/r² for |r| <=
/// log(2)/2, and L(t) close to 2(atanh(s)/s - 1)/t, t = s², for |s| <= (√2 - 1)/(√2 + 1).
template <class T>
struct pack_constants;

template <>
struct pack_constants<float> {
    static constexpr int mantissa = 23;
    static constexpr float rounder = 0x1.8p23F;     // x + rounder is rounded to an integer
    static constexpr float over = 89.0F;            // e^x is infinite
    static constexpr float under = -104.0F;         // e^x is 0
    static constexpr float flushed = -88.0296919F;  // log of 2^-127, whose exponent bits are 0
    static constexpr float minus_one = -18.0F;      // e^x - 1 is -1
    static constexpr float log2_high = 0.693359375F;
    static constexpr float log2_low = -2.12194440e-4F;
    static constexpr ::std::int32_t one = 0x3f800000;
    static constexpr ::std::int32_t mantissa_bits = 0x007fffff;
    static constexpr ::std::int32_t half_root_bits = 0x3f3504f3;  // √½
    static constexpr float subnormal_scale = 0x1p24F;
    static constexpr float subnormal_shift = 24.0F;

    template <class P>
    static P exp_tail(P const& r) {
        P const high = (P(1.39261836e-3F) * r + P(8.36317905e-3F)) * r + P(4.16665546e-2F);
        return (high * r + P(0.16666577F)) * r + P(0.5F);
    }
    template <class P>
    static P log_tail(P const& t) {
        P const high = (P(0x1.ddcf72p-3F) * t + P(0x1.245c4p-2F)) * t;
        return (high + P(0x1.9999ecp-2F)) * t + P(0x1.555556p-1F);
    }
};

template <>
struct pack_constants<double> {
    static constexpr int mantissa = 52;
    static constexpr double rounder = 0x1.8p52;
    static constexpr double over = 710.0;
    static constexpr double under = -746.0;
    static constexpr double flushed = -709.08956571282408;
    static constexpr double minus_one = -38.0;
    static constexpr double log2_high = 0x1.62e42feep-1;
    static constexpr double log2_low = 0x1.a39ef35793c76p-33;
    static constexpr ::std::int64_t one = 0x3ff0000000000000;
    static constexpr ::std::int64_t mantissa_bits = 0x000fffffffffffff;
    static constexpr ::std::int64_t half_root_bits = 0x3fe6a09e667f3bcd;
    static constexpr double subnormal_scale = 0x1p54;
    static constexpr double subnormal_shift = 54.0;

    template <class P>
    static P exp_tail(P const& r) {
        P const high = (P(0x1.af38a9b0ec855p-26) * r + P(0x1.289185613a3d6p-22)) * r;
        P const middle = ((high + P(0x1.71de0dae63bb3p-19)) * r + P(0x1.a019b90d2ae7ap-16)) * r;
        P const low = ((middle + P(0x1.a01a01a7c41d5p-13)) * r + P(0x1.6c16c1788bd90p-10)) * r;
        P const lower = ((low + P(0x1.11111111109b3p-7)) * r + P(0x1.5555555553d63p-5)) * r;
        return (lower + P(0x1.5555555555556p-3)) * r + P(0.5);
    }
    template <class P>
    static P log_tail(P const& t) {
        P const high = (P(0x1.2b5900de53b32p-3) * t + P(0x1.39fe51a7c18f9p-3)) * t;
        P const middle = ((high + P(0x1.7462b51cb66b1p-3)) * t + P(0x1.c71c62e3f11e6p-3)) * t;
        P const low = ((middle + P(0x1.2492492df281ap-2)) * t + P(0x1.99999999952d7p-2)) * t;
        return low + P(0x1.5555555555558p-1);
    }
};

/// 2^n for whole n whose power is a normal number; n comes as n + rounder.
template <class T, ::std::size_t N>
pack<T, N> power_of_two(pack<T, N> const& shifted) {
    using constants = pack_constants<T>;
    using bits = typename mask<T, N>::vector;
    bits const n = ::std::bit_cast<bits>(shifted.v) << constants::mantissa;
    return pack<T, N>(::std::bit_cast<typename pack<T, N>::vector>(n + constants::one));
}

/// x = n·log 2 + r, and e^r - 1 = r + r²·P(r); e^x is put together by the caller.
template <class T, ::std::size_t N>
struct reduced {
    pack<T, N> n;
    pack<T, N> exp_m1;  // e^r - 1
    pack<T, N> first;   // 2^n in two factors, since 2^n alone may be out of range
    pack<T, N> second;

    explicit reduced(pack<T, N> const& x) {
        using P = pack<T, N>;
        using constants = pack_constants<T>;
        P const rounder(constants::rounder);
        n = (x * P(T(1.44269504088896340736L)) + rounder) - rounder;
        P const r = (x - n * P(constants::log2_high)) - n * P(constants::log2_low);
        exp_m1 = constants::exp_tail(r) * (r * r) + r;
        P const half = n * P(T(0.5)) + rounder;
        first = power_of_two(half);
        second = power_of_two(n - (half - rounder) + rounder);
    }
};

}  // namespace detail

template <class T, ::std::size_t N>
pack<T, N> exp(pack<T, N> const& x) {
    using P = pack<T, N>;
    using constants = detail::pack_constants<T>;
    P const below = select(x > P(constants::over), P(constants::over), x);  // NaN stays
    detail::reduced<T, N> const y(select(below < P(constants::under), P(constants::under), below));
    return (y.exp_m1 + P(T(1))) * y.first * y.second;
}

/// The exponential of the same x is the same reduction, which a compiler takes once.
template <class T, ::std::size_t N>
pack<T, N> expm1(pack<T, N> const& x) {
    using P = pack<T, N>;
    using constants = detail::pack_constants<T>;
    P const below = select(x > P(constants::over), P(constants::over), x);
    detail::reduced<T, N> const y(select(below < P(constants::under), P(constants::under), below));
    // (e^r - 1)·2^n + (2^n - 1), in units of 2^n; the last digit of 1 - 2^-n is 2^-60 or larger.
    P const capped = select(y.n > P(T(60)), P(T(60)), y.n);
    P const n = select(capped < P(T(-60)), P(T(-60)), capped);
    P const unit = detail::power_of_two(P(constants::rounder) - n);
    P const inside = (y.exp_m1 + (P(T(1)) - unit)) * y.first * y.second;
    P const at_least = select(x < P(constants::minus_one), P(T(-1)), inside);
    return select(abs(x) <= P(T(0)), x, at_least);
}

namespace detail {

/// log x for a positive, finite, normal x: no other value is looked at.
template <class T, ::std::size_t N>
pack<T, N> log_of_normal(pack<T, N> const& x) {
    using P = pack<T, N>;
    using constants = pack_constants<T>;
    using bits = typename mask<T, N>::vector;
    using words = typename vector_of<word_of<T>, N>::type;
    using vector = typename P::vector;
    // x = 2^k·m with √½ <= m < √2: moving the origin of the bits to √½ makes the exponent k.
    bits const moved = ::std::bit_cast<bits>(x.v) + (constants::one - constants::half_root_bits);
    bits const m = (moved & constants::mantissa_bits) + constants::half_root_bits;
    words const biased = ::std::bit_cast<words>(moved) >> constants::mantissa;  // k + bias
    // The integer as low bits of a number of the size of the rounder, which is then taken away.
    P const rounder(T(2) * constants::rounder / T(3));
    words const joined = biased | ::std::bit_cast<words>(rounder.v);
    P const bias(T(constants::one >> constants::mantissa));
    P const k = P(::std::bit_cast<vector>(joined)) - (rounder + bias);

    P const f = P(::std::bit_cast<vector>(m)) - P(T(1));
    P const s = f / (P(T(2)) + f);
    P const t = s * s;
    P const square = P(T(0.5)) * f * f;
    P const tail = s * (square + t * constants::log_tail(t));
    return k * P(constants::log2_high) + (f - (square - (tail + k * P(constants::log2_low))));
}

}  // namespace detail

template <class T, ::std::size_t N>
pack<T, N> log(pack<T, N> const& x) {
    using P = pack<T, N>;
    using constants = detail::pack_constants<T>;
    mask<T, N> const tiny = x < P(::std::numeric_limits<T>::min());
    P const scaled = select(tiny, x * P(constants::subnormal_scale), x);
    P const shift = select(tiny, P(constants::subnormal_shift), P(T(0)));
    P const finite = detail::log_of_normal(scaled) - shift * P(T(0.693147180559945309417L));
    P const positive = select(x <= P(largest<T>), finite, x);  // +inf and NaN are themselves
    P const none = select(x < P(T(0)), P(quiet_nan<T>), P(-infinity<T>));
    return select(x <= P(T(0)), none, positive);
}

/// e^x for x <= 0; 0 from where the result is no normal number.
template <class T, ::std::size_t N>
pack<T, N> exp_below_zero(pack<T, N> const& x) {
    using P = pack<T, N>;
    using constants = detail::pack_constants<T>;
    P const rounder(constants::rounder);
    P const inside = select(x < P(constants::flushed), P(constants::flushed), x);  // NaN stays
    P const shifted = inside * P(T(1.44269504088896340736L)) + rounder;
    P const n = shifted - rounder;
    P const r = (inside - n * P(constants::log2_high)) - n * P(constants::log2_low);
    return (constants::exp_tail(r) * (r * r) + r + P(T(1))) * detail::power_of_two(shifted);
}

/// log(1 + x) for 0 <= x <= 1. In float by x + x²·Q(x), without a division; the coefficients of Q
/// are taken in twos, each two small where the last digit counts.
template <class T, ::std::size_t N>
pack<T, N> log1p_of_fraction(pack<T, N> const& x) {
    using P = pack<T, N>;
    if constexpr (sizeof(T) == 4) {
        P const least(0x1p-50F);  // below, the result is x; squares of smaller ones are slow
        P const c = select(x < least, least, x);
        P const t = c * c;
        P const high = P(-0x1.af49cep-9F) * t + (P(0x1.4917cep-6F) * c + P(-0x1.d6b08cp-5F));
        P const middle = high * t + (P(0x1.b4ae08p-4F) * c + P(-0x1.3a435ep-3F));
        P const low = middle * t + (P(0x1.934b54p-3F) * c + P(-0x1.ff23e6p-3F));
        P const all = low * t + (P(0x1.554dd0p-2F) * c + P(-0x1.ffffd2p-2F));
        return all * c * x + x;
    }
    P const u = P(T(1)) + x;
    return detail::log_of_normal(u) + (x - (u - P(T(1)))) * (P(T(1)) / u);
}

/// log(1 + x) by log u, u = 1 + x as rounded, with the rounding put back.
template <class T, ::std::size_t N>
pack<T, N> log1p(pack<T, N> const& x) {
    using P = pack<T, N>;
    P const u = P(T(1)) + x;
    P const lost = (x - (u - P(T(1)))) / u;
    P const inside = select(abs(x) <= P(T(0)), x, detail::log_of_normal(u) + lost);
    P const positive = select(x <= P(largest<T>), inside, x);
    P const none = select(x < P(T(-1)), P(quiet_nan<T>), P(-infinity<T>));
    return select(x <= P(T(-1)), none, positive);
}

/// log(1 - e^x) for x <= 0, with one logarithm for both branches; see log1mexp.hpp.
template <class T, ::std::size_t N>
pack<T, N> log1mexp(pack<T, N> const& x) {
    using P = pack<T, N>;
    auto const small = x > P(T(-0.693147180559945309417L));  // is 1 - e^x
    P const e = exp(x);
    P const u = select(small, -expm1(x), P(T(1)) - e);
    P const lost = select(small, P(T(0)), ((P(T(1)) - u) - e) / u);
    P const inside = log(u) + lost;
    P const below = select(x < P(T(0)), inside, P(-infinity<T>));
    return select(x <= P(T(0)), below, P(quiet_nan<T>));
}

/// The comparison of two packs.
template <class T, ::std::size_t N>
struct masks {
    mask<T, N> first;
    mask<T, N> second;

    friend masks operator&&(masks const& a, masks const& b) {
        return {a.first && b.first, a.second && b.second};
    }
    friend masks operator||(masks const& a, masks const& b) {
        return {a.first || b.first, a.second || b.second};
    }
    masks operator!() const { return {!first, !second}; }

    template <class Any = void>
    explicit operator bool() const {
        return static_cast<bool>(mask<T, N>{});  // does not compile, and says why
    }
};

/// Two packs as one scalar, so that a processor has two chains of dependent operations to work on
/// at a time: a formula is one long chain, and a register alone would wait for each of its links.
template <class T, ::std::size_t N>
struct packs {
    using part = pack<T, N>;

    part first;
    part second;

    packs() = default;
    packs(part const& a, part const& b) : first(a), second(b) {}

    /// The same number in every lane.
    template <class U>
        requires ::std::is_arithmetic_v<U>
    packs(U x) : first(x), second(x) {}

    T operator[](::std::size_t lane) const { return lane < N ? first[lane] : second[lane - N]; }

    packs operator-() const { return {-first, -second}; }
    friend packs operator+(packs const& a, packs const& b) {
        return {a.first + b.first, a.second + b.second};
    }
    friend packs operator-(packs const& a, packs const& b) {
        return {a.first - b.first, a.second - b.second};
    }
    friend packs operator*(packs const& a, packs const& b) {
        return {a.first * b.first, a.second * b.second};
    }
    friend packs operator/(packs const& a, packs const& b) {
        return {a.first / b.first, a.second / b.second};
    }
    packs& operator+=(packs const& b) { return *this = *this + b; }
    packs& operator-=(packs const& b) { return *this = *this - b; }
    packs& operator*=(packs const& b) { return *this = *this * b; }
    packs& operator/=(packs const& b) { return *this = *this / b; }

    friend masks<T, N> operator<(packs const& a, packs const& b) {
        return {a.first < b.first, a.second < b.second};
    }
    friend masks<T, N> operator>(packs const& a, packs const& b) {
        return {a.first > b.first, a.second > b.second};
    }
    friend masks<T, N> operator<=(packs const& a, packs const& b) {
        return {a.first <= b.first, a.second <= b.second};
    }
    friend masks<T, N> operator>=(packs const& a, packs const& b) {
        return {a.first >= b.first, a.second >= b.second};
    }
};

template <class T, ::std::size_t N>
inline constexpr bool is_pack<packs<T, N>> = true;

template <class T, ::std::size_t N>
struct lane<packs<T, N>> {
    using type = T;
};

/// What batch loops evaluate formulas on.
template <::std::floating_point T>
using lanes_t = packs<T, detail::register_bytes / sizeof(T)>;

template <class T, ::std::size_t N>
bool any_of(masks<T, N> const& m) {
    return any_of(m.first || m.second);
}

template <class T, ::std::size_t N>
bool all_of(masks<T, N> const& m) {
    return all_of(m.first && m.second);
}

template <class T, ::std::size_t N>
auto minus_held(masks<T, N> const& m) {
    return minus_held(m.first) + minus_held(m.second);
}

template <class T, ::std::size_t N>
auto as_double(packs<T, N> const& x, ::std::size_t k) {
    return as_double(x.first, k) + as_double(x.second, k);
}

template <class T, ::std::size_t N>
packs<T, N> select(masks<T, N> const& m, packs<T, N> const& a, packs<T, N> const& b) {
    return {select(m.first, a.first, b.first), select(m.second, a.second, b.second)};
}

template <class T, ::std::size_t N>
masks<T, N> is_nan(packs<T, N> const& x) {
    return {is_nan(x.first), is_nan(x.second)};
}

template <class T, ::std::size_t N>
masks<T, N> is_finite(packs<T, N> const& x) {
    return {is_finite(x.first), is_finite(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> max(packs<T, N> const& a, packs<T, N> const& b) {
    return {max(a.first, b.first), max(a.second, b.second)};
}

template <class T, ::std::size_t N>
packs<T, N> min(packs<T, N> const& a, packs<T, N> const& b) {
    return {min(a.first, b.first), min(a.second, b.second)};
}

template <class T, ::std::size_t N>
packs<T, N> abs(packs<T, N> const& x) {
    return {abs(x.first), abs(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> detach(packs<T, N> const& x) {
    return {detach(x.first), detach(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> sqrt(packs<T, N> const& x) {
    return {sqrt(x.first), sqrt(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> exp(packs<T, N> const& x) {
    return {exp(x.first), exp(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> expm1(packs<T, N> const& x) {
    return {expm1(x.first), expm1(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> exp_below_zero(packs<T, N> const& x) {
    return {exp_below_zero(x.first), exp_below_zero(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> log(packs<T, N> const& x) {
    return {log(x.first), log(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> log1p(packs<T, N> const& x) {
    return {log1p(x.first), log1p(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> log1p_of_fraction(packs<T, N> const& x) {
    return {log1p_of_fraction(x.first), log1p_of_fraction(x.second)};
}

template <class T, ::std::size_t N>
packs<T, N> log1mexp(packs<T, N> const& x) {
    return {log1mexp(x.first), log1mexp(x.second)};
}

#else

template <::std::floating_point T>
using register_t = T;

template <::std::floating_point T>
using lanes_t = T;

#endif

}  // namespace prefer::math
