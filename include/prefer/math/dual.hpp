// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <prefer/math/elementary.hpp>
#include <prefer/math/log1mexp.hpp>
#include <prefer/math/log_sigmoid.hpp>
#include <prefer/math/log_sum_exp.hpp>
#include <prefer/math/logaddexp.hpp>
#include <prefer/math/logit.hpp>
#include <prefer/math/sigmoid.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer::math {

namespace detail {

/// What `dual<T, N>` takes as a constant: any arithmetic type, and the type below its dual layers.
template <class U, class T>
concept constant_of = ::std::is_arithmetic_v<U> || ::std::same_as<U, primal_t<T>>;

}  // namespace detail

/// A number with its derivatives with respect to `N` chosen variables (forward mode).
///
/// Arithmetic and every function of `math/` follow the chain rule exactly: the value is bit for bit
/// the one that plain `T` gives, and the derivatives carry rounding errors only. `T` is float,
/// double, long double, or a dual number again: `dual<dual<double>>` gives second derivatives.
/// Numbers of a plain arithmetic type are constants. Comparisons look at values only.
/// No allocation; usable on a device.
///
/// ```cpp
/// auto x = prefer::math::dual<double>::variable(0.6);
/// auto y = prefer::math::softplus(-x);  // y.value, y.gradient[0] = -sigmoid(-0.6)
/// ```
template <class T, ::std::size_t N = 1>
struct dual {
    static_assert(N >= 1, "prefer: a dual number has at least one derivative");

    T value{};
    T gradient[N]{};

    dual() = default;

    /// A constant.
    PREFER_HOST_DEVICE constexpr dual(T const& constant) : value(constant) {}

    /// A constant of another arithmetic type; the innermost type decides the precision.
    template <class U>
        requires(::std::is_arithmetic_v<U> && !::std::same_as<U, T>)
    PREFER_HOST_DEVICE constexpr explicit(!::std::integral<U>) dual(U constant)
        : value(static_cast<T>(static_cast<primal_t<T>>(constant))) {}

    /// The same numbers in another precision, which has to be asked for.
    template <class U>
        requires(!::std::same_as<U, T> && ::std::is_arithmetic_v<T> == ::std::is_arithmetic_v<U>)
    PREFER_HOST_DEVICE constexpr explicit dual(dual<U, N> const& other)
        : value(static_cast<T>(other.value)) {
        for (::std::size_t i = 0; i < N; ++i) gradient[i] = static_cast<T>(other.gradient[i]);
    }

    /// The variable number `index`: derivative 1 with respect to itself, 0 to the others.
    PREFER_HOST_DEVICE static constexpr dual variable(T const& at, ::std::size_t index = 0) {
        dual x(at);
        x.gradient[index] = T(1);
        return x;
    }

    PREFER_HOST_DEVICE constexpr dual operator-() const {
        return combine(-value, [&](::std::size_t i) { return -gradient[i]; });
    }

    PREFER_HOST_DEVICE friend constexpr dual operator+(dual const& a, dual const& b) {
        return combine(a.value + b.value,
                       [&](::std::size_t i) { return a.gradient[i] + b.gradient[i]; });
    }
    PREFER_HOST_DEVICE friend constexpr dual operator-(dual const& a, dual const& b) {
        return combine(a.value - b.value,
                       [&](::std::size_t i) { return a.gradient[i] - b.gradient[i]; });
    }
    PREFER_HOST_DEVICE friend constexpr dual operator*(dual const& a, dual const& b) {
        return combine(a.value * b.value, [&](::std::size_t i) {
            return a.gradient[i] * b.value + a.value * b.gradient[i];
        });
    }
    PREFER_HOST_DEVICE friend constexpr dual operator/(dual const& a, dual const& b) {
        T const quotient = a.value / b.value;
        return combine(quotient, [&](::std::size_t i) {
            return (a.gradient[i] - quotient * b.gradient[i]) / b.value;
        });
    }

    // With constants: the derivatives are not multiplied by the constant's zeros.

    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator+(dual const& a, U c) {
        return combine(a.value + constant_of(c), [&](::std::size_t i) { return a.gradient[i]; });
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator+(U c, dual const& a) {
        return a + c;
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator-(dual const& a, U c) {
        return combine(a.value - constant_of(c), [&](::std::size_t i) { return a.gradient[i]; });
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator-(U c, dual const& a) {
        return combine(constant_of(c) - a.value, [&](::std::size_t i) { return -a.gradient[i]; });
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator*(dual const& a, U c) {
        auto const k = constant_of(c);
        return combine(a.value * k, [&](::std::size_t i) { return a.gradient[i] * k; });
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator*(U c, dual const& a) {
        return a * c;
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator/(dual const& a, U c) {
        auto const k = constant_of(c);
        return combine(a.value / k, [&](::std::size_t i) { return a.gradient[i] / k; });
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr dual operator/(U c, dual const& a) {
        return dual(T(constant_of(c))) / a;
    }

    template <class U>
    PREFER_HOST_DEVICE constexpr dual& operator+=(U const& b) {
        return *this = *this + b;
    }
    template <class U>
    PREFER_HOST_DEVICE constexpr dual& operator-=(U const& b) {
        return *this = *this - b;
    }
    template <class U>
    PREFER_HOST_DEVICE constexpr dual& operator*=(U const& b) {
        return *this = *this * b;
    }
    template <class U>
    PREFER_HOST_DEVICE constexpr dual& operator/=(U const& b) {
        return *this = *this / b;
    }

    PREFER_HOST_DEVICE friend constexpr auto operator<(dual const& a, dual const& b) {
        return a.value < b.value;
    }
    PREFER_HOST_DEVICE friend constexpr auto operator>(dual const& a, dual const& b) {
        return a.value > b.value;
    }
    PREFER_HOST_DEVICE friend constexpr auto operator<=(dual const& a, dual const& b) {
        return a.value <= b.value;
    }
    PREFER_HOST_DEVICE friend constexpr auto operator>=(dual const& a, dual const& b) {
        return a.value >= b.value;
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr auto operator<(dual const& a, U c) {
        return a.value < constant_of(c);
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr auto operator>(dual const& a, U c) {
        return a.value > constant_of(c);
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr auto operator<=(dual const& a, U c) {
        return a.value <= constant_of(c);
    }
    template <class U>
        requires detail::constant_of<U, T>
    PREFER_HOST_DEVICE friend constexpr auto operator>=(dual const& a, U c) {
        return a.value >= constant_of(c);
    }

    /// `{value, derivative(i)...}`; the building block of every rule here.
    template <class Derivative>
    PREFER_HOST_DEVICE static constexpr dual combine(T const& value, Derivative derivative) {
        dual result(value);
        for (::std::size_t i = 0; i < N; ++i) result.gradient[i] = derivative(i);
        return result;
    }

private:
    template <class U>
    PREFER_HOST_DEVICE static constexpr primal_t<T> constant_of(U c) {
        return static_cast<primal_t<T>>(c);
    }
};

template <class T, ::std::size_t N>
struct primal<dual<T, N>> {
    using type = primal_t<T>;
};

template <class T, ::std::size_t N>
struct lane<dual<T, N>> {
    using type = lane_t<T>;
};

template <class T, ::std::size_t N>
struct wide<dual<T, N>> {
    using type = dual<wide_t<T>, N>;
};

/// The chain rule: a function of `x` with this value and this slope, and the derivatives of `x`.
template <class T, ::std::size_t N>
PREFER_HOST_DEVICE constexpr dual<T, N> chain(T const& value, T const& slope, dual<T, N> const& x) {
    return dual<T, N>::combine(value, [&](::std::size_t i) { return slope * x.gradient[i]; });
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> exp(dual<T, N> const& x) {
    T const e = exp(x.value);
    return chain(e, e, x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> expm1(dual<T, N> const& x) {
    return chain(T(expm1(x.value)), T(exp(x.value)), x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> log(dual<T, N> const& x) {
    return chain(T(log(x.value)), T(1 / x.value), x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> log1p(dual<T, N> const& x) {
    return chain(T(log1p(x.value)), T(1 / (1 + x.value)), x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> sqrt(dual<T, N> const& x) {
    T const root = sqrt(x.value);
    return chain(root, T(1 / (2 * root)), x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE constexpr auto is_nan(dual<T, N> const& x) {
    return is_nan(x.value);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE constexpr auto is_finite(dual<T, N> const& x) {
    return is_finite(x.value);
}

/// Where the condition is no `bool` but a mask of lanes, each derivative is selected as well.
template <class Mask, class T, ::std::size_t N>
    requires(!::std::same_as<Mask, bool>)
PREFER_HOST_DEVICE constexpr dual<T, N> select(Mask const& condition, dual<T, N> const& a,
                                               dual<T, N> const& b) {
    return dual<T, N>::combine(select(condition, a.value, b.value), [&](::std::size_t i) {
        return select(condition, a.gradient[i], b.gradient[i]);
    });
}

/// |x|; the slope at 0 is taken as +1.
template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> abs(dual<T, N> const& x) {
    return chain(T(abs(x.value)), T(select(x < 0, T(-1), T(1))), x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE constexpr dual<T, N> max(dual<T, N> const& a, dual<T, N> const& b) {
    return select(a >= b || is_nan(a), a, b);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE constexpr dual<T, N> min(dual<T, N> const& a, dual<T, N> const& b) {
    return select(a <= b || is_nan(a), a, b);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE constexpr dual<T, N> detach(dual<T, N> const& x) {
    return dual<T, N>(detach(x.value));
}

/// One exponential serves the value and the slope.
template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> sigmoid(dual<T, N> const& x) {
    if constexpr (real_number<T>) {
        T const e = exp_below_zero(-abs(x.value));
        T const s = detail::sigmoid_from(x.value, e);
        return chain(s, T(s * detail::sigmoid_from(-x.value, e)), x);
    } else {
        T const s = sigmoid(x.value);
        return chain(s, T(s * sigmoid(-x.value)), x);
    }
}

/// One exponential serves the value and the slope.
template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> softplus(dual<T, N> const& x) {
    if constexpr (real_number<T>) {
        T const e = exp_below_zero(-abs(x.value));
        return chain(detail::softplus_from(x.value, e), detail::sigmoid_from(x.value, e), x);
    } else {
        return chain(T(softplus(x.value)), T(sigmoid(x.value)), x);
    }
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> log_sigmoid(dual<T, N> const& x) {
    return -softplus(-x);
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> log1mexp(dual<T, N> const& x) {
    T const value = log1mexp(x.value);
    if constexpr (is_pack<T>) {  // which takes e^x and e^x - 1 together
        return chain(value, T(-exp(x.value) / abs(expm1(x.value))), x);
    } else {
        return chain(value, T(-1 / abs(expm1(-x.value))), x);
    }
}

template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> logit(dual<T, N> const& p) {
    return chain(T(logit(p.value)), T(1 / (p.value * (1 - p.value))), p);
}

/// Where both arguments are the same infinity, each gets half of the slope.
template <class T, ::std::size_t N>
PREFER_HOST_DEVICE dual<T, N> logaddexp(dual<T, N> const& a, dual<T, N> const& b) {
    T const gap = a.value - b.value;
    T const d = select(is_nan(gap) && !is_nan(a) && !is_nan(b), T(0), gap);
    T const wa = sigmoid(d);
    T const wb = sigmoid(-d);
    return dual<T, N>::combine(logaddexp(a.value, b.value), [&](::std::size_t i) {
        return wa * a.gradient[i] + wb * b.gradient[i];
    });
}

}  // namespace prefer::math
