// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/token_options.hpp>

namespace prefer {

/// The output head of a model: logits = hidden·weightᵀ + bias, weight `[V, D]`, bias `[V]`. Where a
/// function takes a head, a bare matrix is a head without a bias; a trainer that holds `[D, V]`
/// passes the transposed view. Over arrays that are written, it is the place of the gradient.
///
/// ```cpp
/// prefer::linear_head const head(weight, bias);
/// prefer::linear_head const d_head(d_weight, d_bias);
/// ```
template <class T, class B = compute_t<T>>
struct linear_head {
    static_assert(element<T> && element<B>, "prefer: a head is of floating elements");

    matrix_view<T> weight;
    vector_view<B> bias;

    template <class Weight>
        requires matrix_like<Weight>
    explicit linear_head(Weight&& w) : weight(as_matrix(::std::forward<Weight>(w))) {}

    template <class Weight, class Bias>
        requires matrix_like<Weight> && vector_like<Bias>
    linear_head(Weight&& w, Bias&& b)
        : weight(as_matrix(::std::forward<Weight>(w))), bias(as_vector(::std::forward<Bias>(b))) {}
};

namespace detail {

template <class X>
using matrix_of_t =
    typename decltype(as_matrix(::std::declval<::std::remove_reference_t<X>&>()))::element_type;
template <class X>
using vector_of_t =
    typename decltype(as_vector(::std::declval<::std::remove_reference_t<X>&>()))::element_type;

}  // namespace detail

template <class Weight>
linear_head(Weight&&) -> linear_head<detail::matrix_of_t<Weight>>;
template <class Weight, class Bias>
linear_head(Weight&&, Bias&&)
    -> linear_head<detail::matrix_of_t<Weight>, detail::vector_of_t<Bias>>;

/// In the place of a gradient that nobody wants: of a frozen head (LoRA), or of frozen hidden
/// states. Its product is not made.
struct no_gradient {};

/// Options of the head-fused functions.
struct linear_options {
    token_options tokens{};

    /// The most memory, in bytes, that a call may allocate for tiles, all threads together. Larger
    /// tiles are faster, up to about 32 MiB where D is 2048; more is taken only where it helps.
    ::std::size_t workspace_bytes = ::std::size_t{32} << 20U;

    /// Add the gradient to what d_hidden, or d_head, holds, in place of writing it.
    bool accumulate_hidden = false;
    bool accumulate_head = false;
};

namespace detail {

/// A head, of whatever the caller gave.
template <class Head>
    requires matrix_like<Head&>
auto as_linear_head(Head& head) {
    return linear_head(head);
}
template <class T, class B>
linear_head<T, B> as_linear_head(linear_head<T, B> const& head) {
    return head;
}
inline no_gradient as_linear_head(no_gradient) {
    return {};
}

template <class T, class B>
linear_head<T const, B const> read_only(linear_head<T, B> const& head) {
    matrix_view<T const> const weight = head.weight;
    vector_view<B const> const bias = head.bias;
    return {weight, bias};
}

template <class T, class B>
void check_linear_head(char const* function, linear_head<T, B> const& head,
                       ::std::size_t hidden_size) {
    require_size(function, "head's columns", head.weight.columns(), "hidden's columns",
                 hidden_size);
    if (head.bias.data() != nullptr) {
        require_size(function, "head's bias", head.bias.size(), "head's rows", head.weight.rows());
    }
}

}  // namespace detail
}  // namespace prefer
