// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// xtensor: its containers, adaptors and strided views as views.

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#if __has_include(<xtensor/containers/xtensor.hpp>)  // 0.26 and newer
#    include <xtensor/containers/xadapt.hpp>
#    include <xtensor/containers/xarray.hpp>
#    include <xtensor/containers/xtensor.hpp>
#    include <xtensor/views/xstrided_view.hpp>
#    include <xtensor/views/xview.hpp>
#else
#    include <xtensor/xadapt.hpp>
#    include <xtensor/xarray.hpp>
#    include <xtensor/xstrided_view.hpp>
#    include <xtensor/xtensor.hpp>
#    include <xtensor/xview.hpp>
#endif

#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

namespace detail {

/// An xtensor expression with its elements in memory at fixed strides; not a sum, nor a view by
/// lists of indices.
template <class X>
concept xtensor_dense = xt::is_xexpression<X>::value && requires(X& x) {
    { *x.data() } -> ::std::same_as<::std::remove_pointer_t<decltype(x.data())>&>;
    x.data_offset();
    x.shape();
    x.strides();
};

/// The number of axes where the type says it, otherwise `unknown_rank`.
inline constexpr ::std::size_t unknown_rank = static_cast<::std::size_t>(-1);

template <class Shape>
inline constexpr ::std::size_t xtensor_rank = unknown_rank;

template <class Shape>
    requires(::std::tuple_size<Shape>::value >= 0)
inline constexpr ::std::size_t xtensor_rank<Shape> = ::std::tuple_size<Shape>::value;

/// Whether a storage or a closure refers to memory that somebody else owns.
template <class X>
inline constexpr bool xtensor_refers = ::std::is_lvalue_reference_v<X>;

template <class Pointer, class Allocator>
inline constexpr bool xtensor_refers<xt::xbuffer_adaptor<Pointer, xt::no_ownership, Allocator>> =
    true;

/// Whether a view outlives the xtensor object it is made from.
template <class X>
inline constexpr bool xtensor_borrowed = false;

template <class E, ::std::size_t N, xt::layout_type L, class Tag>
inline constexpr bool xtensor_borrowed<xt::xtensor_adaptor<E, N, L, Tag>> = xtensor_refers<E>;

template <class E, xt::layout_type L, class S, class Tag>
inline constexpr bool xtensor_borrowed<xt::xarray_adaptor<E, L, S, Tag>> = xtensor_refers<E>;

template <class E, class... Slices>
inline constexpr bool xtensor_borrowed<xt::xview<E, Slices...>> = xtensor_refers<E>;

template <class E, class S, xt::layout_type L, class F>
inline constexpr bool xtensor_borrowed<xt::xstrided_view<E, S, L, F>> = xtensor_refers<E>;

}  // namespace detail

/// xtensor's dense types: `xtensor`, `xarray`, `xtensor_fixed`, adaptors, `xt::view`,
/// `xt::strided_view` and what is made of it (`xt::transpose`, …), in any layout.
///
/// Of one axis: a vector; of two: a matrix. Where the number of axes is known only at run time
/// (`xarray`), another one is a `shape_error`. Const objects give const elements. Temporary
/// containers, and views that own what they look at, are refused, since a view of them would
/// dangle.
template <detail::xtensor_dense X>
struct view_traits<X> {
    static constexpr bool borrowed = detail::xtensor_borrowed<X>;
    static constexpr ::std::size_t rank =
        detail::xtensor_rank<::std::remove_cvref_t<decltype(::std::declval<X&>().shape())>>;

    template <class Self>
        requires(rank == 1 || rank == detail::unknown_rank)
    static auto vector(Self& x) {
        using element = ::std::remove_pointer_t<decltype(x.data())>;
        require_rank("as_vector", x, 1);
        return vector_view<element>(x.data() + x.data_offset(), extent(x, 0), stride(x, 0));
    }

    template <class Self>
        requires(rank == 2 || rank == detail::unknown_rank)
    static auto matrix(Self& x) {
        using element = ::std::remove_pointer_t<decltype(x.data())>;
        require_rank("as_matrix", x, 2);
        return matrix_view<element>(x.data() + x.data_offset(), extent(x, 0), extent(x, 1),
                                    stride(x, 0), stride(x, 1));
    }

private:
    static void require_rank(char const* function, X const& x, ::std::size_t axes) {
        if (x.dimension() != axes) {
            throw shape_error(detail::message("prefer::", function, ": the xtensor expression has ",
                                              x.dimension(), " axes, but must have ", axes));
        }
    }

    static ::std::size_t extent(X const& x, ::std::size_t axis) {
        return static_cast<::std::size_t>(x.shape()[axis]);
    }

    static ::std::ptrdiff_t stride(X const& x, ::std::size_t axis) {
        return static_cast<::std::ptrdiff_t>(x.strides()[axis]);
    }
};

}  // namespace prefer
