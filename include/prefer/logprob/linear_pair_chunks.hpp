// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/linear_token_log_probs.hpp>
#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/logprob/token_options.hpp>

namespace prefer {

/// Which of 2B sequences are pair i.
enum class pair_order {
    halves,    ///< sequences i and B + i: first all chosen, then all rejected
    adjacent,  ///< sequences 2i and 2i + 1
};

/// Some whole pairs of a batch, as `linear_pair_chunks` gives them to a loss: pairs `first` to
/// `first + size` of it, each vector `[size]`.
struct pair_chunk {
    ::std::size_t first = 0;
    ::std::size_t size = 0;

    vector_view<double const> chosen;                  ///< Σ of token log-probs
    vector_view<double const> rejected;                ///< Σ of token log-probs
    vector_view<::std::size_t const> chosen_length;    ///< tokens in it
    vector_view<::std::size_t const> rejected_length;  ///< tokens in it

    // To be written: the derivatives of the loss of the whole batch by these sums. NaN before.
    vector_view<double> d_chosen;
    vector_view<double> d_rejected;
};

/// What `linear_pair_chunks` did.
struct pair_chunk_counts {
    token_counts tokens;
    ::std::size_t chunks = 0;
};

namespace detail {

inline ::std::size_t sequence_of(::std::size_t pair, bool rejected, pair_order order,
                                 ::std::size_t pairs) {
    ::std::size_t const second = rejected ? 1U : 0U;
    return order == pair_order::halves ? pair + second * pairs : 2 * pair + second;
}

}  // namespace detail

/// Log-probs and gradients of a batch of pairs through the output head, for any loss, with logits
/// computed once: three products in all. As many pairs as have their logits fit in `buffer` make a
/// chunk; for each chunk, one after the other,
///
///     forward: token log-probs, their sums        `on_chunk(chunk)`: your loss        backward
///
/// hidden `[N, D]`, head, labels `[N]`, d_hidden, d_head and options as in
/// `linear_token_log_probs_backward`; layout: offsets `[2B + 1]` or another layout of 2B sequences
/// over the N rows, of which `order` says which are a pair; buffer: contiguous, of what is computed
/// in (`linear_kept`), at least the vocabulary times the scored rows of the longest pair. Tokens
/// that are ignored by their label, or not counted by the layout, are not scored.
///
/// `on_chunk(pair_chunk const&)` reads the log-probs of the chunk and writes their derivatives,
/// those of the loss of the whole batch: divide by its number of pairs, not the chunk's. A chunk's
/// rows are independent of other chunks, so the chunks change no more than rounding. The reference
/// model's sums are known before: `linear_token_log_probs` and `sequence_sum` give them with no
/// product more than any other way.
///
/// Errors, before anything is written: those of the two functions, `shape_error` for an odd number
/// of sequences or a buffer in which some pair does not fit. What `on_chunk` throws passes through;
/// the gradients then hold those of earlier chunks. Allocates as the two functions do, and 32 bytes
/// for each sequence of a chunk. Deterministic, for any number of threads.
///
/// ```cpp
/// prefer::linear_pair_chunks(
///     on, hidden, head, labels, offsets, buffer,
///     [&](prefer::pair_chunk const& c) {
///         prefer::pair_batch const batch{c.chosen, c.rejected,
///                                        reference_chosen.slice(c.first, c.size),
///                                        reference_rejected.slice(c.first, c.size)};
///         prefer::pair_gradients const grad{c.d_chosen, c.d_rejected};
///         loss += prefer::evaluate_pairs(dpo, batch, grad, {.normalizer = pairs}).loss;
///     },
///     d_hidden, d_head);
/// ```
template <backend_like Backend, class Hidden, class Head, class Labels, class Layout, class Buffer,
          class OnChunk, class DHidden, class DHead>
pair_chunk_counts linear_pair_chunks(Backend const& on, Hidden const& hidden, Head const& head,
                                     Labels const& labels, Layout const& layout, Buffer&& buffer,
                                     OnChunk&& on_chunk, DHidden&& d_hidden, DHead&& d_head,
                                     linear_options options = {},
                                     pair_order order = pair_order::halves) {
    char const* const name = "linear_pair_chunks";
    auto const in = detail::linear_inputs_of(name, hidden, head, labels, options);
    using C = typename ::std::remove_cvref_t<decltype(in)>::C;
    auto const l = detail::as_layout(layout);
    l.check(name);
    detail::require_size(name, "labels", in.labels.size(), "the layout", l.tokens());
    if (l.sequences() % 2 != 0) {
        throw shape_error(detail::message("prefer::", name, ": the layout has ", l.sequences(),
                                          " sequences, but must have two for each pair"));
    }
    auto const dx = detail::hidden_gradient(d_hidden);
    auto const dw = detail::as_linear_head(d_head);
    detail::check_gradients(name, in, dx);
    detail::check_gradients(name, in, dw);
    vector_view<C> const memory = as_vector(buffer);
    if (!memory.contiguous()) {
        throw shape_error(detail::message("prefer::", name, ": the buffer must be contiguous"));
    }
    ::std::size_t const pairs = l.sequences() / 2;
    ::std::size_t const room = in.vocabulary == 0 ? 0 : memory.size() / in.vocabulary;

    // How many pairs each chunk has; the rows of one, in order.
    auto const rows_of = [&](::std::size_t sequence, auto const& visit) {
        for (::std::size_t i = l.first(sequence); i < l.last(sequence); ++i) {
            if (l.counted(i) && !in.ignored(i)) visit(i);
        }
    };
    auto const count = [&](::std::size_t sequence) {
        ::std::size_t n = 0;
        rows_of(sequence, [&](::std::size_t) { ++n; });
        return n;
    };
    pair_chunk_counts counts;
    ::std::size_t most_rows = 0;
    ::std::vector<::std::size_t> chunk_ends;
    for (::std::size_t first = 0, rows = 0, i = 0; i <= pairs; ++i) {
        ::std::size_t n = 0;
        if (i < pairs) {
            n = count(detail::sequence_of(i, false, order, pairs)) +
                count(detail::sequence_of(i, true, order, pairs));
            if (n > room) {
                throw shape_error(detail::message("prefer::", name, ": the buffer has size ",
                                                  memory.size(), ", but pair ", i, " has ", n,
                                                  " scored rows of ", in.vocabulary,
                                                  " logits, which need ", n * in.vocabulary));
            }
            counts.tokens.scored += n;
        }
        if (i > first && (i == pairs || rows + n > room)) {
            most_rows = rows > most_rows ? rows : most_rows;
            chunk_ends.push_back(i);
            first = i;
            rows = 0;
        }
        rows += n;
    }
    counts.tokens.ignored = in.labels.size() - counts.tokens.scored;
    counts.chunks = chunk_ends.size();

    auto engine = in.engine(on, most_rows);
    if (!options.accumulate_hidden) {
        for (::std::size_t i = 0; i < in.hidden.rows(); ++i) detail::zero_row(dx, i);
    }
    bool add_head = options.accumulate_head;
    if (!add_head) detail::zero_head(dw, counts.tokens.scored == 0 ? 0 : in.vocabulary);

    ::std::vector<double> sums, gradients;
    ::std::vector<::std::size_t> lengths;
    ::std::vector<detail::scored_token> tokens;
    detail::linear_record<C> record;
    ::std::size_t first = 0;
    for (::std::size_t const last : chunk_ends) {
        ::std::size_t const size = last - first;
        // Rows in order: with `halves`, those of the chosen sequences come first.
        auto const sequence = [&](::std::size_t k) {
            return order == pair_order::halves
                       ? detail::sequence_of(first + k % size, k >= size, order, pairs)
                       : 2 * first + k;
        };
        auto const place = [&](::std::size_t k) {  // chosen, then rejected
            return order == pair_order::halves ? k : k / 2 + (k % 2) * size;
        };
        record.tokens.clear();
        for (::std::size_t k = 0; k < 2 * size; ++k) {
            rows_of(sequence(k), [&](::std::size_t i) {
                record.tokens.push_back(
                    {i, static_cast<::std::size_t>(in.labels[i]), record.tokens.size(), 0});
            });
        }
        ::std::size_t const n = record.tokens.size();
        record.normalizers.resize(n);
        record.logits = matrix_view<C>(memory.data(), n, in.vocabulary);
        ::std::vector<math::wide_t<C>> log_prob(n);
        engine.template forward<false>(
            as_vector(record.tokens), record.logits,
            [&](::std::size_t k, detail::row_sums<C> const& row, C label_z) {
                record.normalizers[k] = row;
                log_prob[k] = row.log_prob(label_z);
            });

        sums.assign(2 * size, 0.0);
        lengths.assign(2 * size, 0);
        gradients.assign(2 * size, math::quiet_nan<double>);
        for (::std::size_t k = 0, j = 0; k < 2 * size; ++k) {
            rows_of(sequence(k), [&](::std::size_t) {
                sums[place(k)] += static_cast<double>(log_prob[j++]);
                ++lengths[place(k)];
            });
        }
        vector_view<double const> const all(sums.data(), 2 * size);
        vector_view<::std::size_t const> const all_lengths(lengths.data(), 2 * size);
        vector_view<double> const d_all(gradients.data(), 2 * size);
        on_chunk(pair_chunk{first, size, all.slice(0, size), all.slice(size, size),
                            all_lengths.slice(0, size), all_lengths.slice(size, size),
                            d_all.slice(0, size), d_all.slice(size, size)});

        tokens.clear();
        for (::std::size_t k = 0, j = 0; k < 2 * size; ++k) {
            double const g = gradients[place(k)];
            rows_of(sequence(k), [&](::std::size_t) {
                detail::scored_token t = record.tokens[j++];
                t.upstream = g;
                if (!(g >= 0 && g <= 0)) tokens.push_back(t);
            });
        }
        engine.backward(as_vector(tokens), &record, dx, dw, options.accumulate_hidden, add_head);
        add_head = add_head || !tokens.empty();
        first = last;
    }
    if (!add_head) detail::zero_head(dw, 0);  // every gradient was 0
    return counts;
}

template <class Hidden, class Head, class Labels, class Layout, class Buffer, class OnChunk,
          class DHidden, class DHead>
    requires(!backend_like<Hidden>)
pair_chunk_counts linear_pair_chunks(Hidden const& hidden, Head const& head, Labels const& labels,
                                     Layout const& layout, Buffer&& buffer, OnChunk&& on_chunk,
                                     DHidden&& d_hidden, DHead&& d_head,
                                     linear_options options = {},
                                     pair_order order = pair_order::halves) {
    return linear_pair_chunks(backend::plain{}, hidden, head, labels, layout, buffer, on_chunk,
                              d_hidden, d_head, options, order);
}

}  // namespace prefer
