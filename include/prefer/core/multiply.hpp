// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The matrix product of the library, in blocks of a fixed shape: which thread does a block, and
/// how many threads there are, changes no bit of it.
///
/// A backend brings a faster one by a member, which is called from several threads at once:
///
///     void multiply(matrix_view<C const> a, matrix_view<C const> b, matrix_view<C> c,
///                   bool add) const;
///
/// c = a·b, or c += a·b with `add`, for C float and double, on the calling thread; a `[m, k]`,
/// b `[k, n]`, c `[m, n]`, none of m, k, n is 0, each with `matrix_lines`, and c overlaps neither.
/// It does not throw. Where there is none, the plain loop runs.

#include <cstddef>

#include <prefer/core/backend.hpp>
#include <prefer/core/view.hpp>
#include <prefer/math/log_sum_exp.hpp>

namespace prefer::detail {

template <class T>
matrix_view<T> transposed(matrix_view<T> m) {
    return {m.data(), m.columns(), m.rows(), m.column_stride(), m.row_stride()};
}

/// A part of a matrix: `rows` from `row`, `columns` from `column`.
template <class T>
matrix_view<T> part(matrix_view<T> m, ::std::size_t row, ::std::size_t rows, ::std::size_t column,
                    ::std::size_t columns) {
    T* const first = m.data() + static_cast<::std::ptrdiff_t>(row) * m.row_stride() +
                     static_cast<::std::ptrdiff_t>(column) * m.column_stride();
    return {first, rows, columns, m.row_stride(), m.column_stride()};
}

/// How matrix libraries see a matrix: lines (rows or columns) of neighbouring elements, whose
/// starts are `apart` elements from each other, at least the length of a line.
struct matrix_lines {
    bool along_rows = false;
    bool along_columns = false;
    ::std::ptrdiff_t apart = 0;

    template <class T>
    explicit matrix_lines(matrix_view<T> m) {
        auto const rows = static_cast<::std::ptrdiff_t>(m.rows());
        auto const columns = static_cast<::std::ptrdiff_t>(m.columns());
        bool const joined_rows = m.column_stride() == 1 || columns <= 1;
        bool const joined_columns = m.row_stride() == 1 || rows <= 1;
        if (joined_rows && (rows <= 1 || m.row_stride() >= columns)) {
            along_rows = true;
            apart = rows <= 1 ? columns : m.row_stride();
        } else if (joined_columns && (columns <= 1 || m.column_stride() >= rows)) {
            along_columns = true;
            apart = columns <= 1 ? rows : m.column_stride();
        }
    }

    explicit operator bool() const { return along_rows || along_columns; }
};

/// c = a·b, or c += a·b, on this thread: by the backend, or each element as one sum in the wider
/// type.
template <backend_like Backend, class C>
void multiply_block(Backend const& on, matrix_view<C const> a, matrix_view<C const> b,
                    matrix_view<C> c, bool add) {
    if constexpr (requires { on.multiply(a, b, c, add); }) {
        bool const any = a.rows() != 0 && a.columns() != 0 && b.columns() != 0;
        if (any && matrix_lines(a) && matrix_lines(b) && matrix_lines(c)) {
            on.multiply(a, b, c, add);
            return;
        }
    }
    using W = math::wide_t<C>;
    for (::std::size_t i = 0; i < a.rows(); ++i) {
        for (::std::size_t j = 0; j < b.columns(); ++j) {
            W sum = add ? static_cast<W>(c(i, j)) : W(0);
            for (::std::size_t k = 0; k < a.columns(); ++k) {
                sum += static_cast<W>(a(i, k)) * static_cast<W>(b(k, j));
            }
            c(i, j) = static_cast<C>(sum);
        }
    }
}

/// The blocks of a matrix `[rows, columns]`; one task each.
struct block_grid {
    static constexpr ::std::size_t block_rows = 512;
    static constexpr ::std::size_t block_columns = 512;

    ::std::size_t rows = 0;
    ::std::size_t columns = 0;

    struct block {
        ::std::size_t row, rows, column, columns;
    };

    ::std::size_t across() const { return (columns + block_columns - 1) / block_columns; }
    ::std::size_t size() const { return (rows + block_rows - 1) / block_rows * across(); }

    block operator[](::std::size_t i) const {
        ::std::size_t const row = i / across() * block_rows;
        ::std::size_t const column = i % across() * block_columns;
        return {row, least(block_rows, rows - row), column, least(block_columns, columns - column)};
    }

    template <class T>
    static matrix_view<T> of(matrix_view<T> m, block const& b) {
        return part(m, b.row, b.rows, b.column, b.columns);
    }

private:
    static ::std::size_t least(::std::size_t a, ::std::size_t b) { return a < b ? a : b; }
};

/// Block `b` of the product a·b.
template <backend_like Backend, class C>
void multiply_block_of(Backend const& on, matrix_view<C const> left, matrix_view<C const> right,
                       matrix_view<C> out, block_grid::block const& b, bool add) {
    multiply_block<Backend, C>(on, part(left, b.row, b.rows, 0, left.columns()),
                               part(right, 0, right.rows(), b.column, b.columns),
                               block_grid::of(out, b), add);
}

/// c = a·b, or c += a·b, one task for each block of c.
template <backend_like Backend, class C>
void multiply(Backend const& on, matrix_view<C const> a, matrix_view<C const> b, matrix_view<C> c,
              bool add) {
    block_grid const blocks{c.rows(), c.columns()};
    for_each_task(on, blocks.size(), [&](::std::size_t task, ::std::size_t) {
        multiply_block_of<Backend, C>(on, a, b, c, blocks[task], add);
    });
}

}  // namespace prefer::detail
