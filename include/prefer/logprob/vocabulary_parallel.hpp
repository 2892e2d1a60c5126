// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/communicator.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/logprob/token_options.hpp>
#include <prefer/logprob/token_rows.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

namespace detail {

/// The columns of this rank: `first` to `first + real` are tokens, what follows is padding.
struct vocabulary_part {
    ::std::size_t first = 0;
    ::std::size_t real = 0;

    vocabulary_part(::std::size_t first_column, ::std::size_t columns, ::std::size_t vocabulary)
        : first(first_column),
          real(first_column < vocabulary ? ::std::min(columns, vocabulary - first_column) : 0) {}

    /// Where the label is among the columns of this rank, or `no_label`.
    template <class Label>
    ::std::size_t local(Label label) const {
        auto const column = static_cast<::std::size_t>(label);
        return column >= first && column - first < real ? column - first : no_label;
    }
};

/// What is the same on every rank, checked before any of them waits for another.
template <class Label>
token_counts check_whole_vocabulary(char const* function, vector_view<Label const> labels,
                                    token_options const& options) {
    check_options(function, options, ::std::numeric_limits<::std::size_t>::max());
    require(options.vocabulary > 0, function, "vocabulary", options.vocabulary,
            "given: the tokens of all ranks");
    return check_labels<Label>(function, labels, options.vocabulary, options);
}

/// What a rank says of itself in the first exchange. The maximum over the ranks of slots that only
/// one rank fills brings each rank's words to every rank.
class rank_slots {
public:
    static constexpr ::std::size_t width = 3;

    explicit rank_slots(::std::span<double> slots) : slots_(slots) {}

    void say(::std::size_t rank, vocabulary_part const& part, bool second) const {
        slots_[width * rank] = static_cast<double>(part.first);
        slots_[width * rank + 1] = static_cast<double>(part.first + part.real);
        slots_[width * rank + 2] = second ? 1.0 : 0.0;
    }

    /// Throws, on every rank the same, unless all ranks had good arguments (this one has), want the
    /// same outputs, and hold every token once.
    void check(char const* function, ::std::size_t vocabulary) const {
        ::std::vector<::std::pair<double, double>> parts;
        for (::std::size_t r = 0; r < slots_.size() / width; ++r) {
            double const* const of_rank = &slots_[width * r];
            if (!math::is_finite(of_rank[0])) {
                throw shape_error(message("prefer::", function, ": rank ", r,
                                          " was given arguments that do not fit; it says which"));
            }
            if (of_rank[2] < slots_[2] || of_rank[2] > slots_[2]) {
                throw shape_error(
                    message("prefer::", function, ": of the ranks 0 and ", r,
                            ", only one asks for the entropy, log_sum_squares or mean_logit"));
            }
            if (of_rank[0] < of_rank[1]) parts.emplace_back(of_rank[0], of_rank[1]);
        }
        ::std::sort(parts.begin(), parts.end());
        double const end = static_cast<double>(vocabulary);
        parts.emplace_back(end, end);
        double next = 0;
        for (auto const& [first, last] : parts) {
            if (first < next || first > next) {
                bool const twice = first < next;
                throw shape_error(message("prefer::", function, ": the columns from ",
                                          static_cast<::std::size_t>(twice ? first : next),
                                          twice ? " are on two ranks" : " are on no rank"));
            }
            next = last;
        }
    }

private:
    ::std::span<double> slots_;
};

}  // namespace detail

/// `token_log_probs` where each rank holds some columns of the logits: vocabulary parallelism.
///
///     m = max over ranks of mᵣ,   Z = Σ over ranks of Zᵣ·e^(mᵣ - m),   out[i] = (z_y - m) - log Z
///
/// This rank holds the columns `first_column` to `first_column + v` of all: logits_part `[N, v]`,
/// or `biased(logits_part, bias_part)`. v may be 0, the parts may differ in size and lie on the
/// ranks in any order; together they hold each token once. `options.vocabulary` is needed: the
/// number of tokens over all ranks; columns from there on are padding. token_logp `[N]`, or
/// `token_outputs`, and normalizers `[N]`, of `row_normalizer<C>` with C float (double for logits
/// in double), which the backward needs, are written whole on every rank.
///
/// `labels` (of the whole vocabulary, not of a part), options, and whether an entropy,
/// log_sum_squares or mean_logit is wanted are the same on every rank. Element types, precision and
/// special values as `token_log_probs`: the bits of it on one rank; to rounding its result for any
/// split; the same bits on every rank. A NaN on one rank is NaN on all; a rank of nothing but -inf
/// is not, as long as another holds something else.
///
/// Two reductions through the communicator (`core/communicator.hpp`), of N + 3·ranks and of 2·N
/// numbers (5·N with entropy, log_sum_squares or mean_logit). Errors, before anything is written,
/// as `token_log_probs`. Those in labels and options, being the same everywhere, are thrown by
/// every rank before it reduces. Those in what a rank has for itself (sizes), and parts that
/// overlap or leave a gap, are thrown by every rank after the first reduction: no rank is left
/// waiting. The rank with the bad size says what it is, the others which rank it is. O(N·v), the
/// part is read once; allocates 11·N doubles, and 3 for each rank. Deterministic where the
/// communicator is; results never depend on threads.
///
/// <!-- snippet: tests/unit/logprob/vocabulary_parallel.cpp -->
/// ```cpp
/// prefer::token_options const options{.vocabulary = 5};
/// std::vector<prefer::row_normalizer<float>> kept(labels.size());
/// prefer::vocabulary_parallel_token_log_probs(ranks, first_column, logits_part, labels,
///                                             token_logp, kept, options);
/// // … a loss gives d_token_logp [N], the same on every rank …
/// prefer::vocabulary_parallel_token_log_probs_backward(
///     first_column, logits_part, labels, kept, d_token_logp, d_logits_part, options);
/// ```
///
/// Source: M. Shoeybi et al., "Megatron-LM", 2019 (1909.08053), section 3, for the loss.
template <backend_like Backend, communicator_like Communicator, class Logits, class Labels,
          class Out, class Normalizers>
token_counts vocabulary_parallel_token_log_probs(Backend const& on, Communicator const& ranks,
                                                 ::std::size_t first_column,
                                                 Logits const& logits_part, Labels const& labels,
                                                 Out&& token_logp, Normalizers&& normalizers,
                                                 token_options options) {
    auto const [in, bias] = detail::logits_and_bias(logits_part);
    auto const y = as_vector(labels);
    auto const out = detail::as_token_outputs(token_logp);
    auto const kept = as_vector(normalizers);
    using T = typename decltype(in)::value_type;
    using B = typename decltype(bias)::value_type;
    using Label = typename decltype(y)::value_type;
    using O = typename decltype(out.log_prob)::value_type;
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    static_assert(element<O>, "prefer: log-probs are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    static_assert(::std::same_as<W, double>, "prefer: ranks exchange numbers in double");
    static_assert(::std::same_as<typename decltype(kept)::element_type, row_normalizer<C>>,
                  "prefer: normalizers are row_normalizer<C>, C the type that logits are computed "
                  "in: float, or double for logits in double");
    vector_view<Label const> const label_view(y);

    char const* const name = "vocabulary_parallel_token_log_probs";
    token_counts const counts = detail::check_whole_vocabulary<Label>(name, label_view, options);

    ::std::size_t const n = y.size();
    detail::vocabulary_part const part(first_column, in.columns(), options.vocabulary);
    bool const second =
        !out.entropy.empty() || !out.log_sum_squares.empty() || !out.mean_logit.empty();
    ::std::vector<double> maxima(n + detail::rank_slots::width * ranks.size(),
                                 -math::infinity<double>);
    ::std::vector<detail::row_sums<C>> sums(n);
    ::std::vector<double> totals((second ? 5 : 2) * n, 0.0);
    detail::rank_slots const slots(::std::span<double>(maxima).subspan(n));

    // What is wrong on this rank alone must wait until the others know.
    ::std::exception_ptr wrong;
    try {
        detail::require_size(name, "logits_part's rows", in.rows(), "labels", n);
        detail::check_outputs(name, out, n);
        detail::require_size(name, "normalizers", kept.size(), "labels", n);
        detail::check_bias(name, bias, in.columns());
    } catch (...) {
        wrong = ::std::current_exception();
    }

    detail::logit_map<C> const map(options);
    auto const skipped = [&](::std::size_t i) {
        return detail::is_label(label_view[i], options.ignore_index);
    };
    if (!wrong) {
        slots.say(ranks.rank(), part, second);
        auto const real_bias = detail::first_columns(bias, part.real);
        detail::for_each_row(on, part.real == 0 ? 0 : n, part.real, [&](::std::size_t i) {
            if (skipped(i)) return;
            auto const row = in.row(i).slice(0, part.real);
            sums[i] = second ? detail::sum_row<true, T, B>(row, real_bias, map)
                             : detail::sum_row<false, T, B>(row, real_bias, map);
            // No NaN may take part in a maximum; infinity makes the row as improper.
            C const shift = sums[i].shift;
            maxima[i] = static_cast<double>(math::is_nan(shift) ? math::infinity<C> : shift);
            ::std::size_t const label = part.local(label_view[i]);
            if (label != detail::no_label) {
                totals[n + i] =
                    static_cast<double>(detail::mapped_logit<T, B>(row, real_bias, map, label));
            }
        });
    }
    ranks.all_reduce_max(::std::span<double>(maxima));
    if (wrong) ::std::rethrow_exception(wrong);
    slots.check(name, options.vocabulary);

    for (::std::size_t i = 0; i < n; ++i) {
        detail::row_sums<C> moved;  // to the maximum over all ranks
        moved.shift = static_cast<C>(maxima[i]);
        moved.merge(sums[i]);
        totals[i] = moved.sum;
        if (second) {
            totals[2 * n + i] = moved.moment;
            totals[3 * n + i] = moved.squares;
            totals[4 * n + i] = moved.total;
        }
    }
    ranks.all_reduce_sum(::std::span<double>(totals));

    for (::std::size_t i = 0; i < n; ++i) {
        detail::row_sums<C> whole;
        if (skipped(i)) {
            detail::write_ignored(out, i);
        } else {
            whole.shift = static_cast<C>(maxima[i]);
            whole.sum = totals[i];
            if (second) {
                whole.moment = totals[2 * n + i];
                whole.squares = totals[3 * n + i];
                whole.total = totals[4 * n + i];
            }
            detail::write_token(out, i, options.vocabulary, whole, static_cast<C>(totals[n + i]));
        }
        kept[i] = whole;
    }
    return counts;
}

template <communicator_like Communicator, class Logits, class Labels, class Out, class Normalizers>
token_counts vocabulary_parallel_token_log_probs(Communicator const& ranks,
                                                 ::std::size_t first_column,
                                                 Logits const& logits_part, Labels const& labels,
                                                 Out&& token_logp, Normalizers&& normalizers,
                                                 token_options options) {
    return vocabulary_parallel_token_log_probs(backend::plain{}, ranks, first_column, logits_part,
                                               labels, token_logp, normalizers, options);
}

/// The gradient of `vocabulary_parallel_token_log_probs`, of the columns of this rank:
/// d_logits_part `[N, v]` = d_token_logp[i]·(onehot(labels[i]) - softmax)·dz/dx.
///
/// `normalizers` are those of the forward, and say all that is needed of the other ranks: nothing
/// is exchanged. Shapes, element types and options as there; d_token_logp is the same on every
/// rank. d_logits_part is written whole (padding columns get 0), and may be the logits, as in
/// `token_log_probs_backward`, which has the same special values: exact zeros, without a read,
/// where a row is ignored or its d_token_logp is 0; NaN in a row without a softmax. Over all ranks,
/// a row sums to 0 (without a soft cap). Errors, before anything is written: `shape_error`,
/// `value_error`, on this rank alone. O(N·v), no allocation, deterministic.
template <backend_like Backend, class Logits, class Labels, class Normalizers, class Upstream,
          class Gradient>
void vocabulary_parallel_token_log_probs_backward(Backend const& on, ::std::size_t first_column,
                                                  Logits const& logits_part, Labels const& labels,
                                                  Normalizers const& normalizers,
                                                  Upstream const& d_token_logp,
                                                  Gradient&& d_logits_part, token_options options) {
    auto const [in, bias] = detail::logits_and_bias(logits_part);
    auto const y = as_vector(labels);
    auto const kept = as_vector(normalizers);
    auto const g = as_vector(d_token_logp);
    matrix_view const out = as_matrix(d_logits_part);
    using T = typename decltype(in)::value_type;
    using B = typename decltype(bias)::value_type;
    using Label = typename decltype(y)::value_type;
    using G = typename decltype(g)::value_type;
    using D = typename decltype(out)::value_type;
    using C = compute_t<T>;
    static_assert(element<G> && element<D>, "prefer: gradients are floating elements");
    static_assert(index_element<Label>, "prefer: labels are integers");
    static_assert(::std::same_as<typename decltype(kept)::value_type, row_normalizer<C>>,
                  "prefer: normalizers are those of the forward, row_normalizer<C>");
    vector_view<Label const> const label_view(y);
    vector_view<G const> const upstream(g);

    char const* const name = "vocabulary_parallel_token_log_probs_backward";
    detail::require_size(name, "logits_part's rows", in.rows(), "labels", y.size());
    detail::require_size(name, "normalizers", kept.size(), "labels", y.size());
    detail::require_size(name, "d_token_logp", g.size(), "labels", y.size());
    detail::require_size(name, "d_logits_part's rows", out.rows(), "labels", y.size());
    detail::require_size(name, "d_logits_part's columns", out.columns(), "logits_part's columns",
                         in.columns());
    detail::check_bias(name, bias, in.columns());
    detail::check_whole_vocabulary<Label>(name, label_view, options);

    detail::vocabulary_part const part(first_column, in.columns(), options.vocabulary);
    detail::logit_map<C> const map(options);
    auto const real_bias = detail::first_columns(bias, part.real);
    detail::for_each_row(on, in.rows(), in.columns(), [&](::std::size_t i) {
        auto const label = label_view[i];
        auto const gi = static_cast<math::wide_t<C>>(static_cast<compute_t<G>>(upstream[i]));
        bool const flat = gi >= 0 && gi <= 0;
        bool const skipped = flat || detail::is_label(label, options.ignore_index);
        ::std::size_t const read = skipped ? 0 : part.real;
        if (read > 0) {
            detail::gradient_row<T, B, D>(in.row(i).slice(0, read), real_bias, map, kept[i],
                                          part.local(label), gi, out.row(i).slice(0, read));
        }
        for (::std::size_t j = read; j < out.columns(); ++j) {
            out(i, j) = static_cast<D>(compute_t<D>(0));
        }
    });
}

template <class Logits, class Labels, class Normalizers, class Upstream, class Gradient>
void vocabulary_parallel_token_log_probs_backward(::std::size_t first_column,
                                                  Logits const& logits_part, Labels const& labels,
                                                  Normalizers const& normalizers,
                                                  Upstream const& d_token_logp,
                                                  Gradient&& d_logits_part, token_options options) {
    vocabulary_parallel_token_log_probs_backward(backend::plain{}, first_column, logits_part,
                                                 labels, normalizers, d_token_logp, d_logits_part,
                                                 options);
}

}  // namespace prefer
