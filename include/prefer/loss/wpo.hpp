// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/reduction.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// What of a WPO weight is capped at 1. Without the collision term nothing exceeds 1 anyway.
enum class wpo_clamp {
    none,          ///< as TRL today
    pair,          ///< the weight of the pair: as older TRL, open-instruct and the authors' code
    each_response  ///< both factors
};

struct wpo_options {
    wpo_clamp clamp = wpo_clamp::none;
};

/// The policy's view of one side's responses: token_logp `[N]`, log π of each token; their layout
/// (offsets, `packed` or `padded`); and optionally log_collision `[N]`, log Σ_v p_v² of each
/// token's distribution, with which the weights are adjusted. Views only.
template <element T, sequence_layout Layout>
struct wpo_tokens {
    vector_view<T const> token_logp;
    Layout layout;
    vector_view<T const> log_collision{};  ///< empty: not adjusted

    template <class Tokens, class L>
    wpo_tokens(Tokens&& log_probs_of_tokens, L&& where)
        : token_logp(as_vector(::std::forward<Tokens>(log_probs_of_tokens))),
          layout(::std::forward<L>(where)) {}

    template <class Tokens, class L, class C>
    wpo_tokens(Tokens&& log_probs_of_tokens, L&& where, C&& collision)
        : wpo_tokens(::std::forward<Tokens>(log_probs_of_tokens), ::std::forward<L>(where)) {
        log_collision = as_vector(::std::forward<C>(collision));
    }
};

template <class Tokens, class L>
wpo_tokens(Tokens&&, L&&) -> wpo_tokens<
    vector_element_t<Tokens>,
    decltype(::prefer::detail::as_layout(::std::declval<::std::remove_reference_t<L> const&>()))>;

template <class Tokens, class L, class C>
wpo_tokens(Tokens&&, L&&, C&&) -> wpo_tokens<
    vector_element_t<Tokens>,
    decltype(::prefer::detail::as_layout(::std::declval<::std::remove_reference_t<L> const&>()))>;

/// What `wpo_weights` found on each side; `empty` counts the responses without a counted token.
struct wpo_counts {
    sequence_counts chosen;
    sequence_counts rejected;
};

}  // namespace prefer::loss

namespace prefer::detail {

template <class T, class Layout>
void check_wpo_side(loss::wpo_tokens<T, Layout> const& side, char const* tokens,
                    char const* collision) {
    char const* const name = "loss::wpo_weights";
    side.layout.check(name);
    require_size(name, tokens, side.token_logp.size(), "the layout", side.layout.tokens());
    if (!side.log_collision.empty()) {
        require_size(name, collision, side.log_collision.size(), "the layout",
                     side.layout.tokens());
    }
}

/// The mean over the counted tokens of response `b`, in double; 0 where there is none.
template <class T, class Layout>
double wpo_mean(loss::wpo_tokens<T, Layout> const& side, ::std::size_t b, sequence_counts& counts) {
    ::std::size_t const n = count_tokens(side.layout, b);
    counts.tokens += n;
    if (n == 0) {
        ++counts.empty;
        return 0;
    }
    double sum = sum_sequence<T>(side.token_logp, side.layout, b);
    if (!side.log_collision.empty()) sum -= sum_sequence<T>(side.log_collision, side.layout, b);
    return sum / static_cast<double>(n);
}

}  // namespace prefer::detail

namespace prefer::loss {

/// The pair weights of WPO: how likely the policy is to write these responses itself.
///
///     weight[b] = exp(m(y_w) + m(y_l)),   m(y) = mean over counted t of (log p_t - log Σ_v p_tv²)
///
/// For off-policy pairs: a pair that the policy would hardly write weighs little. The second term
/// of m, where given, sets the weight of text drawn from the policy near 1; without it, m is the
/// mean log-prob. `weights` `[B]` (written) goes into `pair_batch::with_weights`; no gradient runs
/// through it.
///
/// Elements double, float, bfloat16 or half; sums run in double, in token order. Tokens that do not
/// count are not read. A response with no counted token has m = 0, a factor of 1, and shows in the
/// returned `empty`. A counted log-prob of -inf gives weight 0, which masks the pair. `clamp` says
/// what is capped at 1; peers differ (`wpo_clamp`). Errors, before anything is written:
/// `shape_error` for sizes that do not fit, `value_error` for an unknown clamp. O(N), no
/// allocation, deterministic.
///
/// ```cpp
/// using prefer::loss::wpo_tokens;
/// prefer::loss::wpo_weights(wpo_tokens{chosen_token_logp, chosen_offsets},
///                           wpo_tokens{rejected_token_logp, rejected_offsets}, weights);
/// prefer::evaluate_pairs(prefer::loss::dpo{}, batch.with_weights(weights), grad);
/// ```
///
/// Source: W. Zhou et al., "WPO: enhancing RLHF with weighted preference optimization", 2024
/// (2406.11827); the adjusted form is its "sampled alignment".
template <class T, class Chosen, class U, class Rejected, class Weights>
wpo_counts wpo_weights(wpo_tokens<T, Chosen> const& chosen, wpo_tokens<U, Rejected> const& rejected,
                       Weights&& weights, wpo_options options = {}) {
    using math::exp;
    using math::min;
    char const* const name = "loss::wpo_weights";
    vector_view const out = as_vector(weights);
    using O = typename decltype(out)::value_type;
    static_assert(element<O>, "prefer: weights are floating elements");
    detail::check_wpo_side(chosen, "chosen.token_logp", "chosen.log_collision");
    detail::check_wpo_side(rejected, "rejected.token_logp", "rejected.log_collision");
    ::std::size_t const pairs = chosen.layout.sequences();
    detail::require_size(name, "rejected", rejected.layout.sequences(), "chosen", pairs);
    detail::require_size(name, "weights", out.size(), "the number of pairs", pairs);
    int const clamp = static_cast<int>(options.clamp);
    detail::require(clamp >= 0 && clamp < 3, name, "clamp", clamp, "a named enumerator");

    wpo_counts counts{{pairs, 0, 0}, {pairs, 0, 0}};
    for (::std::size_t b = 0; b < pairs; ++b) {
        double of_chosen = detail::wpo_mean(chosen, b, counts.chosen);
        double of_rejected = detail::wpo_mean(rejected, b, counts.rejected);
        if (options.clamp == wpo_clamp::each_response) {
            of_chosen = min(of_chosen, 0.0);
            of_rejected = min(of_rejected, 0.0);
        }
        double log_weight = of_chosen + of_rejected;
        if (options.clamp == wpo_clamp::pair) log_weight = min(log_weight, 0.0);
        out[b] = static_cast<O>(static_cast<compute_t<O>>(exp(log_weight)));
    }
    return counts;
}

}  // namespace prefer::loss
