// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/reduction.hpp>
#include <prefer/core/view.hpp>

namespace prefer {

namespace detail {

template <bool Mean, class Tokens, class Layout, class Out>
sequence_counts sequence_forward(char const* function, Tokens const& token_logp,
                                 Layout const& layout, Out& sequence_logp) {
    auto const tokens = as_vector(token_logp);
    vector_view const out = as_vector(sequence_logp);
    using T = typename decltype(tokens)::value_type;
    using O = typename decltype(out)::value_type;
    static_assert(element<T> && element<O>, "prefer: log-probs are floating elements");
    auto const l = as_layout(layout);
    l.check(function);
    require_size(function, "token_logp", tokens.size(), "the layout", l.tokens());
    require_size(function, "sequence_logp", out.size(), "the number of sequences", l.sequences());

    sequence_counts counts{l.sequences(), 0, 0};
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        ::std::size_t const n = count_tokens(l, b);
        counts.tokens += n;
        if (n == 0) ++counts.empty;
        double value = sum_sequence<T>(tokens, l, b);
        if (Mean && n != 0) value /= static_cast<double>(n);
        out[b] = static_cast<O>(static_cast<compute_t<O>>(value));
    }
    return counts;
}

template <bool Mean, class Upstream, class Layout, class Gradient>
void sequence_backward(char const* function, Upstream const& d_sequence_logp, Layout const& layout,
                       Gradient& d_token_logp) {
    auto const upstream = as_vector(d_sequence_logp);
    vector_view const out = as_vector(d_token_logp);
    using U = typename decltype(upstream)::value_type;
    using D = typename decltype(out)::value_type;
    static_assert(element<U> && element<D>, "prefer: gradients are floating elements");
    auto const l = as_layout(layout);
    l.check(function);
    require_size(function, "d_token_logp", out.size(), "the layout", l.tokens());
    require_size(function, "d_sequence_logp", upstream.size(), "the number of sequences",
                 l.sequences());

    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        auto g = static_cast<double>(static_cast<compute_t<U>>(upstream[b]));
        if constexpr (Mean) {
            ::std::size_t const n = count_tokens(l, b);
            if (n != 0) g /= static_cast<double>(n);
        }
        for (::std::size_t i = l.first(b); i < l.last(b); ++i) {
            out[i] = static_cast<D>(static_cast<compute_t<D>>(l.counted(i) ? g : 0.0));
        }
    }
}

}  // namespace detail

/// Sequence log-probs: out[b] = Σ of the token log-probs of sequence b.
///
/// token_logp `[N]`, layout: offsets `[B + 1]`, `packed` with a mask or labels, or `padded` (see
/// `core/layout.hpp`), sequence_logp `[B]` (written). Elements double, float, bfloat16 or half;
/// sums run in double, in token order. Tokens that do not count are skipped, so a NaN or -inf there
/// does no harm. A sequence with no counted token has sum 0, and shows in the returned `empty`.
/// Errors, before anything is written: `shape_error`. O(N), no allocation, deterministic.
template <class Tokens, class Layout, class Out>
sequence_counts sequence_sum(Tokens const& token_logp, Layout const& layout, Out&& sequence_logp) {
    return detail::sequence_forward<false>("sequence_sum", token_logp, layout, sequence_logp);
}

/// The gradient of `sequence_sum`: d_token_logp[i] = d_sequence_logp[b] for each counted token i of
/// sequence b, exactly 0 elsewhere. d_token_logp `[N]` is written whole.
template <class Upstream, class Layout, class Gradient>
void sequence_sum_backward(Upstream const& d_sequence_logp, Layout const& layout,
                           Gradient&& d_token_logp) {
    detail::sequence_backward<false>("sequence_sum_backward", d_sequence_logp, layout,
                                     d_token_logp);
}

/// Length-averaged sequence log-probs: as `sequence_sum`, divided by the number of counted tokens.
///
/// A sequence with no counted token has mean 0. Losses that want averages (ipo, simpo, orpo) take
/// sums and lengths and divide themselves; give them `sequence_sum` and `sequence_lengths`.
template <class Tokens, class Layout, class Out>
sequence_counts sequence_mean(Tokens const& token_logp, Layout const& layout, Out&& sequence_logp) {
    return detail::sequence_forward<true>("sequence_mean", token_logp, layout, sequence_logp);
}

/// The gradient of `sequence_mean`.
template <class Upstream, class Layout, class Gradient>
void sequence_mean_backward(Upstream const& d_sequence_logp, Layout const& layout,
                            Gradient&& d_token_logp) {
    detail::sequence_backward<true>("sequence_mean_backward", d_sequence_logp, layout,
                                    d_token_logp);
}

/// The number of counted tokens of each sequence: lengths `[B]`, integers (written). From the
/// layout alone, never from values. Errors: `shape_error`.
template <class Layout, class Lengths>
sequence_counts sequence_lengths(Layout const& layout, Lengths&& lengths) {
    vector_view const out = as_vector(lengths);
    using I = typename decltype(out)::value_type;
    static_assert(index_element<I>, "prefer: lengths are integers");
    auto const l = detail::as_layout(layout);
    l.check("sequence_lengths");
    detail::require_size("sequence_lengths", "lengths", out.size(), "the number of sequences",
                         l.sequences());
    sequence_counts counts{l.sequences(), 0, 0};
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        ::std::size_t const n = detail::count_tokens(l, b);
        counts.tokens += n;
        if (n == 0) ++counts.empty;
        out[b] = static_cast<I>(n);
    }
    return counts;
}

}  // namespace prefer
