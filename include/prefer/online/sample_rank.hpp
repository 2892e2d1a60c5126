// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/sampler/first_round.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/rejection.hpp>

namespace prefer::online {

/// \file
/// Where the preference pairs of a prompt come from: the three data sources of arXiv:2309.06657,
/// table 1. `direct` has no call: recorded pairs go to the loss as they are.

/// Something that makes responses: `generate(prompt, n)` gives n of them, in a vector.
template <class F, class Prompt>
concept response_generator = requires(F& generate, Prompt const& prompt, ::std::size_t n) {
    { generate(prompt, n).size() } -> ::std::convertible_to<::std::size_t>;
};

/// The responses to a prompt, a score of each, and pairs of them by index.
template <class Responses>
struct ranked_responses {
    Responses responses;
    ::std::vector<double> scores;
    sampler::pair_list pairs;
};

namespace sample_rank_detail {

/// Asks for n responses and their scores.
template <class Prompt, class Generate, class Score>
auto ask(char const* name, Prompt const& prompt, ::std::size_t n, Generate& generate,
         Score& score) {
    using responses = ::std::remove_cvref_t<decltype(generate(prompt, n))>;
    ranked_responses<responses> out;
    out.responses = generate(prompt, n);
    detail::require_size(name, "what generate gave", out.responses.size(), "what it was asked for",
                         n);
    auto const scores = score(prompt, out.responses);
    auto const view = as_vector(scores);
    detail::require_size(name, "what score gave", view.size(), "the responses", n);
    for (::std::size_t i = 0; i < n; ++i) out.scores.push_back(static_cast<double>(view[i]));
    return out;
}

}  // namespace sample_rank_detail

/// sft-sample-rank: `count` responses of the SFT policy, in pairs two by two, by their scores.
///
/// `generate(prompt, n)` makes n responses, `score(prompt, responses)` gives one number for each
/// (a reward model, or a preference model against a baseline: `reward::pairwise_reward`).
/// Errors: `shape_error` where one gives another number than was asked for, `value_error` for a
/// score that is not finite; what the two throw passes. Deterministic where they are.
template <class Prompt, class Generate, class Score>
    requires response_generator<Generate, Prompt>
auto sft_sample_rank(Prompt const& prompt, ::std::size_t count, Generate&& generate,
                     Score&& score) {
    auto out = sample_rank_detail::ask("online::sft_sample_rank", prompt, count, generate, score);
    out.pairs = sampler::first_round(sampler::index_range(0, count), out.scores);
    return out;
}

/// rso-sample-rank: `candidates` responses of the SFT policy, of which `choose` accepts some, as
/// if they came from the optimal policy; these in pairs two by two, in the order of acceptance.
///
/// Arguments and errors as above, and those of `rejection`; the paper has 64 candidates, 8
/// accepted, β = 0.5. `rng` is asked what `rejection` asks.
template <class Prompt, class Generate, class Score, bit_generator G>
    requires response_generator<Generate, Prompt>
auto rso_sample_rank(Prompt const& prompt, ::std::size_t candidates,
                     sampler::rejection const& choose, Generate&& generate, Score&& score, G& rng) {
    auto out =
        sample_rank_detail::ask("online::rso_sample_rank", prompt, candidates, generate, score);
    out.pairs = sampler::first_round(choose(out.scores, rng).indices, out.scores);
    return out;
}

}  // namespace prefer::online
