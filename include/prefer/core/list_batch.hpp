// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

/// B ranked lists of responses, as views of the caller's vectors: summed log-probs `[N]` of all
/// responses, list after list, the best of a list first.
///
/// List `b` is what stands from `offsets[b]` to `offsets[b + 1]`; `offsets [B + 1]` starts at 0,
/// never falls, and ends at N. Lists may have different lengths. Log-probs and weights have one
/// element type; the reference is left out for reference-free losses.
///
/// ```cpp
/// prefer::list_batch batch{policy, reference, offsets};
/// ```
///
/// A weight `[B]` multiplies its list's loss and gradient. A list of weight 0 is masked: it is not
/// read, not counted, and its responses get gradient 0.
template <element T, index_element Offset = ::std::int64_t>
class list_batch {
public:
    vector_view<T const> policy;
    vector_view<T const> reference;
    vector_view<Offset const> offsets;
    vector_view<T const> weights;

    bool has_reference = false;
    bool has_weights = false;

    template <class P, class O>
    list_batch(P&& log_probs, O&& list_offsets)
        : policy(view_of(::std::forward<P>(log_probs))),
          offsets(as_vector(::std::forward<O>(list_offsets))) {}

    template <class P, class R, class O>
    list_batch(P&& log_probs, R&& reference_log_probs, O&& list_offsets)
        : policy(view_of(::std::forward<P>(log_probs))),
          reference(view_of(::std::forward<R>(reference_log_probs))),
          offsets(as_vector(::std::forward<O>(list_offsets))), has_reference(true) {}

    /// The number of lists, B.
    ::std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }

    /// Where list `b` begins, and how many responses it has.
    ::std::size_t first(::std::size_t b) const { return static_cast<::std::size_t>(offsets[b]); }
    ::std::size_t responses(::std::size_t b) const { return first(b + 1) - first(b); }

    /// The same lists with one weight each.
    template <class X>
    list_batch with_weights(X&& x) const {
        list_batch out(*this);
        out.weights = view_of(::std::forward<X>(x));
        out.has_weights = true;
        return out;
    }

private:
    template <class X>
    static vector_view<T const> view_of(X&& x) {
        static_assert(::std::same_as<vector_element_t<X>, T>,
                      "prefer: all log-probs and weights of a list_batch have one element type; "
                      "convert the policy's or the reference's first, to the wider of the two.");
        if constexpr (::std::same_as<vector_element_t<X>, T>) {
            return as_vector(::std::forward<X>(x));
        } else {
            return {};
        }
    }
};

template <class P, class O>
list_batch(P&&, O&&) -> list_batch<vector_element_t<P>, vector_element_t<O>>;

template <class P, class R, class O>
list_batch(P&&, R&&, O&&) -> list_batch<vector_element_t<P>, vector_element_t<O>>;

/// Where the gradient of a batch of lists goes: d loss / d policy log-prob, `[N]`, written whole.
template <element T>
class list_gradients {
public:
    vector_view<T> d_policy;

    template <class P>
        requires vector_like<P>
    explicit list_gradients(P&& x) : d_policy(view_of(::std::forward<P>(x))) {}

private:
    template <class X>
    static vector_view<T> view_of(X&& x) {
        using viewed = typename decltype(as_vector(::std::forward<X>(x)))::element_type;
        static_assert(::std::same_as<viewed, T>,
                      "prefer: gradients are written, so they are not const.");
        if constexpr (::std::same_as<viewed, T>) {
            return as_vector(::std::forward<X>(x));
        } else {
            return {};
        }
    }
};

template <class P>
list_gradients(P&&) -> list_gradients<vector_element_t<P>>;

}  // namespace prefer
