// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/multiply.hpp>
#include <prefer/core/view.hpp>
#include <prefer/logprob/linear_head.hpp>
#include <prefer/logprob/linear_kept.hpp>
#include <prefer/logprob/linear_tile.hpp>
#include <prefer/logprob/token_options.hpp>
#include <prefer/logprob/token_rows.hpp>

namespace prefer::detail {

/// Numbers that nobody has written yet; allocated where they are first needed.
template <class X>
class scratch {
public:
    X* get(::std::size_t size) {
        if (size_ < size) {
            data_.reset();
            data_ = ::std::make_unique_for_overwrite<X[]>(size);
            size_ = size;
        }
        return data_.get();
    }

private:
    ::std::unique_ptr<X[]> data_;
    ::std::size_t size_ = 0;
};

/// The passes over tiles of hidden·weightᵀ that the head-fused functions are made of.
///
/// Rows are worked on in blocks, each against the whole head, tile by tile. A block of a tile is
/// one task: its product, and what is done to its rows while they are in the cache.
template <class Backend, class H, class W, class B>
class linear_engine {
public:
    using C = ::std::conditional_t<::std::is_same_v<compute_t<H>, double>, double, compute_t<W>>;
    using wide = math::wide_t<C>;

    /// `weight` and `bias` are those of the tokens that exist.
    linear_engine(Backend const& on, matrix_view<H const> hidden, matrix_view<W const> weight,
                  vector_view<B const> bias, token_options const& options, linear_tile tile)
        : on_(on), hidden_(hidden), weight_(weight), bias_(bias), map_(options), tile_(tile) {}

    /// Sums the rows of `tokens [n]`. Calls `done(k, sums, z)` for each, on any thread: z is the
    /// label's logit. With `Second`, the sums of second outputs too. `logits`, if it has memory, is
    /// `[n, V]` and keeps them.
    template <bool Second, class Done>
    void forward(vector_view<scored_token const> tokens, matrix_view<C> logits, Done const& done) {
        for (::std::size_t first = 0; first < tokens.size(); first += tile_.rows) {
            auto const block = tokens.slice(first, least(tile_.rows, tokens.size() - first));
            matrix_view<C> const kept =
                logits.data() == nullptr ? logits
                                         : part(logits, first, block.size(), 0, logits.columns());
            sum_block<Second>(block, hidden_of(block), kept);
            C const* const label_z = label_z_.get(0);
            row_sums<C> const* const sums = sums_.get(0);
            for_each_slice(block.size(), 1,
                           [&](::std::size_t k) { done(first + k, sums[k], label_z[k]); });
        }
    }

    /// Backward of the rows of `tokens [n]`, in order of their rows, none with upstream gradient 0.
    /// `record` is that of their forward call, or null. The gradients are views to be added to or,
    /// unless `add_…`, written, as far as `tokens` and the weight's rows reach; or `no_gradient`.
    template <class DHidden, class DHead>
    void backward(vector_view<scored_token const> tokens, linear_record<C> const* record,
                  DHidden const& d_hidden, DHead const& d_head, bool add_hidden, bool add_head) {
        for (::std::size_t first = 0; first < tokens.size(); first += tile_.rows) {
            auto const block = tokens.slice(first, least(tile_.rows, tokens.size() - first));
            backward_block(block, record, d_hidden, d_head, add_hidden, add_head || first != 0);
        }
    }

private:
    static ::std::size_t least(::std::size_t a, ::std::size_t b) { return a < b ? a : b; }

    /// Calls `work(i)` for each i below n, each of which touches `size` numbers, in tasks.
    template <class Work>
    void for_each_slice(::std::size_t n, ::std::size_t size, Work const& work) const {
        ::std::size_t const share = (1U << 14U) / (size + 64) + 1;
        for_each_task(on_, (n + share - 1) / share, [&](::std::size_t task, ::std::size_t) {
            ::std::size_t const last = least(n, (task + 1) * share);
            for (::std::size_t i = task * share; i < last; ++i) work(i);
        });
    }

    /// Elements as numbers of type C, one after the other.
    template <class T>
    static void convert(vector_view<T const> from, C* to) {
        if constexpr (::std::is_same_v<compute_t<T>, C>) {
            if (from.contiguous()) {
                in_order<row_pack<C>>(from.data(), from.size(), to);
                return;
            }
        }
        for (::std::size_t j = 0; j < from.size(); ++j) {
            to[j] = static_cast<C>(static_cast<compute_t<T>>(from[j]));
        }
    }

    /// A matrix in C of which libraries can make products: `m` itself where it is one, otherwise
    /// a copy, whose line i (a row; a column where only those are joined) is line `index(i)` of m.
    template <class T, class Index>
    matrix_view<C const> joined(matrix_view<T const> m, ::std::size_t rows, bool in_order,
                                Index const& index, scratch<C>& copy) const {
        if constexpr (::std::is_same_v<T, C>) {
            if (in_order && matrix_lines(m)) return m;
        }
        ::std::size_t const d = m.columns();
        C* const to = copy.get(rows * d);
        if (in_order && matrix_lines(m).along_columns) {
            for_each_slice(d, rows,
                           [&](::std::size_t j) { convert(transposed(m).row(j), to + j * rows); });
            return {to, rows, d, 1, static_cast<::std::ptrdiff_t>(rows)};
        }
        for_each_slice(rows, d, [&](::std::size_t i) { convert(m.row(index(i)), to + i * d); });
        return {to, rows, d};
    }

    matrix_view<C const> hidden_of(vector_view<scored_token const> block) {
        bool in_order = true;
        for (::std::size_t k = 0; k < block.size(); ++k) {
            in_order = in_order && block[k].row == block[0].row + k;
        }
        auto const m =
            in_order ? part(hidden_, block[0].row, block.size(), 0, hidden_.columns()) : hidden_;
        return joined(
            m, block.size(), in_order, [&](::std::size_t k) { return in_order ? k : block[k].row; },
            hidden_copy_);
    }

    matrix_view<C const> head_of(::std::size_t column, ::std::size_t columns) {
        return joined(
            part(weight_, column, columns, 0, weight_.columns()), columns, true,
            [](::std::size_t k) { return k; }, head_copy_);
    }

    vector_view<B const> bias_of(::std::size_t column, ::std::size_t columns) const {
        return bias_.empty() ? bias_ : bias_.slice(column, columns);
    }

    /// Fills `sums_` and `label_z_` for a block of rows.
    template <bool Second>
    void sum_block(vector_view<scored_token const> block, matrix_view<C const> x,
                   matrix_view<C> kept) {
        ::std::size_t const n = block.size();
        ::std::size_t const most = linear_tile::pieces(tile_.columns);
        row_sums<C>* const sums = sums_.get(tile_.rows);
        row_sums<C>* const parts = parts_.get(tile_.rows * most);
        C* const label_z = label_z_.get(tile_.rows);
        for (::std::size_t k = 0; k < n; ++k) {
            sums[k] = {};
            label_z[k] = C(0);
        }
        for (::std::size_t v = 0; v < weight_.rows(); v += tile_.columns) {
            ::std::size_t const columns = least(tile_.columns, weight_.rows() - v);
            matrix_view<C const> const w = transposed(head_of(v, columns));
            matrix_view<C> const z =
                kept.data() != nullptr ? part(kept, 0, n, v, columns) : tile_view(n, columns);
            block_grid const blocks{n, columns};
            for_each_task(on_, blocks.size(), [&](::std::size_t task, ::std::size_t) {
                auto const b = blocks[task];
                multiply_block_of<Backend, C>(on_, x, w, z, b, false);
                auto const bias = bias_of(v + b.column, b.columns);
                for (::std::size_t k = b.row; k < b.row + b.rows; ++k) {
                    vector_view<C const> const row = z.row(k).slice(b.column, b.columns);
                    parts[k * most + b.column / block_grid::block_columns] =
                        sum_row<Second, C, B>(row, bias, map_);
                    ::std::size_t const label = block[k].label - (v + b.column);
                    if (label < b.columns) label_z[k] = mapped_logit<C, B>(row, bias, map_, label);
                }
            });
            for_each_slice(n, 16 * blocks.across(), [&](::std::size_t k) {
                for (::std::size_t p = 0; p < blocks.across(); ++p)
                    sums[k].merge(parts[k * most + p]);
            });
        }
    }

    matrix_view<C> tile_view(::std::size_t rows, ::std::size_t columns) {
        return {tile_memory_.get(tile_.rows * tile_.columns), rows, columns};
    }

    template <class DHidden, class DHead>
    void backward_block(vector_view<scored_token const> block, linear_record<C> const* record,
                        DHidden const& d_hidden, DHead const& d_head, bool add_hidden,
                        bool add_head) {
        constexpr bool want_hidden = !::std::is_same_v<DHidden, no_gradient>;
        constexpr bool want_head = !::std::is_same_v<DHead, no_gradient>;
        ::std::size_t const n = block.size();
        ::std::size_t const d = hidden_.columns();
        bool const kept = record != nullptr && record->logits.data() != nullptr;
        matrix_view<C const> const x =
            want_head || !kept ? hidden_of(block) : matrix_view<C const>{};
        if (record == nullptr) sum_block<false>(block, x, {});
        row_sums<C> const* const sums = sums_.get(0);
        auto const normalizer = [&](::std::size_t k) -> row_normalizer<C> const& {
            return record != nullptr ? record->normalizers[block[k].slot] : sums[k];
        };
        matrix_view<C> dx{};
        if constexpr (want_hidden) dx = matrix_view<C>(d_hidden_.get(tile_.rows * d), n, d);

        for (::std::size_t v = 0; v < weight_.rows(); v += tile_.columns) {
            ::std::size_t const columns = least(tile_.columns, weight_.rows() - v);
            matrix_view<C const> const w =
                want_hidden || !kept ? head_of(v, columns) : matrix_view<C const>{};
            matrix_view<C> const g = tile_view(n, columns);
            block_grid const blocks{n, columns};
            for_each_task(on_, blocks.size(), [&](::std::size_t task, ::std::size_t) {
                auto const b = blocks[task];
                if (!kept) multiply_block_of<Backend, C>(on_, x, transposed(w), g, b, false);
                auto const bias = bias_of(v + b.column, b.columns);
                for (::std::size_t k = b.row; k < b.row + b.rows; ++k) {
                    vector_view<C> const to = g.row(k).slice(b.column, b.columns);
                    vector_view<C const> from = to;
                    if (kept) {
                        from = record->logits.row(block[k].slot).slice(v + b.column, b.columns);
                    }
                    ::std::size_t const label = block[k].label - (v + b.column);
                    gradient_row<C, B, C>(from, bias, map_, normalizer(k),
                                          label < b.columns ? label : no_label,
                                          static_cast<wide>(block[k].upstream), to);
                }
            });
            if constexpr (want_hidden) multiply<Backend, C>(on_, g, w, dx, v != 0);
            if constexpr (want_head) backward_head(x, g, v, d_head, add_head);
        }
        if constexpr (want_hidden) {
            for_each_slice(n, d, [&](::std::size_t k) {
                store(vector_view<C const>(dx.row(k)), d_hidden.row(block[k].row), add_hidden);
            });
        }
    }

    template <class D>
    static void store(vector_view<C const> from, vector_view<D> to, bool add) {
        for (::std::size_t j = 0; j < from.size(); ++j) {
            to[j] = static_cast<D>(add ? static_cast<D>(from[j]) + to[j] : static_cast<D>(from[j]));
        }
    }

    /// Gives rows v and on of the head's gradient gᵀ·x, and of its bias the sums of g's columns.
    /// The copy of the head's tile is overwritten.
    template <class D, class DB>
    void backward_head(matrix_view<C const> x, matrix_view<C const> g, ::std::size_t v,
                       linear_head<D, DB> const& d_head, bool add) {
        ::std::size_t const columns = g.columns();
        matrix_view<D> const to = part(d_head.weight, v, columns, 0, x.columns());
        bool direct = false;
        if constexpr (::std::is_same_v<D, C>) {
            direct = static_cast<bool>(matrix_lines(to));
            if (direct) multiply<Backend, C>(on_, transposed(g), x, to, add);
        }
        if (!direct) {
            matrix_view<C> const made(head_copy_.get(columns * x.columns()), columns, x.columns());
            multiply<Backend, C>(on_, transposed(g), x, made, false);
            for_each_slice(columns, x.columns(), [&](::std::size_t j) {
                store(vector_view<C const>(made.row(j)), to.row(j), add);
            });
        }
        if (!d_head.bias.empty()) backward_bias(g, d_head.bias.slice(v, columns), add);
    }

    template <class DB>
    void backward_bias(matrix_view<C const> g, vector_view<DB> to, bool add) {
        constexpr ::std::size_t width = 128;
        for_each_task(on_, (to.size() + width - 1) / width, [&](::std::size_t task, ::std::size_t) {
            ::std::size_t const first = task * width;
            ::std::size_t const count = least(width, to.size() - first);
            wide sums[width] = {};
            for (::std::size_t k = 0; k < g.rows(); ++k) {
                C const* const row = &g(k, first);
                for (::std::size_t j = 0; j < count; ++j) sums[j] += static_cast<wide>(row[j]);
            }
            for (::std::size_t j = 0; j < count; ++j) {
                DB& sum = to[first + j];
                sum = static_cast<DB>(add ? static_cast<wide>(sum) + sums[j] : sums[j]);
            }
        });
    }

    Backend const& on_;
    matrix_view<H const> hidden_;
    matrix_view<W const> weight_;
    vector_view<B const> bias_;
    logit_map<C> map_;
    linear_tile tile_;

    scratch<C> hidden_copy_;
    scratch<C> head_copy_;
    scratch<C> tile_memory_;
    scratch<C> d_hidden_;
    scratch<C> label_z_;
    scratch<row_sums<C>> sums_;
    scratch<row_sums<C>> parts_;
};

}  // namespace prefer::detail
