// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <prefer/config.hpp>
#include <prefer/errors.hpp>

namespace prefer {

/// A vector `[n]` in somebody else's memory: pointer, size, stride (in elements, any sign).
///
/// It owns nothing, copies nothing and never resizes; copying the view copies three words. Indexing
/// is unchecked. Usable on a device. `vector_view<T>` converts to `vector_view<T const>`.
template <class T>
class vector_view {
public:
    using element_type = T;
    using value_type = ::std::remove_cv_t<T>;

    constexpr vector_view() = default;

    PREFER_HOST_DEVICE constexpr vector_view(T* data, ::std::size_t size,
                                             ::std::ptrdiff_t stride = 1)
        : data_(data), size_(size), stride_(stride) {}

    template <class U>
        requires(::std::same_as<U const, T> && !::std::same_as<U, T>)
    PREFER_HOST_DEVICE constexpr vector_view(vector_view<U> other)
        : data_(other.data()), size_(other.size()), stride_(other.stride()) {}

    PREFER_HOST_DEVICE constexpr T* data() const { return data_; }
    PREFER_HOST_DEVICE constexpr ::std::size_t size() const { return size_; }
    PREFER_HOST_DEVICE constexpr ::std::ptrdiff_t stride() const { return stride_; }
    PREFER_HOST_DEVICE constexpr bool empty() const { return size_ == 0; }
    PREFER_HOST_DEVICE constexpr bool contiguous() const { return stride_ == 1 || size_ <= 1; }

    PREFER_HOST_DEVICE constexpr T& operator[](::std::size_t i) const {
        return data_[static_cast<::std::ptrdiff_t>(i) * stride_];
    }

    /// Elements `first` to `first + count`.
    PREFER_HOST_DEVICE constexpr vector_view slice(::std::size_t first, ::std::size_t count) const {
        return {data_ + static_cast<::std::ptrdiff_t>(first) * stride_, count, stride_};
    }

private:
    T* data_ = nullptr;
    ::std::size_t size_ = 0;
    ::std::ptrdiff_t stride_ = 1;
};

/// A matrix `[rows, columns]` in somebody else's memory, with one stride for each axis (in
/// elements): row-major by default, and any transposed, blocked or padded layout by its strides.
///
/// It owns and copies nothing. Indexing is unchecked. Usable on a device.
template <class T>
class matrix_view {
public:
    using element_type = T;
    using value_type = ::std::remove_cv_t<T>;

    constexpr matrix_view() = default;

    PREFER_HOST_DEVICE constexpr matrix_view(T* data, ::std::size_t rows, ::std::size_t columns)
        : matrix_view(data, rows, columns, static_cast<::std::ptrdiff_t>(columns), 1) {}

    PREFER_HOST_DEVICE constexpr matrix_view(T* data, ::std::size_t rows, ::std::size_t columns,
                                             ::std::ptrdiff_t row_stride,
                                             ::std::ptrdiff_t column_stride)
        : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride),
          column_stride_(column_stride) {}

    template <class U>
        requires(::std::same_as<U const, T> && !::std::same_as<U, T>)
    PREFER_HOST_DEVICE constexpr matrix_view(matrix_view<U> other)
        : matrix_view(other.data(), other.rows(), other.columns(), other.row_stride(),
                      other.column_stride()) {}

    PREFER_HOST_DEVICE constexpr T* data() const { return data_; }
    PREFER_HOST_DEVICE constexpr ::std::size_t rows() const { return rows_; }
    PREFER_HOST_DEVICE constexpr ::std::size_t columns() const { return columns_; }
    PREFER_HOST_DEVICE constexpr ::std::ptrdiff_t row_stride() const { return row_stride_; }
    PREFER_HOST_DEVICE constexpr ::std::ptrdiff_t column_stride() const { return column_stride_; }

    PREFER_HOST_DEVICE constexpr T& operator()(::std::size_t row, ::std::size_t column) const {
        return data_[static_cast<::std::ptrdiff_t>(row) * row_stride_ +
                     static_cast<::std::ptrdiff_t>(column) * column_stride_];
    }

    PREFER_HOST_DEVICE constexpr vector_view<T> row(::std::size_t r) const {
        return {data_ + static_cast<::std::ptrdiff_t>(r) * row_stride_, columns_, column_stride_};
    }

private:
    T* data_ = nullptr;
    ::std::size_t rows_ = 0;
    ::std::size_t columns_ = 0;
    ::std::ptrdiff_t row_stride_ = 0;
    ::std::ptrdiff_t column_stride_ = 1;
};

/// How a user's type becomes a view: the one customisation point for tensors.
///
/// A specialisation for `X` (no const, no reference) has one or both of
///
///     static auto vector(auto& x);    // X& -> vector_view<E>, X const& -> vector_view<E const>
///     static auto matrix(auto& x);    // the same with matrix_view
///
/// and `static constexpr bool borrowed`: true when a view outlives the object it was made from
/// (spans, maps, blocks), false for containers. It must not copy or allocate; for a shape known
/// only at run time it throws `shape_error`. Shipped: the standard contiguous containers (here),
/// `backend/eigen.hpp`, `backend/xtensor.hpp`. Raw memory needs none: `vector_view{pointer, n}`,
/// `matrix_view{pointer, rows, columns}`.
template <class X>
struct view_traits;

template <class T>
struct view_traits<vector_view<T>> {
    static constexpr bool borrowed = true;
    static constexpr vector_view<T> vector(vector_view<T> x) { return x; }
};

template <class T>
struct view_traits<matrix_view<T>> {
    static constexpr bool borrowed = true;
    static constexpr matrix_view<T> matrix(matrix_view<T> x) { return x; }
};

namespace detail {

/// `data()` and `size()` and nothing that speaks of more than one axis.
template <class X>
concept flat_container = requires(X& x) {
    { *x.data() } -> ::std::same_as<::std::remove_pointer_t<decltype(x.data())>&>;
    { x.size() } -> ::std::convertible_to<::std::size_t>;
    x.begin();
    x.end();
} && !requires(X& x) { x.rows(); } && !requires(X& x) { x.shape(); };

}  // namespace detail

/// std::vector, std::array, std::span and other flat contiguous containers.
template <detail::flat_container X>
struct view_traits<X> {
    static constexpr bool borrowed = ::std::ranges::enable_borrowed_range<X>;

    template <class Self>
    static constexpr auto vector(Self& x) {
        using element = ::std::remove_pointer_t<decltype(x.data())>;
        return vector_view<element>(x.data(), static_cast<::std::size_t>(x.size()));
    }
};

template <class T, ::std::size_t N>
struct view_traits<T[N]> {
    static constexpr bool borrowed = false;

    template <class U>
    static constexpr vector_view<U> vector(U (&x)[N]) {
        return {x, N};
    }
};

namespace detail {

template <class X>
using bare_t = ::std::remove_cv_t<::std::remove_reference_t<X>>;

/// A temporary that owns its elements: a view of it would dangle.
template <class X>
inline constexpr bool dangles =
    !::std::is_lvalue_reference_v<X> && !view_traits<bare_t<X>>::borrowed;

}  // namespace detail

/// Types that can be viewed as a vector: `as_vector` works on them.
template <class X>
concept vector_like =
    requires(::std::remove_reference_t<X>& x) { view_traits<detail::bare_t<X>>::vector(x); };

/// Types that can be viewed as a matrix: `as_matrix` works on them.
template <class X>
concept matrix_like =
    requires(::std::remove_reference_t<X>& x) { view_traits<detail::bare_t<X>>::matrix(x); };

/// The vector view of anything `vector_like`, without a copy. O(1).
///
/// A temporary container is refused, since the view would outlive it; temporary spans, maps and
/// blocks are fine. Const containers give views of const elements.
template <class X>
constexpr auto as_vector(X&& x) {
    static_assert(vector_like<X>,
                  "prefer: this type cannot be viewed as a vector. Pass a std::vector, std::array, "
                  "std::span or prefer::vector_view{pointer, size}; include "
                  "<prefer/backend/eigen.hpp> or <prefer/backend/xtensor.hpp> for their "
                  "one-dimensional types; or specialise prefer::view_traits for your own.");
    if constexpr (vector_like<X>) {
        static_assert(!detail::dangles<X>,
                      "prefer: a view of this temporary container would dangle; give it a name.");
        return view_traits<detail::bare_t<X>>::vector(x);
    }
}

/// The matrix view of anything `matrix_like`, without a copy. O(1). As `as_vector`.
template <class X>
constexpr auto as_matrix(X&& x) {
    static_assert(matrix_like<X>,
                  "prefer: this type cannot be viewed as a matrix. Pass "
                  "prefer::matrix_view{pointer, rows, columns}; include "
                  "<prefer/backend/eigen.hpp> or <prefer/backend/xtensor.hpp> for their "
                  "two-dimensional types; or specialise prefer::view_traits for your own.");
    if constexpr (matrix_like<X>) {
        static_assert(!detail::dangles<X>,
                      "prefer: a view of this temporary container would dangle; give it a name.");
        return view_traits<detail::bare_t<X>>::matrix(x);
    }
}

/// A matrix whose rows lie one after the other, as one vector `[rows * columns]`; how a padded
/// `[B, T]` array enters functions over tokens. Throws `shape_error` when the rows have gaps.
template <class X>
constexpr auto flatten(X&& x) {
    auto const m = as_matrix(x);
    using element = typename decltype(m)::element_type;
    auto const columns = static_cast<::std::ptrdiff_t>(m.columns());
    if (columns == 1) return vector_view<element>(m.data(), m.rows(), m.row_stride());
    if (m.rows() > 1 && columns > 1 && m.row_stride() != columns * m.column_stride()) {
        throw shape_error(detail::message("prefer::flatten: rows are ", m.row_stride(),
                                          " elements apart, but must be ",
                                          columns * m.column_stride(), " (row-major, no gaps)"));
    }
    return vector_view<element>(m.data(), m.rows() * m.columns(), m.column_stride());
}

/// The element types of anything that can be viewed, without const.
template <class X>
using vector_element_t =
    typename decltype(as_vector(::std::declval<::std::remove_reference_t<X>&>()))::value_type;

template <class X>
using matrix_element_t =
    typename decltype(as_matrix(::std::declval<::std::remove_reference_t<X>&>()))::value_type;

}  // namespace prefer
