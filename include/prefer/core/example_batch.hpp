// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

namespace detail {

struct without_labels {};

}  // namespace detail

/// What a label is stored as: an integer, or the element type of the log-probs.
template <class T>
concept label_element = index_element<T> || element<T>;

/// B single responses, as views of the caller's vectors `[B]` of summed log-probs, in nats.
///
/// Log-probs, scores and weights have one element type `T` (double, float, bfloat16 or half; sums
/// should arrive in float or wider). The reference is left out for reference-free losses. Labels
/// (1 desirable, 0 undesirable, or a probability; integers or `T`), lengths (counted
/// tokens, integers), scores and weights are optional:
///
/// ```cpp
/// prefer::example_batch batch{policy, reference};
/// auto labelled = batch.with_labels(labels).with_weights(w);
/// ```
///
/// A weight multiplies its example's loss and gradient. An example of weight 0 is masked: it is not
/// read, not counted, and gets gradient 0.
template <element T, index_element Length = ::std::int64_t, label_element Label = T>
class example_batch {
public:
    vector_view<T const> policy;
    vector_view<T const> reference;
    vector_view<Length const> lengths;
    vector_view<T const> scores;
    vector_view<Label const> labels;
    vector_view<T const> weights;

    bool has_reference = false;
    bool has_lengths = false;
    bool has_scores = false;
    bool has_labels = false;
    bool has_weights = false;

    template <class P>
        requires vector_like<P>
    explicit example_batch(P&& log_probs) : policy(view_of(::std::forward<P>(log_probs))) {}

    template <class P, class R>
    example_batch(P&& log_probs, R&& reference_log_probs)
        : policy(view_of(::std::forward<P>(log_probs))),
          reference(view_of(::std::forward<R>(reference_log_probs))), has_reference(true) {}

    ::std::size_t size() const { return policy.size(); }

    /// The same examples with one label each; without, a label is 1. The loss says what it means.
    template <class X>
    auto with_labels(X&& x) const {
        using L = vector_element_t<X>;
        static_assert(index_element<L> || ::std::same_as<L, T>,
                      "prefer: labels are integers, or of the element type of the log-probs");
        example_batch<T, Length, L> out(*this, detail::without_labels{});
        out.lengths = lengths;
        out.has_lengths = has_lengths;
        out.labels = as_vector(::std::forward<X>(x));
        out.has_labels = true;
        return out;
    }

    /// The same examples with the numbers of counted tokens (see `sequence_lengths`).
    template <class X>
    auto with_lengths(X&& x) const {
        using L = vector_element_t<X>;
        static_assert(index_element<L>, "prefer: lengths are integers");
        example_batch<T, L, Label> out(*this, detail::without_labels{});
        out.lengths = as_vector(::std::forward<X>(x));
        out.has_lengths = true;
        out.labels = labels;
        out.has_labels = has_labels;
        return out;
    }

    /// The same examples with one score each: what a reward model or an annotator says.
    template <class X>
    example_batch with_scores(X&& x) const {
        example_batch out(*this);
        out.scores = view_of(::std::forward<X>(x));
        out.has_scores = true;
        return out;
    }

    /// The same examples with one weight each.
    template <class X>
    example_batch with_weights(X&& x) const {
        example_batch out(*this);
        out.weights = view_of(::std::forward<X>(x));
        out.has_weights = true;
        return out;
    }

private:
    template <element, index_element, label_element>
    friend class example_batch;

    template <class X>
    static vector_view<T const> view_of(X&& x) {
        static_assert(::std::same_as<vector_element_t<X>, T>,
                      "prefer: all log-probs, scores and weights of an example_batch have one "
                      "element type; convert the policy's or the reference's first, to the wider "
                      "of the two.");
        if constexpr (::std::same_as<vector_element_t<X>, T>) {
            return as_vector(::std::forward<X>(x));
        } else {
            return {};
        }
    }

    /// Takes over everything but the lengths and the labels.
    template <index_element L, label_element B>
    example_batch(example_batch<T, L, B> const& other, detail::without_labels)
        : policy(other.policy), reference(other.reference), scores(other.scores),
          weights(other.weights), has_reference(other.has_reference), has_scores(other.has_scores),
          has_weights(other.has_weights) {}
};

template <class P>
example_batch(P&&) -> example_batch<vector_element_t<P>>;

template <class P, class R>
example_batch(P&&, R&&) -> example_batch<vector_element_t<P>>;

/// Where the gradient of a batch of examples goes: d loss / d policy log-prob, `[B]`, written
/// whole.
template <element T>
class example_gradients {
public:
    vector_view<T> d_policy;

    template <class P>
        requires vector_like<P>
    explicit example_gradients(P&& x) : d_policy(view_of(::std::forward<P>(x))) {}

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
example_gradients(P&&) -> example_gradients<vector_element_t<P>>;

namespace detail {

/// The labels of a side: one number, seen `[B]` times.
template <element T>
inline constexpr T desirable_label = static_cast<T>(static_cast<compute_t<T>>(1));

template <element T>
inline constexpr T undesirable_label = static_cast<T>(static_cast<compute_t<T>>(0));

template <class T, class Length>
auto examples_of(pair_batch<T, Length> const& pairs, vector_view<T const> policy,
                 vector_view<T const> reference, vector_view<Length const> lengths,
                 vector_view<T const> scores, T const& label) {
    auto out = example_batch<T>(policy)
                   .with_lengths(lengths)
                   .with_labels(vector_view<T const>(&label, pairs.size(), 0))
                   .with_scores(scores)
                   .with_weights(pairs.weights);
    out.reference = reference;
    out.has_reference = pairs.has_reference;
    out.has_lengths = pairs.has_lengths;
    out.has_scores = pairs.has_scores;
    out.has_weights = pairs.has_weights;
    return out;
}

}  // namespace detail

/// The chosen responses of paired data as examples, labelled 1: what unpaired losses see of them.
/// References, lengths, scores and weights of the pairs are kept; their labels and offsets belong
/// to pairs, and are not. A view of the same memory. Gradients go to one side at a time:
///
/// ```cpp
/// example_options mean{.normalizer = 2 * pairs};  // over both sides
/// auto a = evaluate_examples(loss, chosen_examples(batch), example_gradients{dc}, mean);
/// auto b = evaluate_examples(loss, rejected_examples(batch), example_gradients{dr}, mean);
/// ```
template <class T, class Length>
auto chosen_examples(pair_batch<T, Length> const& pairs) {
    return detail::examples_of(pairs, pairs.policy_chosen, pairs.reference_chosen,
                               pairs.length_chosen, pairs.score_chosen, detail::desirable_label<T>);
}

/// The rejected responses as examples, labelled 0; see `chosen_examples`.
template <class T, class Length>
auto rejected_examples(pair_batch<T, Length> const& pairs) {
    return detail::examples_of(pairs, pairs.policy_rejected, pairs.reference_rejected,
                               pairs.length_rejected, pairs.score_rejected,
                               detail::undesirable_label<T>);
}

}  // namespace prefer
