// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <tuple>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/reduction.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/dual.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

/// \file
/// The KL of policy and reference over whole responses, estimated from responses that the policy
/// sampled; and the two different gradients that such an estimate has.

/// The estimators of KL(policy‖reference), as formulas of one log-ratio d = log π - log π_ref of a
/// sample of the policy (not of the ratio, nor of log π_ref - log π). Each is 0 at d = 0.
namespace kl {

/// d: unbiased; negative for some samples.
struct k1 {
    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        return d;
    }
};

/// d²/2: never negative, biased (KL to second order).
struct k2 {
    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        return d * d * math::primal_t<S>(0.5);
    }
};

/// e^{-d} - 1 + d: unbiased and never negative. A d below -limit counts as -limit, so that value
/// and gradient are finite: the value stays, the gradient is 0. The estimate is then too low, by
/// what those samples (of probability at most e^-limit) would have added.
///
/// limit positive, at most 80: e^80 is a finite float.
struct k3 {
    double limit = 64;

    void validate() const {
        detail::require(limit > 0 && limit <= 80, "kl::k3", "limit", limit, "in (0, 80]");
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        using math::expm1;
        using math::max;
        S const kept = max(S(math::primal_t<S>(-limit)), d);
        return expm1(S(-kept)) + kept;
    }
};

}  // namespace kl

/// A formula of one log-ratio, for plain and for dual numbers: `kl::k1`, `kl::k2`, `kl::k3`, or a
/// user's own.
template <class E>
concept kl_estimator = requires(E const& e, double d, math::dual<double> dd) {
    e.validate();
    { e(d) } -> ::std::same_as<double>;
    { e(dd) } -> ::std::same_as<math::dual<double>>;
};

/// An estimate over a batch of sampled responses.
struct kl_estimate {
    double mean = 0;            ///< as `reduce` gives it
    double standard_error = 0;  ///< of the mean, over responses; NaN for fewer than two
    ::std::size_t count = 0;    ///< responses
    ::std::size_t tokens = 0;   ///< counted tokens
    ::std::size_t empty = 0;    ///< responses without a counted token: they count as 0
};

/// Which penalties multiply the score of a token, d log π, in `kl_reward_gradient`.
enum class kl_credit {
    to_go,      ///< its own and those of all later tokens of its response: what it could change
    own_token,  ///< its own only, as TRL's Nash-MD does; biased when responses have several tokens
};

/// The layout of `[B]` numbers of which each is a whole response: its summed log-prob.
class whole_responses {
public:
    explicit whole_responses(::std::size_t responses) : responses_(responses) {}

    ::std::size_t sequences() const { return responses_; }
    ::std::size_t tokens() const { return responses_; }
    static ::std::size_t first(::std::size_t b) { return b; }
    static ::std::size_t last(::std::size_t b) { return b + 1; }
    static bool counted(::std::size_t) { return true; }
    static void check(char const*) {}

private:
    ::std::size_t responses_;
};

namespace detail {

/// The mean of the responses' numbers and its standard error; `value(i)` is that of token i.
/// Responses are the independent samples, tokens are not. Two passes, in double.
template <sequence_layout L, class Value>
kl_estimate estimate_mean(char const* function, L const& layout, reduction how,
                          Value const& value) {
    if (how == reduction::sum) {
        throw value_error(message("prefer::", function,
                                  ": an estimate is a mean, so it takes no reduction::sum"));
    }
    sequence_counts const counts = count_sequences(layout);
    double const share = divisor(function, counts, {how, ::std::nullopt});
    // The share of one response in the mean, and what it weighs there.
    auto const response = [&](::std::size_t b) {
        double sum = 0;
        double n = 0;
        for (::std::size_t i = layout.first(b); i < layout.last(b); ++i) {
            if (!layout.counted(i)) continue;
            sum += value(i);
            n += 1;
        }
        if (how == reduction::mean_of_sequence_means) return ::std::tuple(n > 0 ? sum / n : 0., 1.);
        return ::std::tuple(sum, how == reduction::mean_over_tokens ? n : 1.);
    };
    double total = 0;
    for (::std::size_t b = 0; b < layout.sequences(); ++b) total += ::std::get<0>(response(b));
    double const mean = total / share;
    double squares = 0;
    for (::std::size_t b = 0; b < layout.sequences(); ++b) {
        auto const [sum, weight] = response(b);
        double const off = (sum - mean * weight) / share;
        squares += off * off;
    }
    auto const responses = static_cast<double>(counts.sequences);
    double const error = counts.sequences < 2 ? math::quiet_nan<double>
                                              : math::sqrt(squares * (responses / (responses - 1)));
    return {mean, error, counts.sequences, counts.tokens, counts.empty};
}

/// The log-ratio of token i, in double.
template <class P, class R>
struct log_ratios {
    vector_view<P const> policy;
    vector_view<R const> reference;

    double operator()(::std::size_t i) const {
        return static_cast<double>(static_cast<compute_t<P>>(policy[i])) -
               static_cast<double>(static_cast<compute_t<R>>(reference[i]));
    }
};

/// Two vectors of log-probs that fit the layout.
template <class Policy, class Reference, class L>
auto checked_log_ratios(char const* function, Policy const& policy_logp,
                        Reference const& reference_logp, L const& layout) {
    auto const p = as_vector(policy_logp);
    auto const r = as_vector(reference_logp);
    using P = typename decltype(p)::value_type;
    using R = typename decltype(r)::value_type;
    static_assert(element<P> && element<R>, "prefer: log-probs are floating elements");
    layout.check(function);
    require_size(function, "policy_logp", p.size(), "the layout", layout.tokens());
    require_size(function, "reference_logp", r.size(), "the layout", layout.tokens());
    return log_ratios<P, R>{p, r};
}

/// What one token of response b weighs in a reduction.
template <sequence_layout L>
double token_weight(L const& layout, ::std::size_t b, reduction how, double divisor) {
    if (how != reduction::mean_of_sequence_means) return 1 / divisor;
    ::std::size_t const n = count_tokens(layout, b);
    return n == 0 ? 0 : 1 / (divisor * static_cast<double>(n));
}

template <class T>
void store_number(vector_view<T> const& out, ::std::size_t i, double x) {
    out[i] = static_cast<T>(static_cast<compute_t<T>>(x));
}

}  // namespace detail

/// The KL of policy and reference over responses, from the log-probs of responses that the policy
/// sampled: `estimator` of each counted token's log-ratio, added up within a response, averaged
/// over responses, with the standard error of that average.
///
/// policy_logp, reference_logp `[N]` (any element types); layout over N tokens. `how` names the
/// mean, as in `reduce`: by default that of the responses' sums, which for k1 and k3 is an unbiased
/// estimate of the KL of whole responses. The mean per token is a ratio of two means, and its error
/// the usual one of a ratio. The error is sqrt(Σ (x_b - mean)²/(B(B - 1))).
///
/// With the layout `whole_responses{B}` and summed log-probs `[B]`, `estimator` is of the log-ratio
/// of a whole response. k1 is then the same, k3 another estimate of that KL, k2 another number.
///
/// Special values: tokens that are not counted are skipped, whatever they hold; fewer than two
/// responses have no standard error (NaN); no responses have the mean 0. Errors: `shape_error` for
/// sizes that do not fit, `value_error` for an option out of range or `reduction::sum`. O(N),
/// twice; no allocation; sums run in double, in token order.
///
/// ```cpp
/// prefer::kl_estimate e = prefer::estimate_kl(prefer::kl::k3{}, policy_logp, ref_logp, offsets);
/// ```
///
/// Source: J. Schulman, "Approximating KL divergence", 2020.
template <kl_estimator Estimator, class Policy, class Reference, class Layout>
kl_estimate estimate_kl(Estimator const& estimator, Policy const& policy_logp,
                        Reference const& reference_logp, Layout const& layout,
                        reduction how = reduction::mean_of_sequence_sums) {
    auto const l = detail::as_layout(layout);
    auto const d = detail::checked_log_ratios("estimate_kl", policy_logp, reference_logp, l);
    estimator.validate();
    return detail::estimate_mean("estimate_kl", l, how,
                                 [&](::std::size_t i) { return estimator(d(i)); });
}

/// The same from exact token divergences (`token_kl` on the responses that the policy sampled): an
/// unbiased estimate of the KL of whole responses, whose error is that of the sampled prefixes
/// only, since each next token is averaged over exactly.
///
/// token_kl `[N]` (any element type); layout, means, special values, errors and cost as for
/// `estimate_kl`.
///
/// ```cpp
/// prefer::kl_estimate e = prefer::estimate_exact_kl(token_kl, offsets);
/// ```
///
/// Source: Y. Tang et al., 2024 (2405.08448), appendix D. KL(π‖π_ref) of responses is the
/// expectation, over responses of π, of the sum of the KL of each next token.
template <class TokenKl, class Layout>
kl_estimate estimate_exact_kl(TokenKl const& token_kl, Layout const& layout,
                              reduction how = reduction::mean_of_sequence_sums) {
    auto const v = as_vector(token_kl);
    using T = typename decltype(v)::value_type;
    static_assert(element<T>, "prefer: divergences are floating elements");
    auto const l = detail::as_layout(layout);
    l.check("estimate_exact_kl");
    detail::require_size("estimate_exact_kl", "token_kl", v.size(), "the layout", l.tokens());
    return detail::estimate_mean("estimate_exact_kl", l, how, [&](::std::size_t i) {
        return static_cast<double>(static_cast<compute_t<T>>(v[i]));
    });
}

/// The gradient of an estimate *as a loss*: what automatic differentiation of `estimate_kl` gives,
/// with the sampled tokens held fixed.
///
///     d_policy_logp[i] = weight·k'(d_i),    k1: 1,  k2: d,  k3: 1 - e^{-d} (0 below -limit)
///
/// That is not the gradient of the KL, because the samples depend on the policy too. Expected over
/// the samples of one token, k1 gives 0 (it has no effect), k2 the gradient of
/// KL(policy‖reference), and k3 that of KL(reference‖policy).
///
/// Inputs as for `estimate_kl`; d_policy_logp `[N]` is written whole, exact zeros where a token is
/// not counted. `options` name the reduction (default: mean of the responses' sums) and its global
/// normalizer; the weight is 1 over that (and over the response's length for means of means).
/// Errors before anything is written. O(N), no allocation.
template <kl_estimator Estimator, class Policy, class Reference, class Layout, class Gradient>
void kl_loss_gradient(Estimator const& estimator, Policy const& policy_logp,
                      Reference const& reference_logp, Layout const& layout,
                      Gradient&& d_policy_logp,
                      reduction_options options = {reduction::mean_of_sequence_sums,
                                                   ::std::nullopt}) {
    char const* const name = "kl_loss_gradient";
    auto const l = detail::as_layout(layout);
    auto const d = detail::checked_log_ratios(name, policy_logp, reference_logp, l);
    vector_view const out = as_vector(d_policy_logp);
    detail::require_size(name, "d_policy_logp", out.size(), "the layout", l.tokens());
    estimator.validate();
    double const divisor = detail::divisor(name, detail::count_sequences(l), options);
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        double const weight = detail::token_weight(l, b, options.how, divisor);
        for (::std::size_t i = l.first(b); i < l.last(b); ++i) {
            double slope = 0;
            if (l.counted(i)) {
                slope = weight * estimator(math::dual<double>::variable(d(i))).gradient[0];
            }
            detail::store_number(out, i, slope);
        }
    }
}

/// The gradient of an estimate *as a reward*: the estimate as a penalty that is a constant, times
/// the gradient of the log-prob of what was sampled (the score-function, or REINFORCE, gradient of
/// the expected penalty).
///
///     d_policy_logp[i] = weight·Σ_{i' >= i} k(d_i'),    over the counted tokens of the response
///
/// or k(d_i) alone with `kl_credit::own_token`. With k1 and `to_go` the expectation is the gradient
/// of KL(policy‖reference) of whole responses. With k2 and k3 it is not: those are right as values,
/// and k2 as a loss. No baseline is taken away: that lowers the variance, and is the caller's.
///
/// Inputs, outputs, options and errors as for `kl_loss_gradient`. O(N), no allocation.
template <kl_estimator Estimator, class Policy, class Reference, class Layout, class Gradient>
void kl_reward_gradient(Estimator const& estimator, Policy const& policy_logp,
                        Reference const& reference_logp, Layout const& layout,
                        Gradient&& d_policy_logp, kl_credit credit = kl_credit::to_go,
                        reduction_options options = {reduction::mean_of_sequence_sums,
                                                     ::std::nullopt}) {
    char const* const name = "kl_reward_gradient";
    auto const l = detail::as_layout(layout);
    auto const d = detail::checked_log_ratios(name, policy_logp, reference_logp, l);
    vector_view const out = as_vector(d_policy_logp);
    detail::require_size(name, "d_policy_logp", out.size(), "the layout", l.tokens());
    estimator.validate();
    double const divisor = detail::divisor(name, detail::count_sequences(l), options);
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        double const weight = detail::token_weight(l, b, options.how, divisor);
        double to_go = 0;
        for (::std::size_t i = l.last(b); i-- > l.first(b);) {
            double slope = 0;
            if (l.counted(i)) {
                double const own = estimator(d(i));
                to_go += own;
                slope = weight * (credit == kl_credit::to_go ? to_go : own);
            }
            detail::store_number(out, i, slope);
        }
    }
}

}  // namespace prefer
