// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The work on one row of logits, or on some of its columns: all that is slow about log-probs.
/// `token_log_probs`, the head-fused form and the vocabulary-parallel form are written in these.

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
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
        moved.moment = (moment + by * this->sum) * factor;
        moved.squares = squares * factor * factor;
        return moved;
    }
};

/// The logit of column `j`, as the softmax sees it.
template <class T, class B>
compute_t<T> mapped_logit(vector_view<T const> row, vector_view<B const> bias,
                          logit_map<compute_t<T>> const& map, ::std::size_t j) {
    using C = compute_t<T>;
    C const x = static_cast<C>(row[j]);
    return map(bias.empty() ? x : x + static_cast<C>(bias[j]));
}

/// The sums of the columns `row` under `map`; `bias` is empty or of the same size. In one read of
/// the row. With `Second`, those of the second outputs too. A NaN or +inf among the columns, or
/// nothing but -inf, gives an improper normaliser.
template <bool Second, class T, class B>
row_sums<compute_t<T>> sum_row(vector_view<T const> row, vector_view<B const> bias,
                               logit_map<compute_t<T>> const& map) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    auto const z_of = [&](::std::size_t j) { return mapped_logit<T, B>(row, bias, map, j); };
    row_sums<C> s;
    for (::std::size_t j = 0; j < row.size(); ++j) s.shift = math::max(s.shift, z_of(j));
    if (!s.proper()) return s;
    for (::std::size_t j = 0; j < row.size(); ++j) {
        C const z = z_of(j);
        C const below = z - s.shift;
        W const e = static_cast<W>(math::exp(below));
        s.sum += e;
        if constexpr (Second) {
            s.moment += e > 0 ? e * static_cast<W>(below) : W(0);
            s.squares += e * e;
            s.total += static_cast<W>(z);
        }
    }
    return s;
}

/// No column of this piece is the label.
inline constexpr ::std::size_t no_label = static_cast<::std::size_t>(-1);

/// Writes g·(onehot(label) - softmax)·dz/dx for the columns `row` of a row with this normaliser.
/// `d_row` may be `row`.
template <class T, class B, class D>
void gradient_row(vector_view<T const> row, vector_view<B const> bias,
                  logit_map<compute_t<T>> const& map, row_normalizer<compute_t<T>> const& n,
                  ::std::size_t label, math::wide_t<compute_t<T>> g, vector_view<D> d_row) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    auto const store = [&](::std::size_t j, W x) {
        d_row[j] = static_cast<D>(static_cast<compute_t<D>>(x));
    };
    if (!n.proper()) {
        for (::std::size_t j = 0; j < row.size(); ++j) store(j, math::quiet_nan<W>);
        return;
    }
    auto const z_of = [&](::std::size_t j) { return mapped_logit<T, B>(row, bias, map, j); };
    // 1 - p of the label, without the cancellation when p is near 1; read before it is overwritten.
    C const label_z = label == no_label ? C(0) : z_of(label);
    W const scale = -g / n.sum;
    for (::std::size_t j = 0; j < row.size(); ++j) {
        C const z = z_of(j);
        W const slope = static_cast<W>(map.slope(z));
        store(j, scale * static_cast<W>(math::exp(z - n.shift)) * slope);
    }
    if (label != no_label) {
        W const miss = -math::expm1(n.log_prob(label_z));
        store(label, g * miss * static_cast<W>(map.slope(label_z)));
    }
}

}  // namespace prefer::detail
