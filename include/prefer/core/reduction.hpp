// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

/// The four things that are called "the mean of the log-probs" somewhere. For rows [-1] and
/// [-2, -4, -6] they are -13, -3.25, -2.5 and -6.5.
enum class reduction {
    sum,                     ///< Σ over all counted tokens
    mean_over_tokens,        ///< Σ over all counted tokens / number of counted tokens
    mean_of_sequence_means,  ///< Σ over sequences of their token means / number of sequences
    mean_of_sequence_sums,   ///< Σ over all counted tokens / number of sequences
};

struct reduction_options {
    reduction how = reduction::mean_over_tokens;

    /// Replaces the divisor of this call: the number of tokens (or sequences) of the whole batch,
    /// over all micro-batches and ranks. The parts then add up to the result of the whole. `sum`
    /// has no divisor, so a normalizer given with it is an error.
    ::std::optional<double> normalizer = ::std::nullopt;
};

/// What a reduction found in a layout.
struct sequence_counts {
    ::std::size_t sequences = 0;  ///< B
    ::std::size_t tokens = 0;     ///< counted tokens
    ::std::size_t empty = 0;      ///< sequences without a counted token
};

namespace detail {

template <sequence_layout L>
::std::size_t count_tokens(L const& layout, ::std::size_t b) {
    ::std::size_t n = 0;
    for (::std::size_t i = layout.first(b); i < layout.last(b); ++i) {
        if (layout.counted(i)) ++n;
    }
    return n;
}

template <sequence_layout L>
sequence_counts count_sequences(L const& layout) {
    sequence_counts counts{layout.sequences(), 0, 0};
    for (::std::size_t b = 0; b < counts.sequences; ++b) {
        ::std::size_t const n = count_tokens(layout, b);
        counts.tokens += n;
        if (n == 0) ++counts.empty;
    }
    return counts;
}

/// Σ of the counted values of sequence `b`, in double. What is not counted is never read.
template <class T, sequence_layout L>
double sum_sequence(vector_view<T const> values, L const& layout, ::std::size_t b) {
    double sum = 0;
    for (::std::size_t i = layout.first(b); i < layout.last(b); ++i) {
        if (layout.counted(i)) sum += static_cast<double>(static_cast<compute_t<T>>(values[i]));
    }
    return sum;
}

/// The divisor of a reduction: the caller's, or this batch's own; 1 when there is nothing to
/// divide.
inline double divisor(char const* function, sequence_counts const& counts,
                      reduction_options const& options) {
    if (options.normalizer) {
        if (options.how == reduction::sum) {
            throw value_error(
                message("prefer::", function,
                        ": reduction::sum has no divisor, so it takes no normalizer"));
        }
        require(math::is_finite(*options.normalizer) && *options.normalizer > 0, function,
                "normalizer", *options.normalizer, "finite and positive");
        return *options.normalizer;
    }
    switch (options.how) {
        case reduction::sum: return 1;
        case reduction::mean_over_tokens:
            return counts.tokens == 0 ? 1 : static_cast<double>(counts.tokens);
        case reduction::mean_of_sequence_means:
        case reduction::mean_of_sequence_sums:
            return counts.sequences == 0 ? 1 : static_cast<double>(counts.sequences);
    }
    throw value_error(
        message("prefer::", function, ": unknown reduction ", static_cast<int>(options.how)));
}

}  // namespace detail

/// One number out of the values of many tokens, by a named mean.
///
/// values `[N]` (any element type), layout over N tokens. Sums run in double, in token order; what
/// is not counted is skipped, not multiplied by 0. Nothing counted gives 0. Errors: `shape_error`
/// for a broken layout or a wrong N, `value_error` for a bad normalizer. O(N), no allocation,
/// deterministic.
template <class Values, class Layout>
double reduce(Values const& values, Layout const& layout, reduction_options options = {}) {
    auto const v = as_vector(values);
    using T = typename decltype(v)::value_type;
    auto const l = detail::as_layout(layout);
    l.check("reduce");
    detail::require_size("reduce", "values", v.size(), "the layout", l.tokens());
    sequence_counts const counts = detail::count_sequences(l);
    double const divisor = detail::divisor("reduce", counts, options);

    double total = 0;
    for (::std::size_t b = 0; b < counts.sequences; ++b) {
        double const sum = detail::sum_sequence<T>(v, l, b);
        if (options.how == reduction::mean_of_sequence_means) {
            ::std::size_t const n = detail::count_tokens(l, b);
            if (n != 0) total += sum / static_cast<double>(n);
        } else {
            total += sum;
        }
    }
    return total / divisor;
}

/// The gradient of `reduce`: d_values `[N]` = `upstream` · ∂reduce/∂values; exactly 0 where a token
/// is not counted. Same arguments, errors and cost as `reduce`.
template <class Layout, class Gradient>
void reduce_backward(double upstream, Layout const& layout, Gradient&& d_values,
                     reduction_options options = {}) {
    auto const d = as_vector(d_values);
    using T = typename decltype(d)::value_type;
    auto const l = detail::as_layout(layout);
    l.check("reduce_backward");
    detail::require_size("reduce_backward", "d_values", d.size(), "the layout", l.tokens());
    sequence_counts const counts = detail::count_sequences(l);
    double const divisor = detail::divisor("reduce_backward", counts, options);

    for (::std::size_t b = 0; b < counts.sequences; ++b) {
        double scale = upstream / divisor;
        if (options.how == reduction::mean_of_sequence_means) {
            ::std::size_t const n = detail::count_tokens(l, b);
            if (n != 0) scale /= static_cast<double>(n);
        }
        auto const stored = static_cast<T>(static_cast<compute_t<T>>(scale));
        auto const zero = static_cast<T>(compute_t<T>(0));
        for (::std::size_t i = l.first(b); i < l.last(b); ++i) d[i] = l.counted(i) ? stored : zero;
    }
}

}  // namespace prefer
