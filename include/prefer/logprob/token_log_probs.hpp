// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/token_options.hpp>
#include <prefer/logprob/token_rows.hpp>
#include <prefer/math/log_sum_exp.hpp>

namespace prefer {

namespace detail {

/// Rows in one task: enough of them that starting it costs nothing.
inline ::std::size_t rows_in_task(::std::size_t columns) {
    return (1U << 15U) / (columns == 0 ? 1 : columns) + 1;
}

/// Calls `work(i)` for each row, in tasks of several.
template <class Backend, class Work>
void for_each_row(Backend const& on, ::std::size_t rows, ::std::size_t columns, Work const& work) {
    ::std::size_t const share = rows_in_task(columns);
    for_each_task(on, (rows + share - 1) / share, [&](::std::size_t task, ::std::size_t) {
        ::std::size_t const last = task * share + share < rows ? task * share + share : rows;
        for (::std::size_t i = task * share; i < last; ++i) work(i);
    });
}

/// Writes what `sums` and the label's logit say of row `i`.
template <class C, class O, class K>
void write_token(token_outputs<O, K> const& out, ::std::size_t i, ::std::size_t vocabulary,
                 row_sums<C> const& sums, C label_z) {
    using W = math::wide_t<C>;
    auto const store = [](W x) { return static_cast<O>(static_cast<compute_t<O>>(x)); };
    auto const put = [&](vector_view<O> const& where, W x) {
        if (!where.empty()) where[i] = store(sums.proper() ? x : math::quiet_nan<W>);
    };
    out.log_prob[i] = store(sums.log_prob(label_z));
    if (!out.hits.empty())
        out.hits[i] = store(sums.proper() && label_z >= sums.shift ? W(1) : W(0));
    put(out.entropy, sums.entropy());
    put(out.log_sum_squares, sums.log_sum_squares());
    put(out.mean_logit, sums.total / static_cast<W>(vocabulary));
    if constexpr (::std::same_as<K, row_normalizer<C>>) {
        if (!out.normalizers.empty()) out.normalizers[i] = sums;
    }
}

template <class O, class K>
void write_ignored(token_outputs<O, K> const& out, ::std::size_t i) {
    auto const put = [i](vector_view<O> const& where) {
        if (!where.empty()) where[i] = static_cast<O>(compute_t<O>(0));
    };
    put(out.log_prob);
    put(out.entropy);
    put(out.hits);
    put(out.log_sum_squares);
    put(out.mean_logit);
    if (!out.normalizers.empty()) out.normalizers[i] = {};
}

template <class O, class K>
void check_outputs(char const* function, token_outputs<O, K> const& out, ::std::size_t rows) {
    require_size(function, "token_logp", out.log_prob.size(), "logits' rows", rows);
    auto const check = [&](char const* what, vector_view<O> const& where) {
        if (where.data() != nullptr)
            require_size(function, what, where.size(), "logits' rows", rows);
    };
    check("entropy", out.entropy);
    check("hits", out.hits);
    check("log_sum_squares", out.log_sum_squares);
    check("mean_logit", out.mean_logit);
    if (out.normalizers.data() != nullptr) {
        require_size(function, "normalizers", out.normalizers.size(), "logits' rows", rows);
    }
}

template <class Out>
    requires vector_like<Out&>
auto as_token_outputs(Out& out) {
    return token_outputs(out);
}
template <class O, class K>
token_outputs<O, K> as_token_outputs(token_outputs<O, K> const& out) {
    return out;
}

}  // namespace detail

/// Token log-probs: out[i] = log softmax(z(logits[i]))[labels[i]], the primitive under every loss.
///
/// logits `[N, V]`, or `biased(logits, bias)`; labels `[N]` (integers); token_logp `[N]` (written),
/// or `token_outputs`, which asks for the entropy and other numbers of the same rows in the same
/// pass. Row i of the logits is the distribution that label i was drawn from: `next_token_labels`
/// does the shift by one. z is the identity unless the options say otherwise. Elements are double,
/// float, bfloat16 or half; arithmetic is in float for the narrow types, the row sum in double, the
/// result relative to the row's maximum, so a common offset costs nothing.
///
/// Special values: a logit of -inf is a token that cannot occur (log-prob -inf where it is the
/// label); under a soft cap, infinities are the cap. A row with a NaN or +inf, or of nothing but
/// -inf, gives NaN. An ignored row gives 0. Errors, before anything is written: `shape_error` for
/// sizes that do not fit, `value_error` for a label that is neither a column nor the ignore index,
/// or an option out of range. O(N·V), the logits are read once; no allocation; each row depends on
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
    auto const [in, bias] = detail::logits_and_bias(logits);
    auto const y = as_vector(labels);
    auto const out = detail::as_token_outputs(token_logp);
    using T = typename decltype(in)::value_type;
    using B = typename decltype(bias)::value_type;
    using Label = typename decltype(y)::value_type;
    using O = typename decltype(out.log_prob)::value_type;
    using C = compute_t<T>;
    using Kept = typename decltype(out.normalizers)::value_type;
    static_assert(element<O>, "prefer: log-probs are floating elements");
    static_assert(::std::same_as<Kept, no_normalizer> || ::std::same_as<Kept, row_normalizer<C>>,
                  "prefer: normalisers are kept as prefer::row_normalizer<double> for logits in "
                  "double, and as prefer::row_normalizer<float> for all others");
    static_assert(index_element<Label>, "prefer: labels are integers");
    vector_view<Label const> const label_view(y);

    char const* const name = "token_log_probs";
    detail::require_size(name, "labels", y.size(), "logits' rows", in.rows());
    detail::check_outputs(name, out, in.rows());
    detail::check_bias(name, bias, in.columns());
    detail::check_options(name, options, in.columns());
    ::std::size_t const vocabulary = detail::vocabulary_of(options, in.columns());
    token_counts const counts = detail::check_labels<Label>(name, label_view, vocabulary, options);

    if constexpr (requires { on.token_log_probs(in, bias, label_view, out, options); }) {
        on.token_log_probs(in, bias, label_view, out, options);
    } else {
        detail::logit_map<C> const map(options);
        auto const real_bias = detail::first_columns(bias, vocabulary);
        bool const second =
            !out.entropy.empty() || !out.log_sum_squares.empty() || !out.mean_logit.empty();
        detail::for_each_row(on, in.rows(), in.columns(), [&](::std::size_t i) {
            auto const label = label_view[i];
            if (detail::is_label(label, options.ignore_index)) {
                detail::write_ignored(out, i);
                return;
            }
            auto const row = in.row(i).slice(0, vocabulary);
            auto const sums = second ? detail::sum_row<true, T, B>(row, real_bias, map)
                                     : detail::sum_row<false, T, B>(row, real_bias, map);
            C const label_z =
                detail::mapped_logit<T, B>(row, real_bias, map, static_cast<::std::size_t>(label));
            detail::write_token(out, i, vocabulary, sums, label_z);
        });
    }
    return counts;
}

template <class Logits, class Labels, class Out>
    requires(!backend_like<Logits>)
token_counts token_log_probs(Logits const& logits, Labels const& labels, Out&& token_logp,
                             token_options options = {}) {
    return token_log_probs(backend::plain{}, logits, labels, token_logp, options);
}

namespace detail {

/// `kept`: nothing, or a view of the normalisers of the forward pass.
template <class Backend, class Logits, class Labels, class Upstream, class Gradient, class... Kept>
void token_backward(Backend const& on, Logits const& logits, Labels const& labels,
                    Upstream const& d_token_logp, Gradient& d_logits, token_options const& options,
                    Kept const&... kept) {
    auto const [in, bias] = logits_and_bias(logits);
    auto const y = as_vector(labels);
    auto const g = as_vector(d_token_logp);
    matrix_view const out = as_matrix(d_logits);
    using T = typename decltype(in)::value_type;
    using B = typename decltype(bias)::value_type;
    using Label = typename decltype(y)::value_type;
    using G = typename decltype(g)::value_type;
    using D = typename decltype(out)::value_type;
    using C = compute_t<T>;
    static_assert(element<G> && element<D>, "prefer: gradients are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    static_assert((::std::same_as<typename Kept::value_type, row_normalizer<C>> && ...),
                  "prefer: kept normalisers are prefer::row_normalizer<double> for logits in "
                  "double, and prefer::row_normalizer<float> for all others");
    vector_view<Label const> const label_view(y);
    vector_view<G const> const upstream(g);

    char const* const name = "token_log_probs_backward";
    require_size(name, "labels", y.size(), "logits' rows", in.rows());
    require_size(name, "d_token_logp", g.size(), "logits' rows", in.rows());
    require_size(name, "d_logits' rows", out.rows(), "logits' rows", in.rows());
    require_size(name, "d_logits' columns", out.columns(), "logits' columns", in.columns());
    (require_size(name, "normalizers", kept.size(), "logits' rows", in.rows()), ...);
    check_bias(name, bias, in.columns());
    check_options(name, options, in.columns());
    ::std::size_t const vocabulary = vocabulary_of(options, in.columns());
    check_labels<Label>(name, label_view, vocabulary, options);

    if constexpr (requires {
                      on.token_log_probs_backward(in, bias, label_view, upstream, kept..., out,
                                                  options);
                  }) {
        on.token_log_probs_backward(in, bias, label_view, upstream, kept..., out, options);
    } else {
        logit_map<C> const map(options);
        auto const real_bias = first_columns(bias, vocabulary);
        for_each_row(on, in.rows(), in.columns(), [&](::std::size_t i) {
            auto const label = label_view[i];
            auto const gi = static_cast<math::wide_t<C>>(static_cast<compute_t<G>>(upstream[i]));
            bool const flat = gi >= 0 && gi <= 0;
            bool const skipped = flat || is_label(label, options.ignore_index);
            ::std::size_t const read = skipped ? 0 : vocabulary;
            if (!skipped) {
                auto const row = in.row(i).slice(0, vocabulary);
                row_normalizer<C> n;
                if constexpr (sizeof...(kept) > 0) {
                    ((n = kept[i]), ...);
                } else {
                    n = sum_row<false, T, B>(row, real_bias, map);
                }
                gradient_row<T, B, D>(row, real_bias, map, n, static_cast<::std::size_t>(label), gi,
                                      out.row(i).slice(0, vocabulary));
            }
            for (::std::size_t j = read; j < out.columns(); ++j) {
                out(i, j) = static_cast<D>(compute_t<D>(0));
            }
        });
    }
}

}  // namespace detail

/// The gradient of `token_log_probs`: d_logits[i] = d_token_logp[i]·(onehot(labels[i]) - softmax),
/// times dz/dx where the options change the logits.
///
/// Shapes, element types, options and errors as there; d_logits `[N, V]` is written whole (padding
/// columns get 0), and may be the logits themselves (same memory, same strides), but may not
/// overlap them otherwise. The softmax is recomputed from the logits, in a first read of each row;
/// `normalizers [N]` that the forward pass kept (`token_outputs::with_normalizers`), for the same
/// logits and options, spare that read and change no bit. Rows that are ignored, or whose
/// d_token_logp is 0, get exact zeros and are not read, whatever they hold. A row without a softmax
/// (see above) gets NaN. A label of probability 0 has the ordinary, finite gradient
/// g·(onehot - softmax). The gradient of a bias is the sum of d_logits over the rows.
///
/// ```cpp
/// prefer::token_outputs const keeping = prefer::token_outputs(token_logp).with_normalizers(kept);
/// prefer::token_log_probs(logits, labels, keeping);
/// prefer::token_log_probs_backward(logits, labels, d_token_logp, kept, d_logits);
/// ```
template <backend_like Backend, class Logits, class Labels, class Upstream, class Gradient>
void token_log_probs_backward(Backend const& on, Logits const& logits, Labels const& labels,
                              Upstream const& d_token_logp, Gradient&& d_logits,
                              token_options options = {}) {
    detail::token_backward(on, logits, labels, d_token_logp, d_logits, options);
}

template <backend_like Backend, class Logits, class Labels, class Upstream, kept_normalizers Kept,
          class Gradient>
void token_log_probs_backward(Backend const& on, Logits const& logits, Labels const& labels,
                              Upstream const& d_token_logp, Kept const& normalizers,
                              Gradient&& d_logits, token_options options = {}) {
    detail::token_backward(on, logits, labels, d_token_logp, d_logits, options,
                           as_vector(normalizers));
}

template <class Logits, class Labels, class Upstream, class Gradient>
    requires(!backend_like<Logits>)
void token_log_probs_backward(Logits const& logits, Labels const& labels,
                              Upstream const& d_token_logp, Gradient&& d_logits,
                              token_options options = {}) {
    token_log_probs_backward(backend::plain{}, logits, labels, d_token_logp, d_logits, options);
}

template <class Logits, class Labels, class Upstream, kept_normalizers Kept, class Gradient>
    requires(!backend_like<Logits>)
void token_log_probs_backward(Logits const& logits, Labels const& labels,
                              Upstream const& d_token_logp, Kept const& normalizers,
                              Gradient&& d_logits, token_options options = {}) {
    token_log_probs_backward(backend::plain{}, logits, labels, d_token_logp, normalizers, d_logits,
                             options);
}

}  // namespace prefer
