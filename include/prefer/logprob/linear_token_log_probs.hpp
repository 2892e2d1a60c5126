// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/linear_engine.hpp>
#include <prefer/logprob/linear_head.hpp>
#include <prefer/logprob/linear_kept.hpp>
#include <prefer/logprob/linear_tile.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/logprob/token_options.hpp>

namespace prefer {

namespace detail {

/// The arguments of every head-fused function, as views, checked.
template <class H, class W, class B, class Label>
struct linear_inputs {
    using C = ::std::conditional_t<::std::is_same_v<compute_t<H>, double>, double, compute_t<W>>;
    static_assert(element<H>, "prefer: hidden states are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");

    char const* name;
    matrix_view<H const> hidden;
    linear_head<W const, B const> head;
    vector_view<Label const> labels;
    linear_options options;
    ::std::size_t vocabulary;
    token_counts counts;

    linear_inputs(char const* function, matrix_view<H const> x, linear_head<W const, B const> h,
                  vector_view<Label const> y, linear_options const& o)
        : name(function), hidden(x), head(h), labels(y), options(o),
          vocabulary(vocabulary_of(o.tokens, h.weight.rows())) {
        check_linear_head(name, head, hidden.columns());
        require_size(name, "labels", labels.size(), "hidden's rows", hidden.rows());
        check_options(name, options.tokens, head.weight.rows());
        counts = check_labels<Label>(name, labels, vocabulary, options.tokens);
    }

    bool ignored(::std::size_t i) const { return is_label(labels[i], options.tokens.ignore_index); }

    ::std::vector<scored_token> scored() const {
        ::std::vector<scored_token> tokens;
        tokens.reserve(counts.scored);
        for (::std::size_t i = 0; i < labels.size(); ++i) {
            if (ignored(i)) continue;
            tokens.push_back({i, static_cast<::std::size_t>(labels[i]), tokens.size(), 0});
        }
        return tokens;
    }

    template <class Backend>
    auto engine(Backend const& on, ::std::size_t rows) const {
        ::std::size_t const d = hidden.columns();
        auto const tile =
            linear_tile::fitting<C>(name, rows, vocabulary, d, options.workspace_bytes);
        return linear_engine<Backend, H, W, B>(on, hidden, part(head.weight, 0, vocabulary, 0, d),
                                               first_columns(head.bias, vocabulary), options.tokens,
                                               tile);
    }
};

template <class Hidden, class Head, class Labels>
auto linear_inputs_of(char const* function, Hidden const& hidden, Head const& head,
                      Labels const& labels, linear_options const& options) {
    auto const x = as_matrix(hidden);
    auto const h = read_only(as_linear_head(head));
    auto const y = as_vector(labels);
    using H = typename decltype(x)::value_type;
    using W = typename decltype(h.weight)::value_type;
    using B = typename decltype(h.bias)::value_type;
    using Label = typename decltype(y)::value_type;
    return linear_inputs<H, W, B, Label>(function, x, h, y, options);
}

/// Where the gradient of hidden states or a head goes, as a view; or nowhere.
template <class D>
void check_gradient_type() {
    static_assert(::std::is_same_v<D, float> || ::std::is_same_v<D, double>,
                  "prefer: gradients of hidden states and heads are summed in float or double");
}

inline no_gradient hidden_gradient(no_gradient) {
    return {};
}
template <class Gradient>
    requires matrix_like<Gradient&>
auto hidden_gradient(Gradient& d_hidden) {
    matrix_view const out = as_matrix(d_hidden);
    check_gradient_type<typename decltype(out)::element_type>();
    return out;
}

template <class X>
void check_gradients(char const* function, X const& in, no_gradient) {
    static_cast<void>(function), static_cast<void>(in);
}
template <class X, class D>
void check_gradients(char const* function, X const& in, matrix_view<D> d_hidden) {
    require_size(function, "d_hidden's rows", d_hidden.rows(), "hidden's rows", in.hidden.rows());
    require_size(function, "d_hidden's columns", d_hidden.columns(), "hidden's columns",
                 in.hidden.columns());
}
template <class X, class D, class DB>
void check_gradients(char const* function, X const& in, linear_head<D, DB> const& d_head) {
    check_gradient_type<D>();
    check_gradient_type<DB>();
    require_size(function, "d_head's rows", d_head.weight.rows(), "head's rows",
                 in.head.weight.rows());
    require_size(function, "d_head's columns", d_head.weight.columns(), "head's columns",
                 in.head.weight.columns());
    if (d_head.bias.data() != nullptr) {
        require_size(function, "d_head's bias", d_head.bias.size(), "head's rows",
                     in.head.weight.rows());
    }
}

inline void zero_row(no_gradient, ::std::size_t) {}
template <class D>
void zero_row(matrix_view<D> m, ::std::size_t i) {
    for (::std::size_t j = 0; j < m.columns(); ++j) m(i, j) = D(0);
}

/// Zeros in the rows of tokens that do not exist, and everywhere where no row is scored.
inline void zero_head(no_gradient, ::std::size_t) {}
template <class D, class DB>
void zero_head(linear_head<D, DB> const& d_head, ::std::size_t first) {
    for (::std::size_t v = first; v < d_head.weight.rows(); ++v) {
        zero_row(d_head.weight, v);
        if (!d_head.bias.empty()) d_head.bias[v] = DB(0);
    }
}

/// Forward of checked arguments, of all rows that are scored.
template <class Backend, class In, class Outputs, class Record>
void linear_forward(Backend const& on, In const& in, Outputs const& out,
                    ::std::vector<scored_token> const& tokens, Record* record) {
    using C = typename In::C;
    auto engine = in.engine(on, tokens.size());
    auto const done = [&](::std::size_t k, row_sums<C> const& sums, C label_z) {
        write_token(out, tokens[k].row, in.vocabulary, sums, label_z);
        if (record != nullptr) record->normalizers[k] = sums;
    };
    matrix_view<C> logits{};
    if (record != nullptr) logits = record->logits;
    bool const second =
        !out.entropy.empty() || !out.log_sum_squares.empty() || !out.mean_logit.empty();
    if (second) {
        engine.template forward<true>(as_vector(tokens), logits, done);
    } else {
        engine.template forward<false>(as_vector(tokens), logits, done);
    }
    for (::std::size_t i = 0; i < in.labels.size(); ++i) {
        if (in.ignored(i)) write_ignored(out, i);
    }
}

/// Backward of checked arguments.
template <class Backend, class In, class G, class DHidden, class DHead>
void linear_backward(Backend const& on, In const& in, vector_view<G const> upstream,
                     linear_record<typename In::C> const* record, DHidden const& d_hidden,
                     DHead const& d_head) {
    auto tokens = in.scored();
    ::std::size_t active = 0;
    for (scored_token const& t : tokens) {
        auto const g = static_cast<double>(static_cast<compute_t<G>>(upstream[t.row]));
        if (g >= 0 && g <= 0) continue;
        tokens[active] = t;
        tokens[active++].upstream = g;
    }
    tokens.resize(active);
    auto engine = in.engine(on, active);
    if (!in.options.accumulate_hidden) {
        ::std::size_t next = 0;
        for (::std::size_t i = 0; i < in.hidden.rows(); ++i) {
            bool const is_active = next < active && tokens[next].row == i;
            next += is_active ? 1U : 0U;
            if (!is_active) zero_row(d_hidden, i);
        }
    }
    if (!in.options.accumulate_head) zero_head(d_head, active == 0 ? 0 : in.vocabulary);
    engine.backward(as_vector(tokens), record, d_hidden, d_head, in.options.accumulate_hidden,
                    in.options.accumulate_head);
}

template <class Backend, class In, class Out>
token_counts linear_forward_call(Backend const& on, In const& in, Out& token_logp,
                                 linear_kept<typename In::C>* kept) {
    auto const out = as_token_outputs(token_logp);
    using O = typename decltype(out.log_prob)::value_type;
    using Kept = typename decltype(out.normalizers)::value_type;
    static_assert(element<O>, "prefer: log-probs are floating elements");
    static_assert(::std::is_same_v<Kept, no_normalizer> ||
                      ::std::is_same_v<Kept, row_normalizer<typename In::C>>,
                  "prefer: normalisers are kept as prefer::row_normalizer of what is computed in");
    check_outputs(in.name, out, in.hidden.rows());
    auto tokens = in.scored();
    if (kept == nullptr) {
        linear_record<typename In::C>* const none = nullptr;
        linear_forward(on, in, out, tokens, none);
    } else {
        auto& record = kept->open(in.name, ::std::move(tokens), in.hidden.rows(),
                                  in.hidden.columns(), in.vocabulary);
        linear_forward(on, in, out, record.tokens, &record);
        kept->close(in.options.tokens);
    }
    return in.counts;
}

template <class Backend, class In, class Upstream, class DHidden, class DHead>
void linear_backward_call(Backend const& on, In const& in, Upstream const& d_token_logp,
                          linear_kept<typename In::C> const* kept, DHidden const& d_hidden,
                          DHead const& d_head) {
    auto const g = as_vector(d_token_logp);
    using G = typename decltype(g)::value_type;
    static_assert(element<G>, "prefer: gradients are floating elements");
    require_size(in.name, "d_token_logp", g.size(), "hidden's rows", in.hidden.rows());
    check_gradients(in.name, in, d_hidden);
    check_gradients(in.name, in, d_head);
    linear_record<typename In::C> const* record = nullptr;
    if (kept != nullptr) {
        record = &kept->filled(in.name, in.hidden.rows(), in.hidden.columns(), in.vocabulary,
                               in.options.tokens);
        auto const tokens = in.scored();
        bool same = tokens.size() == record->tokens.size();
        for (::std::size_t k = 0; same && k < tokens.size(); ++k) {
            same = tokens[k].row == record->tokens[k].row &&
                   tokens[k].label == record->tokens[k].label;
        }
        if (!same) {
            throw value_error(
                message("prefer::", in.name, ": labels differ from those of kept's forward call"));
        }
    }
    linear_backward<Backend, In, G>(on, in, g, record, d_hidden, d_head);
}

}  // namespace detail

/// Token log-probs from hidden states and the output head, with no array of logits:
/// out[i] = log softmax(z(hidden[i]·weightᵀ + bias))[labels[i]].
///
/// hidden `[N, D]`; head: weight `[V, D]` with any strides, or `linear_head(weight, bias)`; labels
/// `[N]`; token_logp `[N]` (written), or `token_outputs`: labels, outputs, special values and the
/// options of tokens are those of `token_log_probs`. Elements of hidden and head are double, float,
/// bfloat16 or half, and may differ; 16-bit ones are converted as tiles are packed, and logits and
/// their sums are never rounded to 16 bits. A row of hidden states with a NaN gives NaN; the hidden
/// states of an ignored row are not read.
///
/// With `kept` (see `linear_kept`) backward has less to compute again.
///
/// Errors, before anything is written: `shape_error` for sizes that do not fit (of `kept`'s buffer
/// too), `value_error` for a bad label, an option out of range, or a workspace in which no tile
/// fits. 2·N·V·D flops for the N scored rows; at most `workspace_bytes` are allocated, and 32 bytes
/// for each scored row; a backend's product may allocate more. Tiles depend on sizes and the
/// workspace alone: the number of threads changes no bit, the workspace only rounding.
///
/// ```cpp
/// prefer::linear_token_log_probs(hidden, head, labels, token_logp);
/// prefer::linear_token_log_probs(prefer::backend::eigen{.threads = 2}, hidden, head, labels,
///                                token_logp, {.workspace_bytes = 1 << 24});
/// ```
template <backend_like Backend, class Hidden, class Head, class Labels, class Out>
token_counts linear_token_log_probs(Backend const& on, Hidden const& hidden, Head const& head,
                                    Labels const& labels, Out&& token_logp,
                                    linear_options const& options = {}) {
    auto const in =
        detail::linear_inputs_of("linear_token_log_probs", hidden, head, labels, options);
    return detail::linear_forward_call(on, in, token_logp, nullptr);
}

template <backend_like Backend, class Hidden, class Head, class Labels, class Out, class C>
token_counts linear_token_log_probs(Backend const& on, Hidden const& hidden, Head const& head,
                                    Labels const& labels, Out&& token_logp, linear_kept<C>& kept,
                                    linear_options const& options = {}) {
    auto const in =
        detail::linear_inputs_of("linear_token_log_probs", hidden, head, labels, options);
    return detail::linear_forward_call(on, in, token_logp, &kept);
}

template <class Hidden, class Head, class Labels, class Out>
    requires(!backend_like<Hidden>)
token_counts linear_token_log_probs(Hidden const& hidden, Head const& head, Labels const& labels,
                                    Out&& token_logp, linear_options const& options = {}) {
    return linear_token_log_probs(backend::plain{}, hidden, head, labels, token_logp, options);
}

template <class Hidden, class Head, class Labels, class Out, class C>
    requires(!backend_like<Hidden>)
token_counts linear_token_log_probs(Hidden const& hidden, Head const& head, Labels const& labels,
                                    Out&& token_logp, linear_kept<C>& kept,
                                    linear_options const& options = {}) {
    return linear_token_log_probs(backend::plain{}, hidden, head, labels, token_logp, kept,
                                  options);
}

/// The gradients of `linear_token_log_probs`: with G[i, v] = d_token_logp[i]·∂out[i]/∂logits[i, v],
///
///     d_hidden = G·weight,    d_weight = Gᵀ·hidden,    d_bias[v] = Σᵢ G[i, v]
///
/// Arguments, options and errors as there; d_hidden `[N, D]` and d_head (a matrix `[V, D]`, or
/// `linear_head(d_weight, d_bias)`) are float or double with any strides, and are written whole or,
/// with `accumulate_hidden` or `accumulate_head`, added to. Either may be `no_gradient{}`: its
/// product is not made. Neither may overlap an input. Rows that are ignored or whose d_token_logp
/// is 0 are dropped before any product: their d_hidden is exactly 0 (or not touched), whatever they
/// hold. Tokens that do not exist (`vocabulary`) have gradient 0.
///
/// G is computed again tile by tile, in up to three products and two before them for logits:
/// with `kept` one of these is saved, and with `kept`'s buffer both. A row without a softmax gives
/// NaN to its d_hidden and to d_head. Sums over rows are formed in blocks, in the order of rows.
///
/// ```cpp
/// prefer::linear_token_log_probs_backward(hidden, head, labels, d_token_logp, d_hidden, d_head);
/// ```
template <backend_like Backend, class Hidden, class Head, class Labels, class Upstream,
          class DHidden, class DHead>
void linear_token_log_probs_backward(Backend const& on, Hidden const& hidden, Head const& head,
                                     Labels const& labels, Upstream const& d_token_logp,
                                     DHidden&& d_hidden, DHead&& d_head,
                                     linear_options const& options = {}) {
    auto const in =
        detail::linear_inputs_of("linear_token_log_probs_backward", hidden, head, labels, options);
    detail::linear_backward_call(on, in, d_token_logp, nullptr, detail::hidden_gradient(d_hidden),
                                 detail::as_linear_head(d_head));
}

template <backend_like Backend, class Hidden, class Head, class Labels, class Upstream, class C,
          class DHidden, class DHead>
void linear_token_log_probs_backward(Backend const& on, Hidden const& hidden, Head const& head,
                                     Labels const& labels, Upstream const& d_token_logp,
                                     linear_kept<C> const& kept, DHidden&& d_hidden, DHead&& d_head,
                                     linear_options const& options = {}) {
    auto const in =
        detail::linear_inputs_of("linear_token_log_probs_backward", hidden, head, labels, options);
    detail::linear_backward_call(on, in, d_token_logp, &kept, detail::hidden_gradient(d_hidden),
                                 detail::as_linear_head(d_head));
}

template <class Hidden, class Head, class Labels, class Upstream, class DHidden, class DHead>
    requires(!backend_like<Hidden>)
void linear_token_log_probs_backward(Hidden const& hidden, Head const& head, Labels const& labels,
                                     Upstream const& d_token_logp, DHidden&& d_hidden,
                                     DHead&& d_head, linear_options const& options = {}) {
    linear_token_log_probs_backward(backend::plain{}, hidden, head, labels, d_token_logp, d_hidden,
                                    d_head, options);
}

template <class Hidden, class Head, class Labels, class Upstream, class C, class DHidden,
          class DHead>
    requires(!backend_like<Hidden>)
void linear_token_log_probs_backward(Hidden const& hidden, Head const& head, Labels const& labels,
                                     Upstream const& d_token_logp, linear_kept<C> const& kept,
                                     DHidden&& d_hidden, DHead&& d_head,
                                     linear_options const& options = {}) {
    linear_token_log_probs_backward(backend::plain{}, hidden, head, labels, d_token_logp, kept,
                                    d_hidden, d_head, options);
}

}  // namespace prefer
