// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include <Eigen/Core>

#include <prefer/backend/eigen/exp.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sum_exp.hpp>

namespace prefer::detail {

/// Elements that are computed in a type with vector instructions.
template <class T>
concept eigen_computes =
    element<T> && (::std::same_as<compute_t<T>, float> || ::std::same_as<compute_t<T>, double>);

/// Columns `first` to `first + n` of a row in the type they are computed in: where they lie, or
/// gathered and converted into `buffer`. What follows is the same for both, bit for bit.
template <class T>
eigen_map<compute_t<T>> eigen_load(vector_view<T const> row, ::std::size_t first, Eigen::Index n,
                                   eigen_buffer<compute_t<T>>& buffer) {
    using C = compute_t<T>;
    if constexpr (::std::same_as<T, C>) {
        if (row.contiguous()) return {row.data() + first, n};
    }
    for (Eigen::Index j = 0; j < n; ++j) {
        buffer[j] = static_cast<C>(row[first + static_cast<::std::size_t>(j)]);
    }
    return {buffer.data(), n};
}

/// Columns `first` to `first + n` of a row from a buffer.
template <class D, class C>
void eigen_store(eigen_buffer<C> const& buffer, Eigen::Index n, vector_view<D> row,
                 ::std::size_t first) {
    if constexpr (::std::same_as<D, C>) {
        if (row.contiguous()) {
            Eigen::Map<Eigen::Array<C, Eigen::Dynamic, 1>>(row.data() + first, n) = buffer.head(n);
            return;
        }
    }
    for (Eigen::Index j = 0; j < n; ++j) {
        row[first + static_cast<::std::size_t>(j)] =
            static_cast<D>(static_cast<compute_t<D>>(buffer[j]));
    }
}

/// `normalize_row`, in one read of the row: the sum is scaled when a block raises the maximum.
template <class T>
row_normalizer<compute_t<T>> eigen_normalize_row(vector_view<T const> row) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    constexpr Eigen::Index group = 128;  // so many terms are summed in C, the groups in W
    constexpr auto block = static_cast<::std::size_t>(eigen_block);
    eigen_buffer<C> buffer;
    row_normalizer<C> normalizer{-math::infinity<C>, 0};
    for (::std::size_t first = 0; first < row.size(); first += block) {
        auto const n = static_cast<Eigen::Index>(::std::min(block, row.size() - first));
        auto const x = eigen_load<T>(row, first, n, buffer);
        C const top = math::max(normalizer.shift, x.template maxCoeff<Eigen::PropagateNaN>());
        if (!math::is_finite(top)) {
            normalizer.shift = top;
            if (top < 0) continue;  // nothing but -inf so far
            return normalizer;      // a NaN or +inf: the row has no softmax
        }
        if (top > normalizer.shift) {
            normalizer.sum *= math::exp(static_cast<W>(normalizer.shift) - static_cast<W>(top));
            normalizer.shift = top;
        }
        eigen_exp(x, top, buffer);
        for (Eigen::Index k = 0; k < n; k += group) {
            normalizer.sum += static_cast<W>(buffer.segment(k, ::std::min(group, n - k)).sum());
        }
    }
    return normalizer;
}

/// `token_gradient_row`, with the normaliser of `eigen_normalize_row`.
template <class T, class D>
void eigen_gradient_row(vector_view<T const> row, ::std::size_t label,
                        row_normalizer<compute_t<T>> const& normalizer,
                        math::wide_t<compute_t<T>> g, vector_view<D> d_row) {
    using C = compute_t<T>;
    constexpr auto block = static_cast<::std::size_t>(eigen_block);
    if (!normalizer.proper()) {
        token_gradient_row<T, D>(row, label, normalizer, g, d_row);
        return;
    }
    // 1 - p of the label, without the cancellation when p is near 1; read before it is overwritten.
    auto const miss = -math::expm1(normalizer.log_prob(static_cast<C>(row[label])));
    auto const scale = static_cast<C>(-g / normalizer.sum);
    eigen_buffer<C> buffer;
    for (::std::size_t first = 0; first < row.size(); first += block) {
        auto const n = static_cast<Eigen::Index>(::std::min(block, row.size() - first));
        eigen_exp(eigen_load<T>(row, first, n, buffer), normalizer.shift, buffer);
        buffer.head(n) *= scale;
        eigen_store<D>(buffer, n, d_row, first);
    }
    d_row[label] = static_cast<D>(static_cast<compute_t<D>>(g * miss));
}

}  // namespace prefer::detail
