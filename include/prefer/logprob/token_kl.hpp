// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/lanes.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/token_divergence.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/logprob/token_options.hpp>
#include <prefer/logprob/token_rows.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sum_exp.hpp>
#include <prefer/math/pack.hpp>

namespace prefer {

/// Where `token_kl_backward` writes: `[N, V]` for the policy, and for the reference if asked.
///
/// ```cpp
/// auto const both = prefer::token_kl_gradients(d_policy).with_reference(d_reference);
/// ```
template <element T>
class token_kl_gradients {
public:
    template <class Gradient>
        requires matrix_like<Gradient>
    explicit token_kl_gradients(Gradient&& d_policy_logits)
        : policy(as_matrix(::std::forward<Gradient>(d_policy_logits))) {}

    template <class Gradient>
    token_kl_gradients with_reference(Gradient&& d_reference_logits) const {
        token_kl_gradients t = *this;
        t.reference = as_matrix(::std::forward<Gradient>(d_reference_logits));
        return t;
    }

    matrix_view<T> policy;
    matrix_view<T> reference;
};

template <class Gradient>
token_kl_gradients(Gradient&&) -> token_kl_gradients<matrix_element_t<Gradient>>;

namespace detail {

/// One of the two rows: its logits, what maps them, and its normaliser.
template <class T, class B>
struct kl_side {
    using value_type = T;

    vector_view<T const> row;
    vector_view<B const> bias;
    logit_map<compute_t<T>> map;
    row_normalizer<compute_t<T>> normalizer;

    kl_side(vector_view<T const> logits, vector_view<B const> added,
            logit_map<compute_t<T>> const& how)
        : row(logits), bias(added), map(how), normalizer(sum_row<false, T, B>(row, bias, map)) {}

    bool untouched() const {
        return bias.empty() && !map.capped && map.inner >= 1 && map.inner <= 1;
    }
};

/// A block of logits as the softmax sees them, in C; the last pack is filled up with -inf.
template <class C>
class logit_block {
public:
    template <class T, class B>
    void read(kl_side<T, B> const& side, ::std::size_t first, ::std::size_t n) {
        if constexpr (::std::same_as<T, C>) {
            if (side.row.stride() == 1 && fills_packs(n) && side.untouched()) {
                at_ = side.row.data() + first;
                return;
            }
        }
        at_ = numbers_;
        auto const row = side.row.slice(first, n);
        if (!side.untouched()) {
            auto const bias = side.bias.empty() ? side.bias : side.bias.slice(first, n);
            for (::std::size_t j = 0; j < n; ++j) {
                numbers_[j] = static_cast<C>(mapped_logit<T, B>(row, bias, side.map, j));
            }
        } else if (row.stride() == 1) {
            T const* const from = row.data();
            for (::std::size_t j = 0; j < n; ++j) {
                numbers_[j] = static_cast<C>(static_cast<compute_t<T>>(from[j]));
            }
        } else {
            for (::std::size_t j = 0; j < n; ++j) {
                numbers_[j] = static_cast<C>(static_cast<compute_t<T>>(row[j]));
            }
        }
        for (::std::size_t j = n; !fills_packs(j); ++j) numbers_[j] = -math::infinity<C>;
    }

    C operator[](::std::size_t j) const { return at_[j]; }

    template <class P>
    P lanes(::std::size_t j) const {
        return load_lanes<P>(at_ + j);
    }

private:
    C const* at_ = numbers_;
    C numbers_[block_size];
};

/// A pair of rows that have a softmax, p and q: gives packs of both, in units of 1/Z of p.
template <class C>
class kl_rows {
public:
    using lanes = math::lanes_t<C>;
    using wide = math::wide_t<C>;

    template <class First, class Second>
    kl_rows(First const& p, Second const& q)
        : p_shift_(static_cast<C>(p.normalizer.shift)),
          q_shift_(static_cast<C>(q.normalizer.shift)),
          q_scale_(static_cast<C>(static_cast<wide>(p.normalizer.sum) /
                                  static_cast<wide>(q.normalizer.sum))),
          gap_(static_cast<C>(math::log(static_cast<wide>(p.normalizer.sum)) -
                              math::log(static_cast<wide>(q.normalizer.sum)))) {}

    /// Calls `visit(j, p, q, log p - log q)` for the packs of a block.
    template <class Visit>
    void visit(logit_block<C> const& p, logit_block<C> const& q, ::std::size_t n,
               Visit const& visit) const {
        for (::std::size_t j = 0; j < n; j += lane_count<lanes>) {
            lanes const a = p.template lanes<lanes>(j) - lanes(p_shift_);
            lanes const b = q.template lanes<lanes>(j) - lanes(q_shift_);
            lanes const t = (a - b) - lanes(gap_);  // NaN where both are -inf
            visit(j, math::exp_below_zero(a), math::exp_below_zero(b) * lanes(q_scale_),
                  math::select(math::is_nan(t), lanes(C(0)), t));
        }
    }

    /// Calls it for all of the rows.
    template <class First, class Second, class Visit>
    void visit_rows(First const& first, Second const& second, Visit const& visit_packs) const {
        logit_block<C> p;
        logit_block<C> q;
        for (::std::size_t k = 0; k < first.row.size(); k += block_size) {
            ::std::size_t const rest = first.row.size() - k;
            ::std::size_t const n = rest < block_size ? rest : block_size;
            p.read(first, k, n);
            q.read(second, k, n);
            visit(p, q, n, visit_packs);
        }
    }

private:
    C p_shift_;
    C q_shift_;
    C q_scale_;
    C gap_;
};

/// The divergence of one pair of rows: what a backend that divides the work itself calls.
template <class C, class Terms, class First, class Second>
math::wide_t<C> kl_row(Terms const& terms, First const& first, Second const& second) {
    using W = math::wide_t<C>;
    if (!first.normalizer.proper() || !second.normalizer.proper()) return math::quiet_nan<W>;
    using P = typename kl_rows<C>::lanes;
    kl_rows<C> const rows(first, second);
    // Divided by what the p of these packs add up to: an error of the normalisers enters squared.
    lane_sum<P> sum;
    lane_sum<P> mass;
    rows.visit_rows(first, second, [&](::std::size_t, P const& p, P const& q, P const& t) {
        mass.add(p);
        sum.add(terms.term(p, q, t));
    });
    W const total = static_cast<W>(sum.total() / mass.total());
    return math::min(static_cast<W>(terms.most()), math::max(W(0), total));
}

template <class C, class Side, class D>
void store_gradient(C const* values, logit_block<C> const& logits, Side const& side,
                    vector_view<D> const& out, ::std::size_t n) {
    using S = compute_t<typename Side::value_type>;
    for (::std::size_t j = 0; j < n; ++j) {
        C const slope = static_cast<C>(side.map.slope(static_cast<S>(logits[j])));
        out[j] = static_cast<D>(static_cast<compute_t<D>>(values[j] * slope));
    }
}

/// The gradient of one pair of rows. An output that is empty is not wanted; each may be the row it
/// is the gradient of.
template <class C, class Terms, class First, class Second, class D>
void kl_gradient_row(Terms const& terms, First const& first, Second const& second,
                     math::wide_t<C> g, vector_view<D> const& d_first,
                     vector_view<D> const& d_second) {
    using W = math::wide_t<C>;
    using P = typename kl_rows<C>::lanes;
    if (!first.normalizer.proper() || !second.normalizer.proper()) {
        auto const nan = static_cast<D>(math::quiet_nan<compute_t<D>>);
        for (::std::size_t j = 0; j < d_first.size(); ++j) d_first[j] = nan;
        for (::std::size_t j = 0; j < d_second.size(); ++j) d_second[j] = nan;
        return;
    }
    kl_rows<C> const rows(first, second);
    lane_sum<P> mass;
    lane_sum<P> first_sum;
    lane_sum<P> second_sum;
    rows.visit_rows(first, second, [&](::std::size_t, P const& p, P const& q, P const& t) {
        mass.add(p);
        if (!d_first.empty()) first_sum.add(terms.policy_pull(p, q, t));
        if (!d_second.empty()) second_sum.add(terms.reference_pull(p, q, t));
    });
    // Taken away from each score, so that a row of gradients sums to 0.
    double const all = mass.total();
    P const first_mean(static_cast<C>(first_sum.total() / all));
    P const second_mean(static_cast<C>(second_sum.total() / all));
    P const scale(static_cast<C>(g / static_cast<W>(all)));
    logit_block<C> p_block;
    logit_block<C> q_block;
    C first_values[block_size];
    C second_values[block_size];
    for (::std::size_t k = 0; k < first.row.size(); k += block_size) {
        ::std::size_t const rest = first.row.size() - k;
        ::std::size_t const n = rest < block_size ? rest : block_size;
        p_block.read(first, k, n);
        q_block.read(second, k, n);
        rows.visit(p_block, q_block, n, [&](::std::size_t j, P const& p, P const& q, P const& t) {
            if (!d_first.empty()) {
                P const d = terms.policy_pull(p, q, t) - p * first_mean;
                store_lanes(P(d * scale), first_values + j);
            }
            if (!d_second.empty()) {
                P const d = terms.reference_pull(p, q, t) - q * second_mean;
                store_lanes(P(d * scale), second_values + j);
            }
        });
        if (!d_first.empty()) {
            store_gradient(first_values, p_block, first, d_first.slice(k, n), n);
        }
        if (!d_second.empty()) {
            store_gradient(second_values, q_block, second, d_second.slice(k, n), n);
        }
    }
}

template <class P, class Q>
void check_kl_rows(char const* function, P const& policy, Q const& reference) {
    require_size(function, "reference_logits' rows", reference.logits.rows(), "policy_logits' rows",
                 policy.logits.rows());
    require_size(function, "reference_logits' columns", reference.logits.columns(),
                 "policy_logits' columns", policy.logits.columns());
    check_bias(function, policy.bias, policy.logits.columns());
    check_bias(function, reference.bias, reference.logits.columns());
}

template <class D>
void check_kl_gradient(char const* function, char const* rows, char const* columns,
                       matrix_view<D> const& d, ::std::size_t n, ::std::size_t v) {
    require_size(function, rows, d.rows(), "policy_logits' rows", n);
    require_size(function, columns, d.columns(), "policy_logits' columns", v);
}

template <class Out>
    requires matrix_like<Out&>
auto as_token_kl_gradients(Out& out) {
    return token_kl_gradients(out);
}
template <class D>
token_kl_gradients<D> as_token_kl_gradients(token_kl_gradients<D> const& out) {
    return out;
}

/// What two rows of logits are computed in together.
template <class T, class U>
using joint_compute_t = ::std::common_type_t<compute_t<T>, compute_t<U>>;

}  // namespace detail

/// The exact divergence of policy and reference at each token, over the whole vocabulary:
///
///     out[i] = D(softmax(z(policy_logits[i])), softmax(z(reference_logits[i])))
///
/// with D = KL(policy‖reference), or another of `token_divergence` (reverse_kl, forward_kl,
/// jensen_shannon, alpha{.order}), whose formulas stand there.
///
/// policy_logits, reference_logits `[N, V]`, of any element types (one may be narrower than the
/// other), or `biased(logits, bias)`; labels `[N]` (integers), read only to know which rows are
/// ignored, so those of `token_log_probs`; token_kl `[N]` (written). z, the ignore index and the
/// vocabulary that exists are of `token_options`, the same for both. Rows of double are computed in
/// double, others in float (one of each: to the accuracy of float); sums run in double.
///
/// D is computed as a sum of terms none of which is negative, each relative to its row's maximum:
/// a common offset costs nothing, D is never below 0, equal rows give exactly 0, and nearly equal
/// ones lose no digits to cancellation. In float, the error is about 1e-6 of D and 1e-7.
///
/// Special values: a logit of -inf has probability 0, and 0·log 0 is 0. Where that makes D infinite
/// (reverse_kl: the reference excludes a token that the policy has; forward_kl: the other way
/// round) it is +inf; jensen_shannon is never more than log 2, alpha than 1/(α(1 - α)). If either
/// row has a NaN or +inf, or nothing but -inf, NaN. An ignored row gives 0 and is not read. Errors,
/// before anything is written: `shape_error` for sizes that do not fit, `value_error` for a label
/// that is neither a column nor the ignore index, or an option or order out of range. O(N·V), each
/// row read twice (the second time from cache); no allocation; each row depends on that row only,
/// so results do not depend on threads. Returns the numbers of scored and ignored rows.
///
/// ```cpp
/// prefer::token_kl(policy_logits, reference_logits, labels, token_kl);
/// ```
///
/// Source: the per-token term of Y. Tang et al., 2024 (2405.08448), appendix D.
template <backend_like Backend, class Policy, class Reference, class Labels, class Out,
          token_divergence_like Divergence = token_divergence::reverse_kl>
token_counts token_kl(Backend const& on, Policy const& policy_logits,
                      Reference const& reference_logits, Labels const& labels, Out&& token_kl_out,
                      Divergence const& divergence = {}, token_options options = {}) {
    auto const policy = detail::logits_and_bias(policy_logits);
    auto const reference = detail::logits_and_bias(reference_logits);
    auto const y = as_vector(labels);
    auto const out = as_vector(token_kl_out);
    using T = typename decltype(policy.logits)::value_type;
    using TB = typename decltype(policy.bias)::value_type;
    using U = typename decltype(reference.logits)::value_type;
    using UB = typename decltype(reference.bias)::value_type;
    using Label = typename decltype(y)::value_type;
    using O = typename decltype(out)::element_type;
    using C = detail::joint_compute_t<T, U>;
    static_assert(element<O>, "prefer: divergences are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    vector_view<Label const> const label_view(y);

    char const* const name = "token_kl";
    ::std::size_t const n = policy.logits.rows();
    ::std::size_t const v = policy.logits.columns();
    detail::check_kl_rows(name, policy, reference);
    detail::require_size(name, "labels", y.size(), "policy_logits' rows", n);
    detail::require_size(name, "token_kl", out.size(), "policy_logits' rows", n);
    detail::check_options(name, options, v);
    divergence.validate();
    ::std::size_t const vocabulary = detail::vocabulary_of(options, v);
    token_counts const counts = detail::check_labels<Label>(name, label_view, vocabulary, options);

    if constexpr (requires {
                      on.token_kl(policy, reference, label_view, out, divergence, options);
                  }) {
        on.token_kl(policy, reference, label_view, out, divergence, options);
    } else {
        detail::logit_map<compute_t<T>> const policy_map(options);
        detail::logit_map<compute_t<U>> const reference_map(options);
        auto const policy_bias = detail::first_columns(policy.bias, vocabulary);
        auto const reference_bias = detail::first_columns(reference.bias, vocabulary);
        detail::with_terms<C>(divergence, [&](auto const& terms, bool swapped) {
            detail::for_each_row(on, n, v, [&](::std::size_t i) {
                if (detail::is_label(label_view[i], options.ignore_index)) {
                    out[i] = static_cast<O>(compute_t<O>(0));
                    return;
                }
                detail::kl_side<T, TB> const p(policy.logits.row(i).slice(0, vocabulary),
                                               policy_bias, policy_map);
                detail::kl_side<U, UB> const q(reference.logits.row(i).slice(0, vocabulary),
                                               reference_bias, reference_map);
                auto const d =
                    swapped ? detail::kl_row<C>(terms, q, p) : detail::kl_row<C>(terms, p, q);
                out[i] = static_cast<O>(static_cast<compute_t<O>>(d));
            });
        });
    }
    return counts;
}

template <class Policy, class Reference, class Labels, class Out,
          token_divergence_like Divergence = token_divergence::reverse_kl>
    requires(!backend_like<Policy>)
token_counts token_kl(Policy const& policy_logits, Reference const& reference_logits,
                      Labels const& labels, Out&& token_kl_out, Divergence const& divergence = {},
                      token_options options = {}) {
    return token_kl(backend::plain{}, policy_logits, reference_logits, labels, token_kl_out,
                    divergence, options);
}

/// The gradient of `token_kl`: with s = ∂D/∂p and r = ∂D/∂q at each token of row i,
///
///     d_policy_logits[i]    = d_token_kl[i]·p·(s - Σ p·s)      (reverse_kl: p·(t - D))
///     d_reference_logits[i] = d_token_kl[i]·q·(r - Σ q·r)      (reverse_kl: q - p)
///
/// times dz/dx where the options change the logits; the reference's only when asked for, by
/// `token_kl_gradients`. This is the derivative at the given tokens: that the policy also chose the
/// tokens before it is not in it (see `kl_reward_gradient`).
///
/// Shapes, element types, options and errors as there; gradients `[N, V]` are written whole
/// (padding columns get 0), and each may be the logits it is the gradient of (same memory, same
/// strides), but may not overlap logits otherwise. Rows that are ignored, or whose d_token_kl is 0,
/// get exact zeros and are not read. Equal rows have the gradient 0. A row without a softmax gives
/// NaN in both; where D is infinite, so does the side whose scores are (reverse_kl: the policy;
/// forward_kl: the reference), while the other is finite. O(N·V), three reads and one write, no
/// allocation.
template <backend_like Backend, class Policy, class Reference, class Labels, class Upstream,
          class Gradient, token_divergence_like Divergence = token_divergence::reverse_kl>
void token_kl_backward(Backend const& on, Policy const& policy_logits,
                       Reference const& reference_logits, Labels const& labels,
                       Upstream const& d_token_kl, Gradient&& d_policy_logits,
                       Divergence const& divergence = {}, token_options options = {}) {
    auto const policy = detail::logits_and_bias(policy_logits);
    auto const reference = detail::logits_and_bias(reference_logits);
    auto const y = as_vector(labels);
    auto const g = as_vector(d_token_kl);
    auto const out = detail::as_token_kl_gradients(d_policy_logits);
    using T = typename decltype(policy.logits)::value_type;
    using TB = typename decltype(policy.bias)::value_type;
    using U = typename decltype(reference.logits)::value_type;
    using UB = typename decltype(reference.bias)::value_type;
    using Label = typename decltype(y)::value_type;
    using G = typename decltype(g)::value_type;
    using D = typename decltype(out.policy)::element_type;
    using C = detail::joint_compute_t<T, U>;
    static_assert(element<G> && element<D>, "prefer: gradients are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    vector_view<Label const> const label_view(y);
    vector_view<G const> const upstream(g);

    char const* const name = "token_kl_backward";
    ::std::size_t const n = policy.logits.rows();
    ::std::size_t const v = policy.logits.columns();
    bool const both = out.reference.data() != nullptr;
    detail::check_kl_rows(name, policy, reference);
    detail::require_size(name, "labels", y.size(), "policy_logits' rows", n);
    detail::require_size(name, "d_token_kl", g.size(), "policy_logits' rows", n);
    detail::check_kl_gradient(name, "d_policy_logits' rows", "d_policy_logits' columns", out.policy,
                              n, v);
    if (both) {
        detail::check_kl_gradient(name, "d_reference_logits' rows", "d_reference_logits' columns",
                                  out.reference, n, v);
    }
    detail::check_options(name, options, v);
    divergence.validate();
    ::std::size_t const vocabulary = detail::vocabulary_of(options, v);
    detail::check_labels<Label>(name, label_view, vocabulary, options);

    if constexpr (requires {
                      on.token_kl_backward(policy, reference, label_view, upstream, out, divergence,
                                           options);
                  }) {
        on.token_kl_backward(policy, reference, label_view, upstream, out, divergence, options);
    } else {
        detail::logit_map<compute_t<T>> const policy_map(options);
        detail::logit_map<compute_t<U>> const reference_map(options);
        auto const policy_bias = detail::first_columns(policy.bias, vocabulary);
        auto const reference_bias = detail::first_columns(reference.bias, vocabulary);
        detail::with_terms<C>(divergence, [&](auto const& terms, bool swapped) {
            detail::for_each_row(on, n, v, [&](::std::size_t i) {
                using W = math::wide_t<C>;
                W const gi = static_cast<W>(static_cast<compute_t<G>>(upstream[i]));
                bool const flat = gi >= 0 && gi <= 0;
                bool const skipped = flat || detail::is_label(label_view[i], options.ignore_index);
                auto const d_policy = out.policy.row(i);
                auto const d_reference = both ? out.reference.row(i) : vector_view<D>();
                if (!skipped) {
                    detail::kl_side<T, TB> const p(policy.logits.row(i).slice(0, vocabulary),
                                                   policy_bias, policy_map);
                    detail::kl_side<U, UB> const q(reference.logits.row(i).slice(0, vocabulary),
                                                   reference_bias, reference_map);
                    auto const dp = d_policy.slice(0, vocabulary);
                    auto const dq = detail::first_columns(d_reference, vocabulary);
                    if (swapped) {
                        detail::kl_gradient_row<C>(terms, q, p, gi, dq, dp);
                    } else {
                        detail::kl_gradient_row<C>(terms, p, q, gi, dp, dq);
                    }
                }
                auto const zero = static_cast<D>(compute_t<D>(0));
                for (::std::size_t j = skipped ? 0 : vocabulary; j < v; ++j) {
                    d_policy[j] = zero;
                    if (both) d_reference[j] = zero;
                }
            });
        });
    }
}

template <class Policy, class Reference, class Labels, class Upstream, class Gradient,
          token_divergence_like Divergence = token_divergence::reverse_kl>
    requires(!backend_like<Policy>)
void token_kl_backward(Policy const& policy_logits, Reference const& reference_logits,
                       Labels const& labels, Upstream const& d_token_kl, Gradient&& d_policy_logits,
                       Divergence const& divergence = {}, token_options options = {}) {
    token_kl_backward(backend::plain{}, policy_logits, reference_logits, labels, d_token_kl,
                      d_policy_logits, divergence, options);
}

}  // namespace prefer
