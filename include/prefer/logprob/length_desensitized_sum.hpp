// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/reduction.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

struct length_desensitized_options {
    /// What the tokens beyond the shorter response of the pair count: 1 is the plain sum, 0 cuts
    /// both responses to one length.
    double alpha = 0.5;
};

namespace detail {

template <sequence_layout L, sequence_layout Other>
void check_desensitized(char const* function, L const& layout, Other const& other,
                        length_desensitized_options const& options) {
    layout.check(function);
    other.check(function);
    require_size(function, "the other layout", other.sequences(), "the layout", layout.sequences());
    require(options.alpha >= 0 && options.alpha <= 1, function, "alpha", options.alpha,
            "in [0, 1]");
}

/// Calls `visit(i, beyond)` for the counted tokens of sequence `b`, in order; `beyond` is whether
/// the sequence `b` of the other layout has fewer counted tokens.
template <sequence_layout L, sequence_layout Other, class Visit>
void for_each_desensitized(L const& layout, Other const& other, ::std::size_t b, Visit visit) {
    ::std::size_t const shared = count_tokens(other, b);
    ::std::size_t n = 0;
    for (::std::size_t i = layout.first(b); i < layout.last(b); ++i) {
        if (layout.counted(i)) visit(i, n++ >= shared);
    }
}

}  // namespace detail

/// Length-desensitized sequence log-probs (LD-DPO), of one side of a batch of pairs:
///
///     out[b] = Σ_{t <= p} log p_t + α·Σ_{t > p} log p_t,   p = min(|y|, |y'|)
///
/// over the counted tokens t = 1, 2, … of sequence b, where y' is the other response of the pair:
/// sequence b of `other`. Call it for both sides, of the policy *and* of the reference, with the
/// same α: then policy = reference gives a margin of exactly 0. (Older TRL, LLaMA-Factory and
/// ms-swift apply it to the policy alone, and TRL then counted positions of the prompt too.)
///
/// token_logp `[N]`; layout and other: offsets `[B + 1]`, `packed` or `padded`; sequence_logp `[B]`
/// (written). Elements and precision as `sequence_sum`, and with α = 1 the same bits. Tokens that
/// do not count are not read and hold no position; with α = 0, neither are those beyond p. An empty
/// response has sum 0, and leaves nothing within p to the other. Returns what the layout holds.
/// Errors, before anything is written: `shape_error`; `value_error` for α outside [0, 1]. O(N), no
/// allocation, deterministic.
///
/// ```cpp
/// prefer::length_desensitized_sum(chosen_tokens, chosen_offsets, rejected_offsets, chosen_logp,
///                                 {.alpha = 0.5});
/// prefer::length_desensitized_sum(rejected_tokens, rejected_offsets, chosen_offsets,
///                                 rejected_logp, {.alpha = 0.5});
/// ```
///
/// Source: W. Liu et al., "Length desensitization in direct preference optimization", 2024
/// (2409.06411).
template <class Tokens, class Layout, class Other, class Out>
sequence_counts length_desensitized_sum(Tokens const& token_logp, Layout const& layout,
                                        Other const& other, Out&& sequence_logp,
                                        length_desensitized_options options = {}) {
    char const* const name = "length_desensitized_sum";
    auto const tokens = as_vector(token_logp);
    vector_view const out = as_vector(sequence_logp);
    using T = typename decltype(tokens)::value_type;
    using O = typename decltype(out)::value_type;
    static_assert(element<T> && element<O>, "prefer: log-probs are floating elements");
    auto const l = detail::as_layout(layout);
    auto const o = detail::as_layout(other);
    detail::check_desensitized(name, l, o, options);
    detail::require_size(name, "token_logp", tokens.size(), "the layout", l.tokens());
    detail::require_size(name, "sequence_logp", out.size(), "the number of sequences",
                         l.sequences());

    sequence_counts counts{l.sequences(), 0, 0};
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        double sum = 0;
        ::std::size_t n = 0;
        detail::for_each_desensitized(l, o, b, [&](::std::size_t i, bool beyond) {
            ++n;
            if (beyond && options.alpha <= 0) return;
            auto const x = static_cast<double>(static_cast<compute_t<T>>(tokens[i]));
            sum += beyond ? options.alpha * x : x;
        });
        counts.tokens += n;
        if (n == 0) ++counts.empty;
        out[b] = static_cast<O>(static_cast<compute_t<O>>(sum));
    }
    return counts;
}

/// The gradient of `length_desensitized_sum`: d_token_logp[i] = d_sequence_logp[b], or α times it
/// beyond p, for the counted tokens of sequence b; exactly 0 elsewhere, and beyond p where α is 0.
/// d_token_logp `[N]` is written whole. Same layouts, options and errors.
template <class Upstream, class Layout, class Other, class Gradient>
void length_desensitized_sum_backward(Upstream const& d_sequence_logp, Layout const& layout,
                                      Other const& other, Gradient&& d_token_logp,
                                      length_desensitized_options options = {}) {
    char const* const name = "length_desensitized_sum_backward";
    auto const upstream = as_vector(d_sequence_logp);
    vector_view const out = as_vector(d_token_logp);
    using U = typename decltype(upstream)::value_type;
    using D = typename decltype(out)::value_type;
    static_assert(element<U> && element<D>, "prefer: gradients are floating elements");
    auto const l = detail::as_layout(layout);
    auto const o = detail::as_layout(other);
    detail::check_desensitized(name, l, o, options);
    detail::require_size(name, "d_token_logp", out.size(), "the layout", l.tokens());
    detail::require_size(name, "d_sequence_logp", upstream.size(), "the number of sequences",
                         l.sequences());

    auto const store = [](double x) { return static_cast<D>(static_cast<compute_t<D>>(x)); };
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        auto const g = static_cast<double>(static_cast<compute_t<U>>(upstream[b]));
        double const tail = options.alpha > 0 ? options.alpha * g : 0.0;
        for (::std::size_t i = l.first(b); i < l.last(b); ++i) out[i] = store(0.0);
        detail::for_each_desensitized(
            l, o, b, [&](::std::size_t i, bool beyond) { out[i] = store(beyond ? tail : g); });
    }
}

}  // namespace prefer
