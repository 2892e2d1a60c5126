// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <Eigen/Core>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::detail {

/// Elements that Eigen's vector instructions compute with.
template <class T>
concept eigen_computes =
    element<T> && (::std::same_as<compute_t<T>, float> || ::std::same_as<compute_t<T>, double>);

/// Rows are taken in blocks of so many columns: small enough for the first-level cache.
inline constexpr ::std::size_t eigen_block = 1024;

/// Sums of so many terms are taken in the element's own type; beyond, they go on in `wide_t`.
inline constexpr ::std::size_t eigen_group = 128;

template <class C>
using eigen_map = Eigen::Map<Eigen::Array<C, Eigen::Dynamic, 1> const>;

template <class C>
using eigen_buffer = Eigen::Array<C, static_cast<int>(eigen_block), 1>;

/// Columns `first` to `first + n` of a row in the type they are computed in: where they lie, or
/// gathered and converted into `buffer`. All that follows is the same for both, bit for bit.
template <class T>
eigen_map<compute_t<T>> eigen_load(vector_view<T const> row, ::std::size_t first, ::std::size_t n,
                                   eigen_buffer<compute_t<T>>& buffer) {
    using C = compute_t<T>;
    auto const size = static_cast<Eigen::Index>(n);
    if constexpr (::std::same_as<T, C>) {
        if (row.contiguous()) return {row.data() + first, size};
    }
    for (::std::size_t j = 0; j < n; ++j) {
        buffer[static_cast<Eigen::Index>(j)] = static_cast<C>(row[first + j]);
    }
    return {buffer.data(), size};
}

/// e^(x - shift). Eigen's exp clamps its argument, so that e^-inf is not 0; the square of
/// e^((x - shift) / 2) is, and costs one multiplication.
template <class Block, class C>
auto eigen_exp(Block const& x, C shift) {
    return ((x - shift) * C(0.5)).exp().square();
}

/// `normalize_row`, in one read of the row: the sum is scaled when a block raises the maximum.
template <class T>
row_normalizer<compute_t<T>> eigen_normalize_row(vector_view<T const> row) {
    using C = compute_t<T>;
    using W = math::wide_t<C>;
    eigen_buffer<C> buffer;
    row_normalizer<C> normalizer{-math::infinity<C>, 0};
    for (::std::size_t first = 0; first < row.size(); first += eigen_block) {
        ::std::size_t const n = ::std::min(eigen_block, row.size() - first);
        auto const x = eigen_load<T>(row, first, n, buffer);
        C const top = math::max(normalizer.shift, x.template maxCoeff<Eigen::PropagateNaN>());
        if (!math::is_finite(top)) {
            normalizer.shift = top;
            if (top < 0) continue;  // nothing but -inf so far
            return normalizer;
        }
        if (top > normalizer.shift) {
            normalizer.sum *= math::exp(static_cast<W>(normalizer.shift) - static_cast<W>(top));
            normalizer.shift = top;
        }
        for (::std::size_t k = 0; k < n; k += eigen_group) {
            auto const group = x.segment(static_cast<Eigen::Index>(k),
                                         static_cast<Eigen::Index>(::std::min(eigen_group, n - k)));
            normalizer.sum += static_cast<W>(eigen_exp(group, top).sum());
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
    if (!normalizer.proper()) {
        token_gradient_row<T, D>(row, label, normalizer, g, d_row);
        return;
    }
    // 1 - p of the label, without the cancellation when p is near 1; read before it is overwritten.
    auto const miss = -math::expm1(normalizer.log_prob(static_cast<C>(row[label])));
    C const scale = static_cast<C>(-g / normalizer.sum);
    eigen_buffer<C> buffer;
    for (::std::size_t first = 0; first < row.size(); first += eigen_block) {
        ::std::size_t const n = ::std::min(eigen_block, row.size() - first);
        auto const size = static_cast<Eigen::Index>(n);
        auto const x = eigen_load<T>(row, first, n, buffer);
        // Always into the aligned buffer: the bits must not depend on the address of d_row.
        buffer.head(size) = eigen_exp(x, normalizer.shift) * scale;
        if constexpr (::std::same_as<D, C>) {
            if (d_row.contiguous()) {
                Eigen::Map<Eigen::Array<C, Eigen::Dynamic, 1>>(d_row.data() + first, size) =
                    buffer.head(size);
                continue;
            }
        }
        for (::std::size_t j = 0; j < n; ++j) {
            d_row[first + j] =
                static_cast<D>(static_cast<compute_t<D>>(buffer[static_cast<Eigen::Index>(j)]));
        }
    }
    d_row[label] = static_cast<D>(static_cast<compute_t<D>>(g * miss));
}

}  // namespace prefer::detail
