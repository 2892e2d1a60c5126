// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <Eigen/Core>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>

namespace prefer {

namespace detail {

template <class D>
::std::true_type eigen_is_dense(Eigen::DenseBase<D> const*);
::std::false_type eigen_is_dense(void const*);

/// Whether an object holds its coefficients itself: a Matrix or an Array, or a Ref to const, which
/// makes a copy of what it cannot refer to.
template <class D>
::std::true_type eigen_owns(Eigen::PlainObjectBase<D> const*);
template <class D, int Options, class Stride>
::std::true_type eigen_owns(Eigen::Ref<D const, Options, Stride> const*);
::std::false_type eigen_owns(void const*);

/// A dense object of Eigen with its coefficients in memory: Matrix, Array, Map, Ref, and Block,
/// Transpose, Diagonal, … of these; not a sum, a cast or a reversal, which exist only as formulas.
template <class X>
concept eigen_dense =
    decltype(eigen_is_dense(static_cast<X*>(nullptr)))::value &&
    (static_cast<unsigned>(X::Flags) & static_cast<unsigned>(Eigen::DirectAccessBit)) != 0U &&
    requires(X& x) {
        x.data();
        x.innerStride();
        x.outerStride();
    };

}  // namespace detail

/// Eigen's dense types, fixed or dynamic, row- or column-major, with any strides.
///
/// All of them are matrices; a vector is also what is one at compile time (one row or one column).
/// A dynamic matrix that happens to have one column is not: it would otherwise broadcast, or read
/// as a vector what was meant as a batch. Take `.col(0)` of it. A const Matrix, a `Map<T const>`
/// and a const Map give const elements. Owning are Matrix, Array, and `Ref<T const>`, which may
/// hold a copy.
template <detail::eigen_dense X>
struct view_traits<X> {
    static constexpr bool borrowed = !decltype(detail::eigen_owns(static_cast<X*>(nullptr)))::value;

    template <class Self>
        requires(static_cast<bool>(X::IsVectorAtCompileTime))
    static auto vector(Self& x) {
        using element = ::std::remove_pointer_t<decltype(x.data())>;
        return vector_view<element>(x.data(), static_cast<::std::size_t>(x.size()),
                                    x.innerStride());
    }

    template <class Self>
    static auto matrix(Self& x) {
        using element = ::std::remove_pointer_t<decltype(x.data())>;
        bool const by_rows = static_cast<bool>(X::IsRowMajor);
        return matrix_view<element>(x.data(), static_cast<::std::size_t>(x.rows()),
                                    static_cast<::std::size_t>(x.cols()),
                                    by_rows ? x.outerStride() : x.innerStride(),
                                    by_rows ? x.innerStride() : x.outerStride());
    }
};

/// Eigen's 16-bit types are stored, and computed with in float, like the library's own.
template <>
struct element_traits<Eigen::bfloat16> {
    using compute = float;
};

template <>
struct element_traits<Eigen::half> {
    using compute = float;
};

}  // namespace prefer
