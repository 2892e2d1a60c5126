// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <Eigen/Core>

#include <prefer/core/multiply.hpp>
#include <prefer/core/view.hpp>

namespace prefer::detail {

/// Calls `work` with a matrix that has lines as an Eigen map whose storage order is known.
template <class T, class Work>
void with_eigen_map(matrix_view<T> m, Work const& work) {
    using value = typename matrix_view<T>::value_type;
    auto const map = [&]<int Order>() {
        using matrix = Eigen::Matrix<value, Eigen::Dynamic, Eigen::Dynamic, Order>;
        using mapped = ::std::conditional_t<::std::is_const_v<T>, matrix const, matrix>;
        return Eigen::Map<mapped, Eigen::Unaligned, Eigen::OuterStride<>>(
            m.data(), static_cast<Eigen::Index>(m.rows()), static_cast<Eigen::Index>(m.columns()),
            Eigen::OuterStride<>(matrix_lines(m).apart));
    };
    if (matrix_lines(m).along_rows) {
        work(map.template operator()<Eigen::RowMajor>());
    } else {
        work(map.template operator()<Eigen::ColMajor>());
    }
}

/// c = a·b, or c += a·b, by Eigen's product, for matrices with lines.
template <class C>
void eigen_multiply(matrix_view<C const> a, matrix_view<C const> b, matrix_view<C> c, bool add) {
    if (!matrix_lines(c).along_rows) {  // one storage order of results is enough
        eigen_multiply<C>(transposed(b), transposed(a), transposed(c), add);
        return;
    }
    Eigen::Map<Eigen::Matrix<C, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
               Eigen::OuterStride<>>
        out(c.data(), static_cast<Eigen::Index>(c.rows()), static_cast<Eigen::Index>(c.columns()),
            Eigen::OuterStride<>(matrix_lines(c).apart));
    with_eigen_map(a, [&](auto const& left) {
        with_eigen_map(b, [&](auto const& right) {
            if (add) {
                out.noalias() += left * right;
            } else {
                out.noalias() = left * right;
            }
        });
    });
}

}  // namespace prefer::detail
