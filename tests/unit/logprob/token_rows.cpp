// SPDX-License-Identifier: MIT
// The work on pieces of rows, and the packs it is done in.
#include <prefer/logprob/token_rows.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::bfloat16;
using prefer::half;
using prefer::vector_view;
using prefer::detail::logit_map;
using prefer::detail::row_sums;
using prefer::test::family;

template <class T>
row_sums<T> sums_of(std::vector<T> const& row, std::size_t first, std::size_t n) {
    return prefer::detail::sum_row<true, T, T>(vector_view(row.data() + first, n), {},
                                               logit_map<T>());
}

/// Of weights 1, 2, 3, … the sums are those of whole numbers.
template <class T>
void check_linear(row_sums<T> const& s, std::size_t n, bool exact_top = true) {
    double const m = static_cast<double>(n);
    double const top = std::log(m);
    if (exact_top) CHECK_CLOSE(s.shift, top, family::log_prob);
    CHECK_CLOSE(static_cast<T>(std::log(s.sum) + static_cast<double>(s.shift)),
                std::log(m * (m + 1) / 2), family::log_prob);
    CHECK_CLOSE(static_cast<T>(std::log(s.squares) + 2 * static_cast<double>(s.shift)),
                std::log(m * (m + 1) * (2 * m + 1) / 6), family::log_prob);
    CHECK_CLOSE(static_cast<T>(s.total), std::lgamma(m + 1), family::log_prob);
    double moment = 0;
    for (std::size_t k = 1; k <= n; ++k) {
        double const x = static_cast<double>(k);
        moment += x * std::log(x / m);
    }
    CHECK_CLOSE(static_cast<T>(s.moment), moment / m, family::log_prob);
}

TEMPLATE_TEST_CASE("the sums of pieces, joined, are the sums of the row", "", float, double) {
    std::vector<TestType> row(4100);
    for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = static_cast<TestType>(std::log(static_cast<double>(j + 1)));
    }
    for (std::size_t n = 1; n <= 70; ++n) {
        for (std::size_t cut = 0; cut <= n; ++cut) {
            CAPTURE(n, cut);
            row_sums<TestType> left = sums_of(row, 0, cut);
            row_sums<TestType> const right = sums_of(row, cut, n - cut);
            row_sums<TestType> other = right;
            other.merge(left);
            left.merge(right);
            check_linear(left, n);
            check_linear(other, n);
        }
    }
    for (std::size_t const n : {2047U, 2048U, 2049U, 4095U, 4096U, 4097U}) {
        check_linear(sums_of(row, 0, n), n);
        row_sums<TestType> all = sums_of(row, 0, 1000);
        all.merge(sums_of(row, 1000, n - 1000));
        check_linear(all, n);
    }
}

TEST_CASE("pieces of nothing but -inf, and pieces with NaN, join as rows do") {
    float const inf = std::numeric_limits<float>::infinity();
    float const nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const row{-inf, -inf, 0, 0, nan, inf};
    row_sums<float> nothing = sums_of(row, 0, 2);
    CHECK_FALSE(nothing.proper());
    nothing.merge(sums_of(row, 2, 2));
    CHECK(nothing.proper());
    CHECK_CLOSE(nothing.log_prob(0.0F), -0.69314718055994531, family::log_prob);
    CHECK_SAME(nothing.total, -static_cast<double>(inf));
    CHECK_CLOSE(nothing.entropy(), 0.69314718055994531, family::log_prob);
    for (std::size_t const bad : {4U, 5U}) {
        for (std::size_t const first : {0U, 2U}) {
            row_sums<float> a = sums_of(row, first, 2);
            row_sums<float> b = sums_of(row, bad, 1);
            CHECK_FALSE(b.proper());
            b.merge(a);
            a.merge(sums_of(row, bad, 1));
            CHECK_FALSE(a.proper());
            CHECK_FALSE(b.proper());
        }
    }
}

TEST_CASE("a NaN is seen wherever it stands, and whatever stands before it") {
    float const inf = std::numeric_limits<float>::infinity();
    for (std::size_t const n : {1U, 31U, 32U, 33U, 64U, 2048U, 2049U, 5000U}) {
        for (float const others : {-inf, -1e30F, 0.0F, 3e5F}) {
            for (std::size_t const place : {std::size_t{0}, n / 2, n - 1}) {
                CAPTURE(n, others, place);
                std::vector<float> row(n, others);
                row[place] = std::numeric_limits<float>::quiet_NaN();
                CHECK_FALSE(sums_of(row, 0, n).proper());
            }
        }
    }
}

/// All values of a 16-bit type, through a load and a store of packs.
template <class T>
void check_every_pattern() {
    using P = prefer::detail::row_pack<float>;
    constexpr std::size_t lanes = prefer::detail::lanes_in<P>;
    std::vector<T> all(65536);
    for (std::size_t k = 0; k < all.size(); ++k) all[k].bits = static_cast<std::uint16_t>(k);
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < all.size(); k += lanes) {
        std::array<float, lanes> numbers{};
        prefer::detail::store_pack(prefer::detail::load_in_order<P>(all.data() + k),
                                   numbers.data());
        std::array<T, lanes> back{};
        prefer::detail::store_pack(prefer::detail::load_pack<P>(all.data() + k), back.data());
        for (std::size_t i = 0; i < lanes; ++i) {
            float const expected = static_cast<float>(all[k + i]);
            bool const same = prefer::test::same(numbers[i], expected) &&
                              std::signbit(numbers[i]) == std::signbit(expected);
            wrong += same ? 0U : 1U;
            wrong += back[i].bits == T(expected).bits ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("packs load and store every bfloat16 and every half as single conversions do") {
    check_every_pattern<bfloat16>();
    check_every_pattern<half>();
}

/// Floats at and beside every boundary of the rounding, and many others.
template <class T>
void check_rounding() {
    using P = prefer::detail::row_pack<float>;
    constexpr std::size_t lanes = prefer::detail::lanes_in<P>;
    std::uint32_t bits = 0;
    std::size_t wrong = 0;
    for (std::size_t step = 0; step < 40000; ++step) {
        std::array<float, lanes> numbers{};
        for (float& x : numbers) {
            bits += 0x2fe1U;
            std::uint32_t const edge = (bits & 0xffff0000U) | (bits % 3 == 0 ? 0x8000U : bits % 3);
            x = std::bit_cast<float>(step % 2 == 0 ? bits : edge);
        }
        // In the order in which `load_pack` would have given the elements.
        std::array<T, lanes> elements{};
        P lanes_of_numbers;
        if constexpr (lanes == 1) {
            lanes_of_numbers = P(numbers[0]);
        } else {
            std::array<float, lanes> placed{};
            for (std::size_t i = 0; i < lanes; ++i) {
                placed[i % 2 * (lanes / 2) + i / 2] = numbers[i];
            }
            lanes_of_numbers = prefer::detail::load_pack<P>(placed.data());
        }
        prefer::detail::store_pack(lanes_of_numbers, elements.data());
        for (std::size_t i = 0; i < lanes; ++i) {
            wrong += elements[i].bits == T(numbers[i]).bits ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("packs round to bfloat16 and half as single conversions do") {
    check_rounding<bfloat16>();
    check_rounding<half>();
}

TEST_CASE("the weights of a row are exponentials, exactly 0 where there is none") {
    using P = prefer::detail::row_pack<float>;
    using weights_type = prefer::detail::row_weights<P>;
    constexpr std::size_t lanes = prefer::detail::lanes_in<P>;
    for (float const top : {0.0F, 3.7F, -250.3F, 1e4F, -2e5F}) {
        weights_type const weights(top);
        double worst = 0;
        double const unit = static_cast<double>(weights.of_top());
        for (float x = 0; x > -80; x -= 0.0173F) {
            std::array<float, lanes> out{};
            float const z = top + x;
            prefer::detail::store_pack(weights(weights.cut(P(z))), out.data());
            double const exact = std::exp(static_cast<double>(z) - static_cast<double>(top));
            double const off = std::abs(static_cast<double>(out[0]) / unit / exact - 1);
            worst = off > worst ? off : worst;
        }
        CAPTURE(top, worst);
#if defined(__FMA__)
        CHECK(worst < 1.5e-6);  // at x = -80: 80 times the error of log2(e) in float, 1.3e-8
#endif
        for (float const none : {-std::numeric_limits<float>::infinity(), top - 1e6F}) {
            std::array<float, lanes> out{};
            prefer::detail::store_pack(weights(weights.cut(P(none))), out.data());
            CHECK_SAME(out[0], 0.0F);
        }
    }
}

TEST_CASE("the pack's tanh") {
    using P = prefer::detail::row_pack<double>;
    constexpr std::size_t lanes = prefer::detail::lanes_in<P>;
    // tanh(0.5), tanh(1e-9), tanh(3), by mpmath
    std::array<std::array<double, 2>, 6> const table{{{0.5, 0.46211715726000975850},
                                                      {1e-9, 1e-9},
                                                      {-3.0, -0.99505475368673045133},
                                                      {30.0, 1.0},
                                                      {-HUGE_VAL, -1.0},
                                                      {0.0, 0.0}}};
    for (auto const& [x, expected] : table) {
        std::array<double, lanes> out{};
        prefer::detail::store_pack(prefer::detail::tanh_of(P(x)), out.data());
        CHECK_CLOSE(out[lanes - 1], expected, family::elementwise);
    }
}

}  // namespace
