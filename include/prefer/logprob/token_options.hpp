// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/row_packs.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sum_exp.hpp>

namespace prefer {

/// What happens to logits before the softmax, and which rows and columns there are:
///
///     z = cap(logit_scale·(x + bias)) / temperature,    cap(u) = soft_cap·tanh(u / soft_cap)
///
/// This is the order of the models that have these (a scaled head, then a cap, then sampling).
struct token_options {
    /// A row with this label is not scored: log-prob 0, gradient 0, its logits are not read.
    ::std::int64_t ignore_index = default_ignore_index;

    /// Finite and positive. Log-probs at the temperature that responses were sampled with.
    double temperature = 1;

    /// Finite and positive.
    double logit_scale = 1;

    /// Finite and not negative; 0: no cap.
    double soft_cap = 0;

    /// The tokens that exist: columns from here on are padding of the matrix, which is not read,
    /// and gets the gradient 0. At most the number of columns; 0: all of them.
    ::std::size_t vocabulary = 0;
};

/// How many rows were scored, and how many had the ignore index.
struct token_counts {
    ::std::size_t scored = 0;
    ::std::size_t ignored = 0;
};

/// The normaliser of one row of logits: the largest, and Σ e^(z - largest). `C` is the type that
/// rows are computed in (`compute_t`). Kept from forward to backward, it saves a pass.
template <class C>
struct row_normalizer {
    using normalizer_tag = void;
    using wide = math::wide_t<C>;

    C shift{-math::infinity<C>};
    wide sum{};

    /// False when the row has a NaN or +inf, or nothing but -inf: it has no softmax.
    bool proper() const { return math::is_finite(shift); }

    /// log softmax of a logit of this row, relative to the shift: no digits are lost to an offset.
    wide log_prob(C logit) const {
        if (!proper()) return math::quiet_nan<wide>;
        return (static_cast<wide>(logit) - static_cast<wide>(shift)) - math::log(sum);
    }
};

/// In the place of a `row_normalizer` where none is kept.
struct no_normalizer {};

/// A vector of what forward passes keep: `std::vector<prefer::row_normalizer<float>>` and the like.
template <class X>
concept kept_normalizers =
    vector_like<X> && requires { typename vector_element_t<X>::normalizer_tag; };

/// Where `token_log_probs` writes more than log-probs, in the same pass; each `[N]`, and written
/// only when given. All are of the softmax p that the log-prob is of:
///
///     entropy          -Σⱼ pⱼ log pⱼ                 in [0, log V]
///     hits             1 where no logit is larger than the label's, else 0
///     log_sum_squares  log Σⱼ pⱼ²                    (the normaliser of WPO's weights)
///     mean_logit       (1/V) Σⱼ zⱼ
///
/// Rows that are ignored get 0; a row without a softmax NaN, and no hit. `normalizers`, a vector of
/// `row_normalizer` of the type that the logits are computed in, keeps what the backward can use.
///
/// ```cpp
/// prefer::token_outputs const outputs =
///     prefer::token_outputs(token_logp).with_entropy(entropy).with_hits(hits);
/// prefer::token_log_probs(logits, labels, outputs);
/// ```
template <element T, class Normalizer = no_normalizer>
class token_outputs {
public:
    template <class Out>
        requires vector_like<Out>
    explicit token_outputs(Out&& token_logp)
        : log_prob(as_vector(::std::forward<Out>(token_logp))) {}

    template <class Out>
    token_outputs with_entropy(Out&& out) const {
        token_outputs t = *this;
        t.entropy = as_vector(::std::forward<Out>(out));
        return t;
    }
    template <class Out>
    token_outputs with_hits(Out&& out) const {
        token_outputs t = *this;
        t.hits = as_vector(::std::forward<Out>(out));
        return t;
    }
    template <class Out>
    token_outputs with_log_sum_squares(Out&& out) const {
        token_outputs t = *this;
        t.log_sum_squares = as_vector(::std::forward<Out>(out));
        return t;
    }
    template <class Out>
    token_outputs with_mean_logit(Out&& out) const {
        token_outputs t = *this;
        t.mean_logit = as_vector(::std::forward<Out>(out));
        return t;
    }

    /// Keeps the normaliser of each row, which spares the backward a pass. For logits in double the
    /// vector is of `row_normalizer<double>`, for the others of `row_normalizer<float>`.
    template <kept_normalizers Out>
    auto with_normalizers(Out&& out) const {
        token_outputs<T, vector_element_t<Out>> t(log_prob);
        t.entropy = entropy;
        t.hits = hits;
        t.log_sum_squares = log_sum_squares;
        t.mean_logit = mean_logit;
        t.normalizers = as_vector(::std::forward<Out>(out));
        return t;
    }

    vector_view<T> log_prob;
    vector_view<T> entropy;
    vector_view<T> hits;
    vector_view<T> log_sum_squares;
    vector_view<T> mean_logit;
    vector_view<Normalizer> normalizers;
};

template <vector_like Out>
token_outputs(Out&&) -> token_outputs<vector_element_t<Out>>;

/// Logits `[N, V]` to which a row `bias [V]` is yet to be added: any function that takes logits
/// takes `prefer::biased(logits, bias)`. The gradient it writes is that of the sum.
template <class T, class B>
struct biased_logits {
    matrix_view<T> logits;
    vector_view<B> bias;
};

template <class Logits, class Bias>
auto biased(Logits&& logits, Bias&& bias) {
    using T = typename decltype(as_matrix(logits))::element_type;
    using B = typename decltype(as_vector(bias))::element_type;
    return biased_logits<T, B>{as_matrix(::std::forward<Logits>(logits)),
                               as_vector(::std::forward<Bias>(bias))};
}

namespace detail {

/// Logits as views: the matrix, and a bias that is empty where there is none.
template <class Logits>
auto logits_and_bias(Logits const& logits) {
    auto const x = as_matrix(logits);
    using T = typename decltype(x)::value_type;
    static_assert(element<T>, "prefer: logits are floating elements");
    return biased_logits<T const, compute_t<T> const>{x, {}};
}
template <class T, class B>
auto logits_and_bias(biased_logits<T, B> const& x) {
    static_assert(element<T> && element<B>, "prefer: logits and their bias are floating elements");
    return biased_logits<T const, B const>{x.logits, x.bias};
}

/// The map from logits to what the softmax is of, for rows computed in C.
template <class C>
struct logit_map {
    C inner = 1;  // z = inner·(x + bias), or
    C outer = 1;  // z = outer·tanh(inner·(x + bias))
    bool capped = false;

    logit_map() = default;
    explicit logit_map(token_options const& o)
        : inner(static_cast<C>(o.soft_cap > 0 ? o.logit_scale / o.soft_cap
                                              : o.logit_scale / o.temperature)),
          outer(static_cast<C>(o.soft_cap > 0 ? o.soft_cap / o.temperature : 1.0)),
          capped(o.soft_cap > 0) {}

    /// Whether z is x, but for a bias.
    bool identity() const { return !capped && inner >= 1 && inner <= 1; }

    /// Of a number, or of a pack of them.
    template <class P>
    P operator()(P const& x) const {
        P const u = P(inner) * x;
        return capped ? P(outer) * tanh_of(u) : u;
    }

    /// dz/dx, given z = (*this)(x).
    template <class P>
    P slope(P const& z) const {
        return capped ? P(inner) * (P(outer) - z * (z / P(outer))) : P(inner);
    }
};

inline void check_options(char const* function, token_options const& o, ::std::size_t columns) {
    require(math::is_finite(o.temperature) && o.temperature > 0, function, "temperature",
            o.temperature, "finite and positive");
    require(math::is_finite(o.logit_scale) && o.logit_scale > 0, function, "logit_scale",
            o.logit_scale, "finite and positive");
    require(math::is_finite(o.soft_cap) && o.soft_cap >= 0, function, "soft_cap", o.soft_cap,
            "finite and not negative; 0 is no cap");
    if (o.vocabulary > columns) {
        throw shape_error(message("prefer::", function, ": vocabulary is ", o.vocabulary,
                                  ", but must be at most the ", columns, " columns"));
    }
}

template <class B>
void check_bias(char const* function, vector_view<B> const& bias, ::std::size_t columns) {
    if (bias.data() != nullptr) {
        require_size(function, "bias", bias.size(), "logits' columns", columns);
    }
}

/// The first columns of a bias, if there is one.
template <class B>
vector_view<B> first_columns(vector_view<B> const& bias, ::std::size_t columns) {
    return bias.empty() ? bias : bias.slice(0, columns);
}

/// The columns that exist.
inline ::std::size_t vocabulary_of(token_options const& o, ::std::size_t columns) {
    return o.vocabulary == 0 ? columns : o.vocabulary;
}

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

}  // namespace detail
}  // namespace prefer
