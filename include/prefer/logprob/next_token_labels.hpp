// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <prefer/core/layout.hpp>
#include <prefer/core/reduction.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

/// The shift by one, in one place: labels for the logits of an autoregressive model.
///
/// Row i of the logits predicts the token after token i. So labels[i] = tokens[i + 1] where token
/// i + 1 is a response token of the same sequence, and the ignore index elsewhere: for prompt
/// tokens and for the last row of each sequence, which predicts nothing. After this, labels, token
/// log-probs and masks are all indexed by *prediction* (the row of the logits).
///
/// tokens `[N]` (integers), offsets `[B + 1]` over them, prompt_lengths `[B]`: the number of tokens
/// at the start of each sequence that are given, not scored; labels `[N]` (signed integers,
/// written). A sequence of n tokens with a prompt of p has min(n - p, n - 1) labels: with p = 0 its
/// first token is still predicted by nothing. Errors, before anything is written: `shape_error` for
/// sizes, `value_error` for a prompt longer than its sequence. O(N), no allocation. Returns the
/// number of labels that are scored, and of sequences left without one (`empty`).
template <class Tokens, class Offsets, class Lengths, class Labels>
sequence_counts next_token_labels(Tokens const& tokens, Offsets const& offsets,
                                  Lengths const& prompt_lengths, Labels&& labels,
                                  ::std::int64_t ignore_index = default_ignore_index) {
    auto const t = as_vector(tokens);
    auto const p = as_vector(prompt_lengths);
    vector_view const out = as_vector(labels);
    using Token = typename decltype(t)::value_type;
    using Length = typename decltype(p)::value_type;
    using Label = typename decltype(out)::value_type;
    static_assert(index_element<Token> && index_element<Length>,
                  "prefer: tokens and prompt lengths are integers");
    static_assert(index_element<Label> && ::std::is_signed_v<Label>,
                  "prefer: labels are signed integers, so that they can hold the ignore index");

    char const* const name = "next_token_labels";
    packed const layout(as_vector(offsets));
    layout.check(name);
    detail::require_size(name, "tokens", t.size(), "offsets' last entry", layout.tokens());
    detail::require_size(name, "labels", out.size(), "tokens", t.size());
    detail::require_size(name, "prompt_lengths", p.size(), "the number of sequences",
                         layout.sequences());
    for (::std::size_t b = 0; b < layout.sequences(); ++b) {
        ::std::size_t const n = layout.last(b) - layout.first(b);
        if (p[b] < Length(0) || static_cast<::std::uint64_t>(p[b]) > n) {
            detail::throw_bad_element(
                name, "prompt_lengths", b, +p[b],
                detail::message("in [0, ", n, "], the sequence's length").c_str());
        }
    }

    sequence_counts counts{layout.sequences(), 0, 0};
    auto const ignored = static_cast<Label>(ignore_index);
    for (::std::size_t b = 0; b < layout.sequences(); ++b) {
        ::std::size_t const response = layout.first(b) + static_cast<::std::size_t>(p[b]);
        ::std::size_t scored = 0;
        for (::std::size_t i = layout.first(b); i < layout.last(b); ++i) {
            bool const predicts = i + 1 < layout.last(b) && i + 1 >= response;
            out[i] = predicts ? static_cast<Label>(t[i + 1]) : ignored;
            if (predicts) ++scored;
        }
        counts.tokens += scored;
        if (scored == 0) ++counts.empty;
    }
    return counts;
}

}  // namespace prefer
