// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include <Eigen/Core>

namespace prefer::detail {

/// The constants of `eigen_exp_of`, and P(r) close to (e^r - 1 - r) / r^2 for |r| <= log(2) / 2.
template <class C>
struct eigen_exp_constants;

template <>
struct eigen_exp_constants<float> {
    using bits = ::std::uint32_t;
    static constexpr int mantissa = 23;
    static constexpr bits one = 0x3f800000U;
    static constexpr float rounder = 0x1.8p23F;      // x + rounder is rounded to an integer
    static constexpr float smallest = -88.0296919F;  // log of 2^-127
    static constexpr float log2_high = 0.693359375F;
    static constexpr float log2_low = -2.12194440e-4F;

    static constexpr float p(float r) {
        float const high = (1.39261836e-3F * r + 8.36317905e-3F) * r + 4.16665546e-2F;
        return (high * r + 0.16666577F) * r + 0.5F;
    }
};

template <>
struct eigen_exp_constants<double> {
    using bits = ::std::uint64_t;
    static constexpr int mantissa = 52;
    static constexpr bits one = 0x3ff0000000000000U;
    static constexpr double rounder = 0x1.8p52;
    static constexpr double smallest = -709.08956571282408;  // log of 2^-1023
    static constexpr double log2_high = 0.693145751953125;
    static constexpr double log2_low = 1.42860682030941723212e-6;

    static constexpr double p(double r) {
        double const high = (0x1.af38a9b0ec855p-26 * r + 0x1.289185613a3d6p-22) * r;
        double const middle = ((high + 0x1.71de0dae63bb3p-19) * r + 0x1.a019b90d2ae7ap-16) * r;
        double const low = ((middle + 0x1.a01a01a7c41d5p-13) * r + 0x1.6c16c1788bd90p-10) * r;
        double const lower = ((low + 0x1.11111111109b3p-7) * r + 0x1.5555555553d63p-5) * r;
        return (lower + 0x1.5555555555556p-3) * r + 0.5;
    }
};

/// e^x for smallest <= x <= 0, within 2 ULP; exactly 1 at 0, and exactly 0 at `smallest`. Results
/// below the smallest normal number by more than a factor of sqrt(2) are 0. There is no branch and
/// no call, so a compiler turns a loop over it into vector instructions, with the bits of one at a
/// time.
template <class C>
constexpr C eigen_exp_of(C x) {
    using constants = eigen_exp_constants<C>;
    using bits = typename constants::bits;
    C const shifted = x * C(1.44269504088896340736) + constants::rounder;
    C const n = shifted - constants::rounder;
    C const r = (x - n * constants::log2_high) - n * constants::log2_low;
    C const mantissa = (constants::p(r) * (r * r) + r) + C(1);
    // The low bits of `shifted` are n: moved into the exponent they are 2^n, and 0 for the
    // smallest.
    bits const power = (::std::bit_cast<bits>(shifted) << constants::mantissa) + constants::one;
    return mantissa * ::std::bit_cast<C>(power);
}

/// Rows are taken in blocks of so many columns: small enough for the first-level cache.
inline constexpr Eigen::Index eigen_block = 1024;

template <class C>
using eigen_buffer = Eigen::Array<C, static_cast<int>(eigen_block), 1>;

template <class C>
using eigen_map = Eigen::Map<Eigen::Array<C, Eigen::Dynamic, 1> const>;

/// The head of `out` becomes e^(x - shift), where x is at most `shift`; 0 where it is -inf. `x` may
/// lie in `out`. (Eigen 3.4 has an exp of its own, which takes two to three times as long and never
/// returns 0.)
template <class C>
void eigen_exp(eigen_map<C> const& x, C shift, eigen_buffer<C>& out) {
    constexpr Eigen::Index lanes = 16;  // a trip count that every compiler vectorises
    Eigen::Index const n = x.size();
    Eigen::Index const padded = (n + lanes - 1) / lanes * lanes;
    out.head(n) = (x - shift).max(eigen_exp_constants<C>::smallest);
    out.segment(n, padded - n).setZero();
    for (Eigen::Index k = 0; k < padded; k += lanes) {
        C* const e = out.data() + k;
        for (Eigen::Index j = 0; j < lanes; ++j) e[j] = eigen_exp_of(e[j]);
    }
}

}  // namespace prefer::detail
