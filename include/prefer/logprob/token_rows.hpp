// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The work on one row of logits, or on some of its columns: all that is slow about log-probs.
/// `token_log_probs`, the head-fused form and the vocabulary-parallel form are written in these.
///
/// A row is taken in blocks that stay in the first-level cache: its largest number, then the sum of
/// exponentials, in packs of lanes whose sums of the block go into sums in double. Which lane a
/// column belongs to depends on its index alone, so a result does not depend on where the row lies.

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/logprob/row_packs.hpp>
#include <prefer/logprob/token_options.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sum_exp.hpp>

namespace prefer::detail {

/// Sums over the columns of a row, relative to the largest of them.
template <class C>
struct row_sums : row_normalizer<C> {
    using wide = math::wide_t<C>;

    // The next three are of the second outputs.
    wide moment{};   // Σ e^(z - shift)·(z - shift)
    wide squares{};  // Σ e^(2(z - shift))
    wide total{};    // Σ z

    /// Joins the sums of other columns of the same row.
    void merge(row_sums const& other) {
        C const top = math::max(this->shift, other.shift);
        if (math::is_finite(top)) {
            row_sums const a = moved_to(top);
            row_sums const b = other.moved_to(top);
            this->sum = a.sum + b.sum;
            moment = a.moment + b.moment;
            squares = a.squares + b.squares;
        }
        total += other.total;
        this->shift = top;
    }

    wide entropy() const { return math::log(this->sum) - moment / this->sum; }
    wide log_sum_squares() const { return math::log(squares) - 2 * math::log(this->sum); }

private:
    row_sums moved_to(C top) const {
        row_sums moved;
        if (this->shift >= top) return *this;
        if (!(this->shift > -math::infinity<C>)) return moved;  // nothing but -inf: sums are 0
        wide const by = static_cast<wide>(this->shift) - static_cast<wide>(top);
        wide const factor = math::exp(by);
        moved.sum = this->sum * factor;
        moved.moment = factor > 0 ? (moment + by * this->sum) * factor : wide(0);
        moved.squares = squares * factor * factor;
        return moved;
    }
};

/// The columns of a block.
inline constexpr ::std::size_t row_block = 2048;

/// The memory ahead of the loop that is asked for, in bytes.
inline constexpr ::std::size_t row_prefetch = 8192;

/// Elements that lie one after the other as numbers that do.
template <class P, class T>
PREFER_FLATTEN void in_order(T const* from, ::std::size_t n, math::lane_t<P>* numbers) {
    using C = math::lane_t<P>;
    ::std::size_t j = 0;
    if constexpr (packs_move<T, C>) {
        for (; j + lanes_in<P> <= n; j += lanes_in<P>) {
            store_pack(load_in_order<P>(from + j), numbers + j);
        }
    }
    for (; j < n; ++j) numbers[j] = static_cast<C>(from[j]);
}

/// Columns `first` to `first + n` of a row as the softmax sees them, in `numbers [row_block]`.
template <class T, class B>
PREFER_FLATTEN void map_block(vector_view<T const> const& row, vector_view<B const> const& bias,
                              logit_map<compute_t<T>> const& map, ::std::size_t first,
                              ::std::size_t n, compute_t<T>* numbers) {
    using C = compute_t<T>;
    using P = row_pack<C>;
    constexpr ::std::size_t lanes = lanes_in<P>;
    ::std::size_t j = 0;
    if (row.stride() == 1) {
        in_order<P>(row.data() + first, n, numbers);
    } else {
        for (; j < n; ++j) numbers[j] = static_cast<C>(row[first + j]);
    }
    if (!bias.empty()) {
        if (bias.stride() == 1) {
            B const* const b = bias.data() + first;
            for (j = 0; j < n; ++j) numbers[j] += static_cast<C>(static_cast<compute_t<B>>(b[j]));
        } else {
            for (j = 0; j < n; ++j)
                numbers[j] += static_cast<C>(static_cast<compute_t<B>>(bias[first + j]));
        }
    }
    if (map.identity()) return;
    for (j = 0; j < n; j += lanes) {
        if (n - j < lanes) {
            store_part(map(load_part<P>(numbers + j, n - j, C(0))), numbers + j, n - j);
        } else {
            store_pack(map(load_pack<P>(numbers + j)), numbers + j);
        }
    }
}

/// The logit of column `j`, as the softmax sees it.
template <class T, class B>
compute_t<T> mapped_logit(vector_view<T const> row, vector_view<B const> bias,
                          logit_map<compute_t<T>> const& map, ::std::size_t j) {
    compute_t<T> number[1];
    map_block<T, B>(row, bias, map, j, 1, number);
    return number[0];
}

/// Calls `work(numbers, first, n)` for each block of a row until it gives false. The numbers are
/// the row's own memory where it has them as they are needed, or a copy.
template <class T, class B, class Work>
void for_each_block(vector_view<T const> const& row, vector_view<B const> const& bias,
                    logit_map<compute_t<T>> const& map, Work const& work) {
    using C = compute_t<T>;
    C copy[row_block];
    bool const direct = bias.empty() && map.identity();
    for (::std::size_t first = 0; first < row.size(); first += row_block) {
        ::std::size_t const rest = row.size() - first;
        ::std::size_t const n = rest < row_block ? rest : row_block;
        if constexpr (packs_move<T, C>) {
            if (direct && row.stride() == 1) {
                if (!work(row.data() + first, first, n)) return;
                continue;
            }
            if (direct) {  // elements as they are, so that they get the same lanes
                T elements[row_block];
                for (::std::size_t j = 0; j < n; ++j) elements[j] = row[first + j];
                if (!work(static_cast<T const*>(elements), first, n)) return;
                continue;
            }
        }
        map_block<T, B>(row, bias, map, first, n, copy);
        if (!work(static_cast<C const*>(copy), first, n)) return;
    }
}

/// Asks for what the loop comes to in a block's time: while it computes, memory works.
template <class T>
void prefetch_ahead(T const* x, ::std::size_t n) {
    for (::std::size_t byte = 0; byte < n * sizeof(T); byte += 64) {
        prefetch(reinterpret_cast<char const*>(x) + row_prefetch + byte);
    }
}

template <class T>
T minus_infinity() {
    return static_cast<T>(-math::infinity<compute_t<T>>);
}

/// The largest number of a block; NaN counts as -inf.
template <class P, class T>
PREFER_FLATTEN math::lane_t<P> largest_of(T const* x, ::std::size_t n) {
    using C = math::lane_t<P>;
    constexpr ::std::size_t lanes = lanes_in<P>;
    auto const larger = [](P const& a, P const& b) { return math::select(b > a, b, a); };
    P a(-math::infinity<C>);
    P b = a;
    ::std::size_t j = 0;
    for (; j + 2 * lanes <= n; j += 2 * lanes) {
        a = larger(a, load_pack<P>(x + j));
        b = larger(b, load_pack<P>(x + j + lanes));
    }
    if (j + lanes <= n) {
        a = larger(a, load_pack<P>(x + j));
        j += lanes;
    }
    if (j < n) b = larger(b, load_part<P>(x + j, n - j, minus_infinity<T>()));
    C numbers[lanes];
    store_pack(larger(a, b), numbers);
    for (::std::size_t width = lanes / 2; width > 0; width /= 2) {
        for (::std::size_t k = 0; k < width; ++k) {
            numbers[k] = numbers[k + width] > numbers[k] ? numbers[k + width] : numbers[k];
        }
    }
    return numbers[0];
}

/// The sums of a block, a lane each, and of a row so far.
template <bool Second, class P>
struct lane_sums {
    using C = math::lane_t<P>;
    using W = math::wide_t<C>;
    static constexpr ::std::size_t lanes = lanes_in<P>;

    W sum[lanes]{};
    W moment[lanes]{};
    W squares[lanes]{};
    W total[lanes]{};  // Σ (z - shift): the shift is added when it changes, and at the end

    /// Makes the sums relative to another top, by `by` above theirs; the sums grow by the factor.
    void move(W by, W factor) {
        for (::std::size_t k = 0; k < lanes; ++k) {
            if constexpr (Second) {
                moment[k] = factor > 0 ? (moment[k] - by * sum[k]) * factor : W(0);
                squares[k] *= factor * factor;
            }
            sum[k] *= factor;
        }
    }

    /// Adds a block, of which no number is above the top.
    template <class T>
    PREFER_FLATTEN void add(T const* x, ::std::size_t n, row_weights<P> const& weights) {
        P const top(weights.top());
        P block_sum(C(0)), block_moment(C(0)), block_squares(C(0)), block_total(C(0));
        auto const take = [&](P const& z, P const& counted) {
            P const cut = weights.cut(z);  // so that 0·(-inf) does not arise
            block_sum = weights.add_to(block_sum, cut);
            if constexpr (Second) {
                P const e = weights(cut);
                block_moment = mul_add(e, cut - top, block_moment);
                block_squares = mul_add(e, e, block_squares);
                block_total += counted - top;
            }
        };
        ::std::size_t j = 0;
        for (; j + lanes <= n; j += lanes) {
            prefetch_ahead(x + j, lanes);
            P const z = load_pack<P>(x + j);
            take(z, z);
        }
        if (j < n) {
            take(load_part<P>(x + j, n - j, minus_infinity<T>()),
                 load_part<P>(x + j, n - j, static_cast<T>(weights.top())));
        }
        collect(block_sum, sum);
        if constexpr (Second) {
            collect(block_moment, moment);
            collect(block_squares, squares);
            collect(block_total, total);
        }
    }

    static W over_lanes(W const (&from)[lanes]) {
        W all = 0;
        for (W const x : from) all += x;
        return all;
    }

private:
    static void collect(P const& block, W (&to)[lanes]) {
        C numbers[lanes];
        store_pack(block, numbers);
        for (::std::size_t k = 0; k < lanes; ++k) to[k] += static_cast<W>(numbers[k]);
    }
};

/// Calls `work` with a block relative to the origin of the weights.
template <class P, class T, class Work>
void with_origin(T const* x, ::std::size_t n, row_weights<P> const& weights, Work const& work) {
    using C = math::lane_t<P>;
    if (weights.origin() >= 0 && weights.origin() <= 0) {
        work(x);
    } else {
        C moved[row_block];
        moved[0] = C(0);  // gcc 12 cannot see that n > 0, and warns
        for (::std::size_t j = 0; j < n; ++j) moved[j] = static_cast<C>(x[j]) - weights.origin();
        work(static_cast<C const*>(moved));
    }
}

/// The sums of the columns `row` under `map`; `bias` is empty or of the same size. In one read of
/// the row. With `Second`, those of the second outputs too. A NaN or +inf among the columns, or
/// nothing but -inf, gives an improper normaliser.
template <bool Second, class T, class B>
row_sums<compute_t<T>> sum_row(vector_view<T const> row, vector_view<B const> bias,
                               logit_map<compute_t<T>> const& map) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    using P = row_pack<C>;
    constexpr C nothing = -math::infinity<C>;
    row_sums<C> s;
    lane_sums<Second, P> parts;
    row_weights<P> weights(C(0));
    for_each_block<T, B>(row, bias, map, [&](auto const* x, ::std::size_t, ::std::size_t n) {
        C const top = largest_of<P>(x, n);
        if (top > s.shift) {
            row_weights<P> const higher(top);
            if (s.shift > nothing) {
                parts.move(static_cast<W>(top) - static_cast<W>(s.shift), weights.ratio_to(higher));
            }
            weights = higher;
            s.shift = top;
        }
        if (!(s.shift > nothing)) {
            for (::std::size_t j = 0; j < n; ++j) {
                if (math::is_nan(static_cast<C>(x[j]))) s.shift = math::quiet_nan<C>;
            }
            s.total = -math::infinity<W>;
            return !math::is_nan(s.shift);
        }
        if (!s.proper()) return false;
        with_origin(x, n, weights, [&](auto const* z) { parts.add(z, n, weights); });
        if constexpr (Second) s.total += static_cast<W>(s.shift) * static_cast<W>(n);
        return true;
    });
    C const top_weight = weights.of_top();
    W const unit = static_cast<W>(top_weight);
    s.sum = parts.over_lanes(parts.sum) / unit;
    if (math::is_nan(s.sum)) s.shift = math::quiet_nan<C>;
    if constexpr (Second) {
        s.moment = parts.over_lanes(parts.moment) / unit;
        // Rounded as the squares are, so that a certain token's share is exactly 1.
        s.squares = parts.over_lanes(parts.squares) / static_cast<W>(top_weight * top_weight);
        s.total += parts.over_lanes(parts.total);
    }
    return s;
}

/// No column of this piece is the label.
inline constexpr ::std::size_t no_label = static_cast<::std::size_t>(-1);

/// Writes the weights of a block times `scale`, times dz/dx where `map` is a cap.
template <class P, class T, class D>
PREFER_FLATTEN void gradient_block(T const* x, ::std::size_t n,
                                   logit_map<math::lane_t<P>> const& map,
                                   row_weights<P> const& weights, math::lane_t<P> scale_number,
                                   D* to) {
    using C = math::lane_t<P>;
    constexpr ::std::size_t lanes = lanes_in<P>;
    P const scale(scale_number);
    P const origin(weights.origin());
    auto const over = [&](auto const& gradient) {
        ::std::size_t j = 0;
        for (; j + lanes <= n; j += lanes) {
            prefetch_ahead(x + j, lanes);
            store_pack(gradient(load_pack<P>(x + j)), to + j);
        }
        if (j < n) {
            P const last = load_part<P>(x + j, n - j, static_cast<T>(C(0)));
            store_part(gradient(last), to + j, n - j);
        }
    };
    if (map.capped) {
        over([&](P const& z) { return scale * weights(weights.cut(z)) * map.slope(z + origin); });
    } else {
        over([&](P const& z) { return scale * weights(weights.cut(z)); });
    }
}

/// The same between elements of any two sizes: numbers of the type that is computed in keep their
/// order, 16-bit elements are taken by the word.
template <class P, class T, class D>
void gradient_in_order(T const* x, ::std::size_t n, logit_map<math::lane_t<P>> const& map,
                       row_weights<P> const& weights, math::lane_t<P> scale, D* to) {
    using C = math::lane_t<P>;
    if constexpr (sizeof(T) == sizeof(D)) {
        gradient_block<P>(x, n, map, weights, scale, to);
    } else if constexpr (sizeof(T) < sizeof(D)) {
        C numbers[row_block];
        in_order<P>(x, n, numbers);
        gradient_block<P>(static_cast<C const*>(numbers), n, map, weights, scale, to);
    } else {
        C numbers[row_block];
        gradient_block<P>(x, n, map, weights, scale, numbers);
        for (::std::size_t j = 0; j < n; ++j) to[j] = static_cast<D>(numbers[j]);
    }
}

/// Writes g·(onehot(label) - softmax)·dz/dx for the columns `row` of a row with this normaliser.
/// `d_row` may be `row`. One read, one write.
template <class T, class B, class D>
void gradient_row(vector_view<T const> row, vector_view<B const> bias,
                  logit_map<compute_t<T>> const& map, row_normalizer<compute_t<T>> const& n,
                  ::std::size_t label, math::wide_t<compute_t<T>> g, vector_view<D> d_row) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    using P = row_pack<C>;
    auto const rounded = [](auto x) { return static_cast<D>(static_cast<compute_t<D>>(x)); };
    if (!n.proper()) {
        for (::std::size_t j = 0; j < row.size(); ++j) d_row[j] = rounded(math::quiet_nan<C>);
        return;
    }
    // 1 - p of the label, without the cancellation when p is near 1; read before it is overwritten.
    C const label_z = label == no_label ? C(0) : mapped_logit<T, B>(row, bias, map, label);
    W const inner = map.capped ? W(1) : static_cast<W>(map.inner);
    row_weights<P> const weights(n.shift);
    C const scale = static_cast<C>(-g / (n.sum * static_cast<W>(weights.of_top())) * inner);
    auto const write = [&](auto const* x, ::std::size_t count, auto* to) {
        with_origin(x, count, weights, [&](auto const* z) {
            gradient_in_order<P>(z, count, map, weights, scale, to);
        });
    };
    for_each_block<T, B>(row, bias, map,
                         [&](auto const* x, ::std::size_t first, ::std::size_t count) {
                             if constexpr (packs_move<D, C>) {
                                 if (d_row.stride() == 1) {
                                     write(x, count, d_row.data() + first);
                                     return true;
                                 }
                             }
                             C numbers[row_block];
                             write(x, count, numbers);
                             for (::std::size_t j = 0; j < count; ++j)
                                 d_row[first + j] = rounded(numbers[j]);
                             return true;
                         });
    if (label != no_label) {
        W const miss = -math::expm1(n.log_prob(label_z));
        d_row[label] = rounded(g * miss * static_cast<W>(map.slope(label_z)));
    }
}

}  // namespace prefer::detail
