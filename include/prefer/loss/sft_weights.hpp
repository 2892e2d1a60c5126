// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

/// \file
/// Which responses `sft` learns from: weights 0 and 1 for `example_batch::with_weights`. A weight
/// of 0 masks its response, so the loss is the mean over the kept ones, unless a normalizer says
/// otherwise. They choose among responses that somebody has sampled and scored; nothing is sampled
/// here.

namespace prefer::detail {

/// Scores, checked to be no NaN (an infinite score is a score).
template <class S>
void require_scores(char const* name, vector_view<S const> scores) {
    for (::std::size_t i = 0; i < scores.size(); ++i) {
        auto const s = static_cast<compute_t<S>>(scores[i]);
        if (math::is_nan(s)) {
            throw_bad_element(name, "scores", i, s, "a number");
        }
    }
}

}  // namespace prefer::detail

namespace prefer::loss {

/// RAFT: 1 for the best candidate of each prompt, 0 for the others; of equal ones, the first.
///
/// `scores [N]` of the candidates of B prompts, prompt after prompt; `offsets [B + 1]` as in
/// `packed`; `weights [N]` written whole. A prompt without candidates is fine. Errors, before
/// anything is written: `shape_error` for sizes or offsets that do not fit, `value_error` for a NaN
/// score. O(N), no allocation. Returns the number of responses kept: the prompts with candidates.
/// Source: H. Dong et al., "RAFT: reward ranked finetuning for generative foundation model
/// alignment", 2023.
template <class Scores, class Offsets, class Weights>
::std::size_t raft_weights(Scores const& scores, Offsets const& offsets, Weights&& weights) {
    char const* const name = "loss::raft_weights";
    auto const s = as_vector(scores);
    auto const out = as_vector(weights);
    packed const layout(offsets);
    using S = typename decltype(s)::value_type;
    using W = typename decltype(out)::value_type;
    layout.check(name);
    detail::require_size(name, "scores", s.size(), "the layout", layout.tokens());
    detail::require_size(name, "weights", out.size(), "scores", s.size());
    detail::require_scores<S>(name, s);
    auto const at = [&](::std::size_t i) { return static_cast<compute_t<S>>(s[i]); };
    ::std::size_t kept = 0;
    for (::std::size_t b = 0; b < layout.sequences(); ++b) {
        ::std::size_t best = layout.first(b);
        for (::std::size_t i = layout.first(b); i < layout.last(b); ++i) {
            if (at(i) > at(best)) best = i;
            out[i] = static_cast<W>(compute_t<W>(0));
        }
        if (layout.first(b) < layout.last(b)) {
            out[best] = static_cast<W>(compute_t<W>(1));
            ++kept;
        }
    }
    return kept;
}

/// ReST: 1 for every response whose score is above the threshold, 0 for the others; a score equal
/// to it is not above.
///
/// `scores [N]`, `weights [N]` written whole. Errors, before anything is written: `shape_error` for
/// sizes that differ, `value_error` for a NaN score or threshold. O(N), no allocation. Returns the
/// number of responses kept, which may be 0.
/// Source: C. Gulcehre et al., "Reinforced self-training (ReST) for language modeling", 2023, the
/// filter of the improve step, where the threshold grows from step to step.
template <class Scores, class Weights>
::std::size_t rest_weights(Scores const& scores, double threshold, Weights&& weights) {
    char const* const name = "loss::rest_weights";
    auto const s = as_vector(scores);
    auto const out = as_vector(weights);
    using S = typename decltype(s)::value_type;
    using W = typename decltype(out)::value_type;
    detail::require_size(name, "weights", out.size(), "scores", s.size());
    detail::require(!math::is_nan(threshold), name, "threshold", threshold, "a number");
    detail::require_scores<S>(name, s);
    ::std::size_t kept = 0;
    for (::std::size_t i = 0; i < s.size(); ++i) {
        bool const keep = static_cast<double>(static_cast<compute_t<S>>(s[i])) > threshold;
        out[i] = static_cast<W>(compute_t<W>(keep ? 1 : 0));
        kept += keep ? 1U : 0U;
    }
    return kept;
}

}  // namespace prefer::loss
