// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sum_exp.hpp>

namespace prefer {

struct token_options {
    /// A row with this label is not scored: log-prob 0, gradient 0, its logits are not read.
    ::std::int64_t ignore_index = default_ignore_index;
};

/// How many rows were scored, and how many had the ignore index.
struct token_counts {
    ::std::size_t scored = 0;
    ::std::size_t ignored = 0;
};

namespace detail {

/// Checks labels before anything is written: each is a column, or the ignore index.
template <class Label>
token_counts check_labels(char const* function, vector_view<Label const> labels,
                          ::std::size_t columns, token_options const& options) {
    token_counts counts;
    for (::std::size_t i = 0; i < labels.size(); ++i) {
        Label const label = labels[i];
        if (is_label(label, options.ignore_index)) {
            ++counts.ignored;
        } else if (label >= 0 && static_cast<::std::uint64_t>(label) < columns) {
            ++counts.scored;
        } else {
            throw_bad_element(
                function, "labels", i, +label,
                message("in [0, ", columns, ") or the ignore index ", options.ignore_index)
                    .c_str());
        }
    }
    return counts;
}

/// The normaliser of one row of logits: the largest logit, and Σ e^(x - largest).
template <class C>
struct row_normalizer {
    using wide = math::wide_t<C>;

    C shift{};
    wide sum{};

    /// False when the row has a NaN or +inf, or nothing but -inf: it has no softmax.
    bool proper() const { return math::is_finite(shift); }

    /// log softmax of a logit of this row, relative to the shift: no digits are lost to an offset.
    wide log_prob(C logit) const {
        if (!proper()) return math::quiet_nan<wide>;
        return (static_cast<wide>(logit) - static_cast<wide>(shift)) - math::log(sum);
    }
};

template <class T>
row_normalizer<compute_t<T>> normalize_row(vector_view<T const> row) {
    using C = compute_t<T>;
    row_normalizer<C> n{-math::infinity<C>, 0};
    for (::std::size_t j = 0; j < row.size(); ++j)
        n.shift = math::max(n.shift, static_cast<C>(row[j]));
    if (!n.proper()) return n;
    for (::std::size_t j = 0; j < row.size(); ++j) {
        n.sum += static_cast<math::wide_t<C>>(math::exp(static_cast<C>(row[j]) - n.shift));
    }
    return n;
}

/// Writes g·(onehot(label) - softmax(row)). `d_row` may be `row`.
template <class T, class D>
void token_gradient_row(vector_view<T const> row, ::std::size_t label,
                        row_normalizer<compute_t<T>> const& n, math::wide_t<compute_t<T>> g,
                        vector_view<D> d_row) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    auto const store = [&](::std::size_t j, W x) {
        d_row[j] = static_cast<D>(static_cast<compute_t<D>>(x));
    };
    if (!n.proper()) {
        for (::std::size_t j = 0; j < row.size(); ++j) store(j, math::quiet_nan<W>);
        return;
    }
    // 1 - p of the label, without the cancellation when p is near 1.
    W const miss = -math::expm1(n.log_prob(static_cast<C>(row[label])));
    W const scale = -g / n.sum;
    for (::std::size_t j = 0; j < row.size(); ++j) {
        store(j, scale * static_cast<W>(math::exp(static_cast<C>(row[j]) - n.shift)));
    }
    store(label, g * miss);
}

}  // namespace detail

/// Token log-probs: out[i] = log softmax(logits[i])[labels[i]], the primitive under every loss.
///
/// logits `[N, V]`, labels `[N]` (integers), token_logp `[N]` (written); row i of the logits is the
/// distribution that label i was drawn from: `next_token_labels` does the shift by one. Elements
/// are double, float, bfloat16 or half; arithmetic is in float for the narrow types, the row sum in
/// double, the result relative to the row's maximum, so a common offset costs nothing.
///
/// Special values: a logit of -inf is a token that cannot occur (log-prob -inf where it is the
/// label). A row with a NaN or +inf, or of nothing but -inf, gives NaN. An ignored row gives 0.
/// Errors, before anything is written: `shape_error` for sizes that do not fit, `value_error` for a
/// label that is neither a column nor the ignore index. O(N·V), no allocation; each row depends on
/// that row only, so the same input gives the same bits for any number of rows or threads.
/// Returns the numbers of scored and ignored rows.
///
/// ```cpp
/// prefer::token_log_probs(logits, labels, token_logp);
/// prefer::token_log_probs(prefer::backend::eigen{.threads = 2}, logits, labels, token_logp);
/// ```
template <backend_like Backend, class Logits, class Labels, class Out>
token_counts token_log_probs(Backend const& on, Logits const& logits, Labels const& labels,
                             Out&& token_logp, token_options options = {}) {
    auto const x = as_matrix(logits);
    auto const y = as_vector(labels);
    vector_view const out = as_vector(token_logp);
    using T = typename decltype(x)::value_type;
    using Label = typename decltype(y)::value_type;
    using O = typename decltype(out)::value_type;
    static_assert(element<T> && element<O>, "prefer: logits and log-probs are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    matrix_view<T const> const in(x);
    vector_view<Label const> const label_view(y);

    detail::require_size("token_log_probs", "labels", y.size(), "logits' rows", x.rows());
    detail::require_size("token_log_probs", "token_logp", out.size(), "logits' rows", x.rows());
    token_counts const counts =
        detail::check_labels<Label>("token_log_probs", label_view, x.columns(), options);

    if constexpr (requires { on.token_log_probs(in, label_view, out, options); }) {
        on.token_log_probs(in, label_view, out, options);
    } else {
        for (::std::size_t i = 0; i < in.rows(); ++i) {
            auto const label = static_cast<::std::int64_t>(label_view[i]);
            if (label == options.ignore_index) {
                out[i] = static_cast<O>(compute_t<O>(0));
                continue;
            }
            auto const row = in.row(i);
            auto const n = detail::normalize_row<T>(row);
            auto const logit = static_cast<compute_t<T>>(row[static_cast<::std::size_t>(label)]);
            out[i] = static_cast<O>(static_cast<compute_t<O>>(n.log_prob(logit)));
        }
    }
    return counts;
}

template <class Logits, class Labels, class Out>
    requires(!backend_like<Logits>)
token_counts token_log_probs(Logits const& logits, Labels const& labels, Out&& token_logp,
                             token_options options = {}) {
    return token_log_probs(backend::plain{}, logits, labels, token_logp, options);
}

/// The gradient of `token_log_probs`: d_logits[i] = d_token_logp[i]·(onehot(labels[i]) - softmax).
///
/// Shapes, element types and errors as there; d_logits `[N, V]` is written whole, and may be the
/// logits themselves (same memory, same strides), but may not overlap them otherwise. The softmax
/// is recomputed from the logits, so nothing is kept from the forward pass. Rows that are ignored,
/// or whose d_token_logp is 0, get exact zeros and are not read, whatever they hold. A row without
/// a softmax (see above) gets NaN. A label of probability 0 has the ordinary, finite gradient
/// g·(onehot - softmax).
template <backend_like Backend, class Logits, class Labels, class Upstream, class Gradient>
void token_log_probs_backward(Backend const& on, Logits const& logits, Labels const& labels,
                              Upstream const& d_token_logp, Gradient&& d_logits,
                              token_options options = {}) {
    auto const x = as_matrix(logits);
    auto const y = as_vector(labels);
    auto const g = as_vector(d_token_logp);
    matrix_view const out = as_matrix(d_logits);
    using T = typename decltype(x)::value_type;
    using Label = typename decltype(y)::value_type;
    using G = typename decltype(g)::value_type;
    using D = typename decltype(out)::value_type;
    static_assert(element<T> && element<G> && element<D>,
                  "prefer: logits and gradients are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    matrix_view<T const> const in(x);
    vector_view<Label const> const label_view(y);
    vector_view<G const> const upstream(g);

    char const* const name = "token_log_probs_backward";
    detail::require_size(name, "labels", y.size(), "logits' rows", x.rows());
    detail::require_size(name, "d_token_logp", g.size(), "logits' rows", x.rows());
    detail::require_size(name, "d_logits' rows", out.rows(), "logits' rows", x.rows());
    detail::require_size(name, "d_logits' columns", out.columns(), "logits' columns", x.columns());
    detail::check_labels<Label>(name, label_view, x.columns(), options);

    if constexpr (requires {
                      on.token_log_probs_backward(in, label_view, upstream, out, options);
                  }) {
        on.token_log_probs_backward(in, label_view, upstream, out, options);
    } else {
        for (::std::size_t i = 0; i < in.rows(); ++i) {
            auto const label = static_cast<::std::int64_t>(label_view[i]);
            auto const gi =
                static_cast<math::wide_t<compute_t<T>>>(static_cast<compute_t<G>>(upstream[i]));
            bool const flat = gi >= 0 && gi <= 0;
            if (label == options.ignore_index || flat) {
                for (::std::size_t j = 0; j < out.columns(); ++j) {
                    out(i, j) = static_cast<D>(compute_t<D>(0));
                }
                continue;
            }
            auto const row = in.row(i);
            detail::token_gradient_row<T, D>(row, static_cast<::std::size_t>(label),
                                             detail::normalize_row<T>(row), gi, out.row(i));
        }
    }
}

template <class Logits, class Labels, class Upstream, class Gradient>
    requires(!backend_like<Logits>)
void token_log_probs_backward(Logits const& logits, Labels const& labels,
                              Upstream const& d_token_logp, Gradient&& d_logits,
                              token_options options = {}) {
    token_log_probs_backward(backend::plain{}, logits, labels, d_token_logp, d_logits, options);
}

}  // namespace prefer
