// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>

#include <prefer/math/elementary.hpp>

namespace prefer::math {

/// The type that sums of `T` are kept in: `double` for `float`, otherwise `T` itself.
template <class T>
using wide_t = ::std::conditional_t<::std::same_as<T, float>, double, T>;

/// log Σ e^x over a sequence: the log of a normaliser.
///
/// Two passes: the maximum, then Σ e^(x - max), summed in `wide_t<T>` in order (so a float sum keeps
/// growing past 2^24 equal terms). Range: every sequence of reals. Error: 2 ULP of
/// max(|max|, log n, 1) for n terms up to 10^6. Values: empty → -inf; all -inf → -inf; any +inf →
/// +inf; any NaN → NaN. Derivative: softmax. O(n), no allocation; same order, same bits.
///
/// `Iterator` is a forward iterator over float, double, long double or dual numbers.
template <class Iterator>
PREFER_HOST_DEVICE auto log_sum_exp(Iterator first, Iterator last) ->
    typename ::std::iterator_traits<Iterator>::value_type {
    using value = typename ::std::iterator_traits<Iterator>::value_type;

    value shift = value(-infinity<primal_t<value>>);
    for (Iterator it = first; it != last; ++it) shift = max(shift, detach(*it));
    if (!is_finite(shift)) return shift;  // empty or all -inf, some +inf, or NaN

    using wide = wide_t<value>;
    wide sum = wide(0);
    for (Iterator it = first; it != last; ++it) sum += wide(exp(*it - shift));
    return shift + value(log(sum));
}

}  // namespace prefer::math
