// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

/// B preference pairs, as views of the caller's vectors `[B]` of summed log-probs, in nats.
///
/// All log-prob vectors have one element type `T` (double, float, bfloat16 or half; sums should
/// arrive in float or wider, since a bfloat16 of -203.3 is already -203). The reference is left out
/// for reference-free losses. Lengths (counted tokens, integers), scores, labels, offsets and
/// weights are optional:
///
/// ```cpp
/// prefer::pair_batch batch{policy_chosen, policy_rejected, reference_chosen, reference_rejected};
/// auto averaged = batch.with_lengths(length_chosen, length_rejected).with_weights(w);
/// ```
///
/// A weight multiplies its pair's loss and gradient. A pair of weight 0 is masked: it is not read,
/// not counted, and gets gradient 0.
template <element T, index_element Length = ::std::int64_t>
class pair_batch {
public:
    vector_view<T const> policy_chosen;
    vector_view<T const> policy_rejected;
    vector_view<T const> reference_chosen;
    vector_view<T const> reference_rejected;
    vector_view<Length const> length_chosen;
    vector_view<Length const> length_rejected;
    vector_view<T const> score_chosen;
    vector_view<T const> score_rejected;
    vector_view<T const> labels;
    vector_view<T const> offsets;
    vector_view<T const> weights;

    bool has_reference = false;
    bool has_lengths = false;
    bool has_scores = false;
    bool has_labels = false;
    bool has_offsets = false;
    bool has_weights = false;

    template <class PC, class PR>
    pair_batch(PC&& chosen, PR&& rejected)
        : policy_chosen(view_of(::std::forward<PC>(chosen))),
          policy_rejected(view_of(::std::forward<PR>(rejected))) {}

    template <class PC, class PR, class RC, class RR>
    pair_batch(PC&& chosen, PR&& rejected, RC&& chosen_reference, RR&& rejected_reference)
        : policy_chosen(view_of(::std::forward<PC>(chosen))),
          policy_rejected(view_of(::std::forward<PR>(rejected))),
          reference_chosen(view_of(::std::forward<RC>(chosen_reference))),
          reference_rejected(view_of(::std::forward<RR>(rejected_reference))), has_reference(true) {
    }

    ::std::size_t size() const { return policy_chosen.size(); }

    /// The same pairs with the numbers of counted tokens of each response (see `sequence_lengths`).
    template <class LC, class LR>
    auto with_lengths(LC&& chosen, LR&& rejected) const {
        using L = vector_element_t<LC>;
        static_assert(::std::same_as<L, vector_element_t<LR>>,
                      "prefer: both vectors of lengths have one integer type");
        pair_batch<T, L> out(*this);
        out.length_chosen = as_vector(::std::forward<LC>(chosen));
        out.length_rejected = as_vector(::std::forward<LR>(rejected));
        out.has_lengths = true;
        return out;
    }

    /// The same pairs with a score for each response: what a reward model or an annotator says.
    template <class SC, class SR>
    pair_batch with_scores(SC&& chosen, SR&& rejected) const {
        pair_batch out(*this);
        out.score_chosen = view_of(::std::forward<SC>(chosen));
        out.score_rejected = view_of(::std::forward<SR>(rejected));
        out.has_scores = true;
        return out;
    }

    /// The same pairs with one label in [0, 1] each; without, it is 1. The loss says what it means.
    template <class X>
    pair_batch with_labels(X&& x) const {
        pair_batch out(*this);
        out.labels = view_of(::std::forward<X>(x));
        out.has_labels = true;
        return out;
    }

    /// The same pairs with one offset of the margin each; without, it is 0.
    template <class X>
    pair_batch with_offsets(X&& x) const {
        pair_batch out(*this);
        out.offsets = view_of(::std::forward<X>(x));
        out.has_offsets = true;
        return out;
    }

    /// The same pairs with one weight each.
    template <class W>
    pair_batch with_weights(W&& w) const {
        pair_batch out(*this);
        out.weights = view_of(::std::forward<W>(w));
        out.has_weights = true;
        return out;
    }

private:
    template <element, index_element>
    friend class pair_batch;

    template <class X>
    static vector_view<T const> view_of(X&& x) {
        static_assert(::std::same_as<vector_element_t<X>, T>,
                      "prefer: all log-probs and weights of a pair_batch have one element type; "
                      "convert the policy's or the reference's first, to the wider of the two.");
        if constexpr (::std::same_as<vector_element_t<X>, T>) {
            return as_vector(::std::forward<X>(x));
        } else {
            return {};
        }
    }

    /// Takes over everything but the lengths.
    template <index_element Other>
        requires(!::std::same_as<Other, Length>)
    explicit pair_batch(pair_batch<T, Other> const& other)
        : policy_chosen(other.policy_chosen), policy_rejected(other.policy_rejected),
          reference_chosen(other.reference_chosen), reference_rejected(other.reference_rejected),
          score_chosen(other.score_chosen), score_rejected(other.score_rejected),
          labels(other.labels), offsets(other.offsets), weights(other.weights),
          has_reference(other.has_reference), has_scores(other.has_scores),
          has_labels(other.has_labels), has_offsets(other.has_offsets),
          has_weights(other.has_weights) {}
};

template <class PC, class PR>
pair_batch(PC&&, PR&&) -> pair_batch<vector_element_t<PC>>;

template <class PC, class PR, class RC, class RR>
pair_batch(PC&&, PR&&, RC&&, RR&&) -> pair_batch<vector_element_t<PC>>;

/// Where the gradients of a batch go: d loss / d policy log-prob, `[B]` each, written whole.
template <element T>
class pair_gradients {
public:
    vector_view<T> d_policy_chosen;
    vector_view<T> d_policy_rejected;

    template <class C, class R>
    pair_gradients(C&& chosen, R&& rejected)
        : d_policy_chosen(view_of(::std::forward<C>(chosen))),
          d_policy_rejected(view_of(::std::forward<R>(rejected))) {}

private:
    template <class X>
    static vector_view<T> view_of(X&& x) {
        using viewed = typename decltype(as_vector(::std::forward<X>(x)))::element_type;
        static_assert(::std::same_as<viewed, T>,
                      "prefer: gradients are written, so they are not const, and both vectors of "
                      "a pair_gradients have one element type.");
        if constexpr (::std::same_as<viewed, T>) {
            return as_vector(::std::forward<X>(x));
        } else {
            return {};
        }
    }
};

template <class C, class R>
pair_gradients(C&&, R&&) -> pair_gradients<vector_element_t<C>>;

/// One vector `[2B]` as what pairs are made of; see `chosen_and_rejected_halves`.
template <class T>
struct pair_halves {
    vector_view<T> chosen;
    vector_view<T> rejected;
};

/// The halves of a vector `[2B]`, as views: the numbers of B chosen responses, then those of the
/// rejected ones in the same order. That is how trainers run both through the model at once; it
/// works for log-probs, lengths and, where the vector is not const, gradients. No copy. O(1).
/// Throws `shape_error` for an odd size.
template <class X>
auto chosen_and_rejected_halves(X&& both) {
    auto const all = as_vector(::std::forward<X>(both));
    ::std::size_t const half = all.size() / 2;
    if (all.size() != 2 * half) {
        throw shape_error(
            detail::message("prefer::chosen_and_rejected_halves: the vector has size ", all.size(),
                            ", but must have an even one"));
    }
    using T = typename decltype(as_vector(::std::forward<X>(both)))::element_type;
    return pair_halves<T>{all.slice(0, half), all.slice(half, half)};
}

}  // namespace prefer
