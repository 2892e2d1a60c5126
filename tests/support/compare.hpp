// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Comparison of numbers in tests. The tolerance belongs to the family of the operation and to the
/// type under test; it stands in one table and is never a literal in a test.
///
///     CHECK_CLOSE(actual, expected, family::gradient);       // scalars, or two ranges
///     CHECK_SAME(actual, expected);                          // equal; NaN equals NaN
///     CHECK_SAME_BITS(actual, expected);                     // the same bits
///     CHECK_DISTINGUISHES(expected, wrong, family::gradient) // at least 100 tolerances apart
///
/// `close` holds when |actual - expected| <= max(absolute, relative * |expected|). NaN is close to
/// nothing; an infinity is close to itself only. Ranges must have equal lengths, and two empty
/// ranges compare as a failure unless `allow_empty` is passed last.
///
/// An expected value has at least the precision of the value under test: double or long double for
/// float. An integer, or a value passed through `exactly`, is exact as it stands.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <ios>
#include <iterator>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace prefer::test {

/// Kinds of operation, by how their errors arise.
enum class family : std::uint8_t {
    exact,              ///< Nothing is rounded: copies, selections, indices.
    elementwise,        ///< One scalar function: a few units in the last place.
    reduction,          ///< A sum over many terms, accumulated wider than its input.
    log_prob,           ///< A log-softmax of a row of logits.
    gradient,           ///< A derivative computed analytically or by dual numbers.
    product,            ///< An element of a product of matrices: terms of order one may cancel.
    pair_loss,          ///< A loss of one pair or its gradient, where no large terms cancel.
    finite_difference,  ///< A derivative compared with one from finite_difference.hpp.
    statistical,        ///< A frequency out of at least 62,500 draws: five standard errors.
    quoted,             ///< An expected value that is known to 8 or 9 digits.
};

struct tolerance {
    double relative;
    double absolute;
};

namespace detail {

struct tolerance_row {
    tolerance in_bfloat16;
    tolerance in_half;
    tolerance in_float;
    tolerance in_double;
};

// The table. A pair is {relative, absolute}; the absolute part covers results that cancel to
// about zero from terms of order one. The two 16-bit columns are for results stored in that type
// after a wider computation: one rounding is 2^-9 or 2^-12 of the value.
constexpr tolerance_row row_of(family f) {
    switch (f) {
        case family::exact: return {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
        case family::elementwise:
            return {{0x1p-8, 0}, {0x1p-11, 0x1p-25}, {0x1p-21, 0x1p-149}, {0x1p-50, 0x1p-1074}};
        case family::reduction:
            return {{0x1p-8, 1e-6}, {0x1p-11, 0x1p-25}, {1e-6, 1e-7}, {1e-13, 1e-15}};
        case family::log_prob:
            return {{0x1p-8, 1e-5}, {0x1p-11, 1e-5}, {5e-6, 2e-6}, {1e-12, 1e-13}};
        case family::gradient:
            return {{0x1p-8, 1e-6}, {0x1p-11, 1e-6}, {2e-5, 1e-7}, {1e-12, 1e-14}};
        case family::product:
            return {{0x1p-8, 1e-5}, {0x1p-11, 1e-5}, {2e-5, 4e-6}, {1e-12, 1e-13}};
        case family::pair_loss:
            return {{0x1p-8, 0}, {0x1p-11, 0x1p-25}, {2e-5, 0x1p-149}, {1e-12, 0x1p-1074}};
        case family::finite_difference:
            return {{2e-2, 1e-2}, {5e-3, 5e-3}, {1e-3, 1e-4}, {1e-8, 1e-10}};
        case family::statistical: return {{0, 1e-2}, {0, 1e-2}, {0, 1e-2}, {0, 1e-2}};
        case family::quoted: return {{0x1p-8, 1e-6}, {0x1p-11, 1e-6}, {1e-6, 1e-9}, {1e-8, 1e-12}};
    }
    return {};  // not reached: the switch is complete
}

template <class T>
inline constexpr int digits_of = std::numeric_limits<std::remove_cvref_t<T>>::digits;

template <class T>
concept known_precision =
    digits_of<T> == 8 || digits_of<T> == 11 || digits_of<T> == 24 || digits_of<T> == 53;

}  // namespace detail

/// The tolerance for results of type `T`, which is told by its number of mantissa bits: double,
/// float, or a 16-bit type that specialises std::numeric_limits.
template <class T>
constexpr tolerance tolerance_of(family f) {
    static_assert(detail::known_precision<T>, "no column of the tolerance table is for this type");
    if constexpr (detail::digits_of<T> == 53) {
        return detail::row_of(f).in_double;
    } else if constexpr (detail::digits_of<T> == 24) {
        return detail::row_of(f).in_float;
    } else if constexpr (detail::digits_of<T> == 11) {
        return detail::row_of(f).in_half;
    } else {
        return detail::row_of(f).in_bfloat16;
    }
}

/// An expected value that is exact as it stands, whatever its type.
struct exact_value {
    long double value;
};

/// States that `value` carries no rounding error: `exactly(0.5f)`.
template <class T>
    requires std::is_arithmetic_v<T>
constexpr exact_value exactly(T value) {
    return {static_cast<long double>(value)};
}

/// Passed last: two empty ranges are equal.
struct allow_empty_t {};
inline constexpr allow_empty_t allow_empty{};

/// The outcome of a comparison, with the reason in words.
class [[nodiscard]] comparison {
public:
    comparison(bool passed, std::string message) : passed_{passed}, message_{std::move(message)} {}

    explicit operator bool() const { return passed_; }
    [[nodiscard]] std::string const& message() const { return message_; }

    friend std::ostream& operator<<(std::ostream& out, comparison const& result) {
        return out << result.message_;
    }

private:
    bool passed_;
    std::string message_;
};

/// Number of representable values between `a` and `b`: 0 when equal (+0 equals -0), the largest
/// number when either is NaN.
template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
[[nodiscard]] std::uint64_t ulp_distance(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    using bits = std::conditional_t<std::same_as<T, float>, std::uint32_t, std::uint64_t>;
    // Maps the values, in order, to consecutive numbers around the middle of the range.
    auto const rank = [](T x) {
        constexpr bits sign = bits{1} << (std::numeric_limits<bits>::digits - 1);
        bits const pattern = std::bit_cast<bits>(x);
        bits const magnitude = pattern & ~sign;
        return std::uint64_t{(pattern & sign) != 0 ? sign - magnitude : sign + magnitude};
    };
    std::uint64_t const first = rank(a);
    std::uint64_t const second = rank(b);
    return first < second ? second - first : first - second;
}

namespace detail {

template <class T>
concept scalar = std::is_arithmetic_v<std::remove_cvref_t<T>> ||
                 std::same_as<std::remove_cvref_t<T>, exact_value> || (requires(T const& x) {
                     static_cast<float>(x);
                 } && std::numeric_limits<std::remove_cvref_t<T>>::is_specialized);

// std::size and an index: containers, arrays, spans, Eigen and xtensor vectors, and our views.
template <class T>
concept range = !scalar<T> && requires(T const& x) {
    std::size(x);
    x[std::size(x)];
};

template <range T>
std::size_t length(T const& x) {
    return static_cast<std::size_t>(std::size(x));
}

template <range T>
decltype(auto) at(T const& x, std::size_t i) {
    return x[static_cast<std::remove_cvref_t<decltype(std::size(x))>>(i)];
}

template <class T>
long double widen(T const& x) {
    if constexpr (std::same_as<T, exact_value>) {
        return x.value;
    } else if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<long double>(x);
    } else {
        return static_cast<long double>(static_cast<float>(x));
    }
}

template <class Expected>
inline constexpr bool is_exact =
    std::same_as<Expected, exact_value> || std::is_integral_v<Expected>;

// Decimal and hexadecimal, with enough digits to read the value back.
template <class T>
std::string describe(T const& x) {
    std::ostringstream out;
    if constexpr (std::is_integral_v<T>) {
        out << +x;
    } else if constexpr (std::is_floating_point_v<T>) {
        out << std::setprecision(std::numeric_limits<T>::max_digits10) << x << " (" << std::hexfloat
            << x << ')';
    } else {
        auto const wide = static_cast<double>(widen(x));
        out << std::setprecision(17) << wide << " (" << std::hexfloat << wide << ')';
    }
    return out.str();
}

inline long double allowed(long double expected, tolerance t) {
    long double const relative = static_cast<long double>(t.relative) * std::fabs(expected);
    long double const absolute = static_cast<long double>(t.absolute);
    return relative < absolute ? absolute : relative;
}

template <class Actual, class Expected>
comparison close_scalars(Actual const& actual, Expected const& expected, family f) {
    static_assert(known_precision<Actual>, "the value under test must be of floating-point type");
    static_assert(is_exact<Expected> || digits_of<Expected> >= digits_of<Actual>,
                  "the expected value has less precision than the value under test; "
                  "compute it wider, or say exactly(value)");
    long double const a = widen(actual);
    long double const e = widen(expected);
    tolerance const t = tolerance_of<Actual>(f);
    long double const limit = allowed(e, t);
    bool passed = false;
    if (std::isinf(a) || std::isinf(e)) {
        passed = a == e;
    } else {
        passed = std::fabs(a - e) <= limit;  // false when either is NaN
    }

    std::ostringstream out;
    out << describe(actual) << (passed ? " is close to " : " is not close to ")
        << describe(expected) << ": off by " << std::setprecision(6) << std::fabs(a - e)
        << ", allowed " << limit;
    if constexpr (std::same_as<Actual, float> || std::same_as<Actual, double>) {
        if (std::isfinite(a) && std::isfinite(e)) {
            out << ", " << ulp_distance(actual, static_cast<Actual>(e)) << " ulp";
        }
    }
    return {passed, out.str()};
}

template <class Actual, class Expected>
comparison same_scalars(Actual const& actual, Expected const& expected) {
    long double const a = widen(actual);
    long double const e = widen(expected);
    bool const passed = (std::isnan(a) && std::isnan(e)) || a == e;
    return {passed, describe(actual) + (passed ? " is the same as " : " differs from ") +
                        describe(expected)};
}

template <class Value>
comparison same_bits_scalars(Value const& actual, Value const& expected) {
    static_assert(std::has_unique_object_representations_v<Value> || std::same_as<Value, float> ||
                      std::same_as<Value, double> || sizeof(Value) == 2,
                  "this type has bits that are not part of its value");
    using bits = std::conditional_t<
        sizeof(Value) == 1, std::uint8_t,
        std::conditional_t<sizeof(Value) == 2, std::uint16_t,
                           std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>>>;
    bool const passed = std::bit_cast<bits>(actual) == std::bit_cast<bits>(expected);
    return {passed, describe(actual) + (passed ? " has the bits of " : " has other bits than ") +
                        describe(expected)};
}

// Applies a scalar comparison to each element; reports the number of failures and the first.
template <class Actual, class Expected, class Compare>
comparison each(Actual const& actual, Expected const& expected, bool empty_passes,
                Compare compare) {
    std::size_t const n = length(actual);
    if (n != length(expected)) {
        return {false, "lengths differ: " + std::to_string(n) + " and " +
                           std::to_string(length(expected))};
    }
    if (n == 0) {
        return {empty_passes, empty_passes ? "both are empty, as allowed"
                                           : "both are empty, so nothing was compared"};
    }
    std::size_t failures = 0;
    std::string first;
    for (std::size_t i = 0; i < n; ++i) {
        comparison const result = compare(at(actual, i), at(expected, i));
        if (!result) {
            if (failures == 0) {
                first = "element " + std::to_string(i) + ": " + result.message();
            }
            ++failures;
        }
    }
    if (failures == 0) {
        return {true, "all " + std::to_string(n) + " elements agree"};
    }
    return {false,
            std::to_string(failures) + " of " + std::to_string(n) + " elements differ; " + first};
}

}  // namespace detail

/// Whether `actual` is within the tolerance of its type for this family of `expected`.
template <detail::scalar Actual, detail::scalar Expected>
comparison close(Actual const& actual, Expected const& expected, family f) {
    return detail::close_scalars(actual, expected, f);
}

/// The same, element by element.
template <detail::range Actual, detail::range Expected>
comparison close(Actual const& actual, Expected const& expected, family f) {
    return detail::each(actual, expected, false, [f](auto const& a, auto const& e) {
        return detail::close_scalars(a, e, f);
    });
}

template <detail::range Actual, detail::range Expected>
comparison close(Actual const& actual, Expected const& expected, family f, allow_empty_t) {
    return detail::each(actual, expected, true, [f](auto const& a, auto const& e) {
        return detail::close_scalars(a, e, f);
    });
}

/// Whether the values are equal, where NaN equals NaN and +0 equals -0.
template <detail::scalar Actual, detail::scalar Expected>
comparison same(Actual const& actual, Expected const& expected) {
    return detail::same_scalars(actual, expected);
}

template <detail::range Actual, detail::range Expected>
comparison same(Actual const& actual, Expected const& expected) {
    return detail::each(actual, expected, false,
                        [](auto const& a, auto const& e) { return detail::same_scalars(a, e); });
}

template <detail::range Actual, detail::range Expected>
comparison same(Actual const& actual, Expected const& expected, allow_empty_t) {
    return detail::each(actual, expected, true,
                        [](auto const& a, auto const& e) { return detail::same_scalars(a, e); });
}

/// Whether the values, of one type, have the same bits: +0 differs from -0, and a NaN is the same
/// as itself only.
template <detail::scalar Value>
comparison same_bits(Value const& actual, Value const& expected) {
    return detail::same_bits_scalars(actual, expected);
}

template <detail::range Actual, detail::range Expected>
comparison same_bits(Actual const& actual, Expected const& expected) {
    return detail::each(actual, expected, false, [](auto const& a, auto const& e) {
        return detail::same_bits_scalars(a, e);
    });
}

/// Whether a known wrong value is at least 100 tolerances away from the expected one, so that a
/// test with that tolerance, on results of type `T`, is certain to see the mistake.
template <class T, detail::scalar Expected, detail::scalar Wrong>
comparison far_from(Expected const& expected_value, Wrong const& wrong_value, family f) {
    long double const expected = detail::widen(expected_value);
    long double const wrong = detail::widen(wrong_value);
    long double const limit = 100 * detail::allowed(expected, tolerance_of<T>(f));
    bool passed = false;
    if (std::isnan(expected) || std::isnan(wrong)) {
        passed = std::isnan(expected) != std::isnan(wrong);
    } else if (std::isinf(expected) || std::isinf(wrong)) {
        passed = expected != wrong;
    } else {
        passed = expected != wrong && std::fabs(expected - wrong) >= limit;
    }
    std::ostringstream out;
    out << std::setprecision(17) << "expected " << expected << ", wrong " << wrong << ": "
        << std::setprecision(6) << std::fabs(expected - wrong) << " apart, needed " << limit;
    return {passed, out.str()};
}

}  // namespace prefer::test

#define CHECK_CLOSE(...) CHECK(::prefer::test::close(__VA_ARGS__))
#define REQUIRE_CLOSE(...) REQUIRE(::prefer::test::close(__VA_ARGS__))

#define CHECK_SAME(...) CHECK(::prefer::test::same(__VA_ARGS__))
#define REQUIRE_SAME(...) REQUIRE(::prefer::test::same(__VA_ARGS__))

#define CHECK_SAME_BITS(...) CHECK(::prefer::test::same_bits(__VA_ARGS__))
#define REQUIRE_SAME_BITS(...) REQUIRE(::prefer::test::same_bits(__VA_ARGS__))

/// For results in double; CHECK_DISTINGUISHES_IN(float, …) for another type.
#define CHECK_DISTINGUISHES(...) CHECK(::prefer::test::far_from<double>(__VA_ARGS__))
#define CHECK_DISTINGUISHES_IN(type, ...) CHECK(::prefer::test::far_from<type>(__VA_ARGS__))
