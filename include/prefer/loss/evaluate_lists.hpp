// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/list_batch.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/loss/plackett_luce.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

struct list_options {
    /// Divides the summed loss and the gradients. Left out: the number of counted lists of this
    /// call, which makes the loss their mean. With the number of lists of the whole batch (over
    /// micro-batches and ranks), the parts add up to the loss and gradient of the whole.
    ::std::optional<double> normalizer = ::std::nullopt;
};

/// Sums over the counted lists of one call, in double: what is added up over micro-batches and
/// reduced over ranks (nine doubles, nothing else).
struct list_sums {
    double lists = 0;           ///< counted: of weight not 0, and with at least two responses
    double short_lists = 0;     ///< of weight not 0, and with fewer: they rank nothing
    double responses = 0;       ///< in counted lists
    double weighted_loss = 0;   ///< Σ weight·loss
    double first_is_best = 0;   ///< lists whose first reward is the largest; 1/n for n equal ones
    double ordered = 0;         ///< Σ share of a list's ranked pairs in the right order
    double reward_first = 0;    ///< Σ reward of the first
    double reward_last = 0;     ///< Σ reward of the last
    double gradient_scale = 0;  ///< Σ mean over a list of |∂loss/∂log π|, before weights

    list_sums& operator+=(list_sums const& other) {
        lists += other.lists;
        short_lists += other.short_lists;
        responses += other.responses;
        weighted_loss += other.weighted_loss;
        first_is_best += other.first_is_best;
        ordered += other.ordered;
        reward_first += other.reward_first;
        reward_last += other.reward_last;
        gradient_scale += other.gradient_scale;
        return *this;
    }
};

/// What is reported about a batch of ranked lists. Means are over the counted lists, without
/// weights; with no counted list all of them are 0, and `lists` says so.
struct list_summary {
    double loss = 0;      ///< Σ weight·loss / normalizer
    double accuracy = 0;  ///< share of lists whose first has the largest reward; n equal: 1/n
    /// Mean over lists of the share of pairs, first of the two in a ranked place, that the rewards
    /// order as the list does; a tie counts 1/2. Kendall's τ of a full ranking is twice that less
    /// 1.
    double pair_accuracy = 0;
    double margin = 0;  ///< mean reward of the first less that of the last
    double reward_first = 0;
    double reward_last = 0;
    double gradient_scale = 0;  ///< mean |∂loss/∂log π| per response, averaged over lists
    ::std::size_t lists = 0;
    ::std::size_t short_lists = 0;  ///< with fewer than two responses: loss 0, not counted
    ::std::size_t responses = 0;
    list_sums sums;
};

/// The summary of sums: of one call, or added up over many. Left out, the normalizer is the number
/// of counted lists. The losses of parts that were given one global normalizer simply add up.
template <::std::same_as<list_sums> Sums>  // so that `{}` is no list_sums
list_summary summarize(Sums const& sums, list_options options = {}) {
    detail::require_normalizer("summarize", options.normalizer);
    double const lists = sums.lists > 0 ? sums.lists : 1;
    return {
        .loss = sums.weighted_loss / options.normalizer.value_or(lists),
        .accuracy = sums.first_is_best / lists,
        .pair_accuracy = sums.ordered / lists,
        .margin = (sums.reward_first - sums.reward_last) / lists,
        .reward_first = sums.reward_first / lists,
        .reward_last = sums.reward_last / lists,
        .gradient_scale = sums.gradient_scale / lists,
        .lists = static_cast<::std::size_t>(sums.lists),
        .short_lists = static_cast<::std::size_t>(sums.short_lists),
        .responses = static_cast<::std::size_t>(sums.responses),
        .sums = sums,
    };
}

namespace detail {

template <class T, class Offset>
bool counts(list_batch<T, Offset> const& batch, ::std::size_t b) {
    if (!batch.has_weights) return true;
    auto const w = static_cast<compute_t<T>>(batch.weights[b]);
    return w < 0 || w > 0;
}

/// What the lists of a batch need of working memory, and how many of them count.
struct list_extents {
    ::std::size_t lists = 0;
    ::std::size_t longest = 0;
};

/// Everything that can be wrong with a batch of lists, before anything is written.
template <class L, class T, class Offset>
list_extents check_lists(L const& loss, list_batch<T, Offset> const& batch,
                         list_options const& options) {
    using C = compute_t<T>;
    char const* const name = "evaluate_lists";
    packed<Offset>(batch.offsets).check(name);
    ::std::size_t const total = batch.first(batch.size());
    require_size(name, "policy", batch.policy.size(), "offsets' last entry", total);
    if (batch.has_reference) {
        require_size(name, "reference", batch.reference.size(), "policy", total);
    }
    if (batch.has_weights) {
        require_size(name, "weights", batch.weights.size(), "the lists", batch.size());
    }
    require_normalizer(name, options.normalizer);
    if constexpr (requires { loss.validate(); }) loss.validate();
    if constexpr (requires { loss.inputs(); }) {
        require_inputs(name, loss.inputs(), {.reference = batch.has_reference});
    }
    list_extents extents;
    for (::std::size_t b = 0; b < batch.size(); ++b) {
        if (batch.has_weights) {
            auto const w = static_cast<C>(batch.weights[b]);
            if (!(math::is_finite(w) && w >= 0)) {
                throw_bad_element(name, "weights", b, w, "finite and at least 0");
            }
        }
        if (!counts(batch, b)) continue;
        ::std::size_t const responses = batch.responses(b);
        if (responses >= 2) ++extents.lists;
        extents.longest = ::std::max(extents.longest, responses);
        for (::std::size_t i = batch.first(b); i < batch.first(b + 1); ++i) {
            auto const policy = static_cast<C>(batch.policy[i]);
            if (!math::is_finite(policy)) throw_bad_element(name, "policy", i, policy, "finite");
            if (!batch.has_reference) continue;
            auto const reference = static_cast<C>(batch.reference[i]);
            if (!math::is_finite(reference)) {
                throw_bad_element(name, "reference", i, reference, "finite");
            }
        }
    }
    return extents;
}

/// Among the pairs of `values`, how many stand in falling order; equal ones count 1/2. A merge sort
/// from the bottom, which leaves `values` rising; `spare` is of the same size. O(K log K).
template <class C>
double falling_pairs(::std::vector<C>& values, ::std::vector<C>& spare, ::std::size_t size) {
    double count = 0;
    for (::std::size_t width = 1; width < size; width *= 2) {
        for (::std::size_t first = 0; first < size; first += 2 * width) {
            ::std::size_t const middle = ::std::min(first + width, size);
            ::std::size_t const last = ::std::min(first + 2 * width, size);
            ::std::size_t not_above = first;  // how many on the left are <= the one on the right
            ::std::size_t below = first;      // ... and how many are <
            for (::std::size_t j = middle; j < last; ++j) {
                while (not_above < middle && values[not_above] <= values[j]) ++not_above;
                while (below < middle && values[below] < values[j]) ++below;
                count += static_cast<double>(middle - not_above) +
                         static_cast<double>(not_above - below) / 2;
            }
            auto const at = [](::std::vector<C>& v, ::std::size_t i) {
                return v.begin() + static_cast<::std::ptrdiff_t>(i);
            };
            ::std::merge(at(values, first), at(values, middle), at(values, middle),
                         at(values, last), at(spare, first));
        }
        ::std::swap(values, spare);
    }
    return count;
}

/// How many pairs a list of K has, the first of the two in one of `places` places.
inline double ranked_pairs(::std::size_t responses, ::std::size_t places) {
    double const k = static_cast<double>(responses);
    double const t = static_cast<double>(places);
    return t * (2 * k - t - 1) / 2;
}

/// The plain loop. `write(i, d_policy)` receives the scaled gradient of every response.
template <class L, class T, class Offset, class Write>
list_sums evaluate_lists_loop(L const& loss, list_batch<T, Offset> const& batch, double normalizer,
                              list_extents const& extents, Write write) {
    using C = compute_t<T>;
    auto const wide = [](C x) { return static_cast<double>(x); };
    bool const with_reference =
        inputs_of(loss, pair_inputs{.reference = batch.has_reference}).reference;
    ::std::vector<C> values(extents.longest), gradient(extents.longest);
    ::std::vector<C> sorted(extents.longest), spare(extents.longest);
    C const share = static_cast<C>(1 / normalizer);
    list_sums sums;
    for (::std::size_t b = 0; b < batch.size(); ++b) {
        ::std::size_t const first = batch.first(b);
        ::std::size_t const size = batch.responses(b);
        bool const counted = counts(batch, b);
        if (counted && size < 2) sums.short_lists += 1;
        if (!counted || size < 2) {
            for (::std::size_t k = 0; k < size; ++k) write(first + k, C(0));
            continue;
        }
        for (::std::size_t k = 0; k < size; ++k) {
            response<C> r{static_cast<C>(batch.policy[first + k])};
            if (batch.has_reference) r.reference = static_cast<C>(batch.reference[first + k]);
            values[k] = with_reference ? r.log_ratio() : r.policy;
            sorted[k] = loss::reward(loss, r, with_reference);
        }
        vector_view<C const> const d(values.data(), size);
        C const value = loss.value_and_grad(d, vector_view<C>(gradient.data(), size));
        C const weight = batch.has_weights ? static_cast<C>(batch.weights[b]) : C(1);
        double slope = 0;
        for (::std::size_t k = 0; k < size; ++k) {
            write(first + k, gradient[k] * (weight * share));
            slope += wide(math::abs(gradient[k]));
        }

        ::std::size_t places = size - 1;
        if constexpr (requires { loss.ranked(size); }) places = loss.ranked(size);
        C const best = *::std::max_element(sorted.begin(),
                                           sorted.begin() + static_cast<::std::ptrdiff_t>(size));
        auto const is_best = [&](C reward) { return reward >= best; };
        auto const equals = ::std::count_if(
            sorted.begin(), sorted.begin() + static_cast<::std::ptrdiff_t>(size), is_best);
        sums.lists += 1;
        sums.responses += static_cast<double>(size);
        sums.weighted_loss += wide(weight) * wide(value);
        sums.first_is_best += is_best(sorted[0]) ? 1 / static_cast<double>(equals) : 0.0;
        sums.reward_first += wide(sorted[0]);
        sums.reward_last += wide(sorted[size - 1]);
        sums.gradient_scale += slope / static_cast<double>(size);
        // All pairs in order, less those among the unranked rest.
        ::std::size_t const rest = size - places;
        ::std::copy_n(sorted.begin() + static_cast<::std::ptrdiff_t>(places), rest, values.begin());
        double const ordered = falling_pairs(sorted, spare, size);
        sums.ordered += (ordered - falling_pairs(values, spare, rest)) / ranked_pairs(size, places);
    }
    return sums;
}

}  // namespace detail

/// A loss over a batch of ranked lists: value, gradients and metrics.
///
/// `loss` is a `list_loss` such as `prefer::loss::plackett_luce`. Shapes: log-probs `[N]`, offsets
/// `[B + 1]`; the gradient `[N]` is written whole: weight·∂loss/∂log π / normalizer. Each list is
/// computed in the element type (float for 16-bit elements); sums over lists run in double, in
/// order. Lists of weight 0 are masked: not read, not counted, gradient exactly 0. A list of fewer
/// than two responses ranks nothing: loss 0, gradient 0, not counted, reported as `short_lists`.
///
/// Errors, all before anything is written: `shape_error` for offsets or sizes that do not fit;
/// `value_error` for a NaN or infinite log-prob, a negative or non-finite weight, a bad normalizer
/// or hyper-parameter, or a missing reference. No lists is not an error: loss 0, `lists` 0. O(N)
/// for the loss and O(N log K) for the pair accuracy; allocates four vectors of the longest list.
/// Same input, same bits; the value is the same with and without gradients.
///
/// ```cpp
/// prefer::list_batch batch{policy, reference, offsets};
/// auto s = prefer::evaluate_lists(prefer::loss::plackett_luce{}, batch,
///                                 prefer::list_gradients{d_policy});
/// ```
template <backend_like Backend, class Loss, class T, class Offset, class G>
list_summary evaluate_lists(Backend const& on, Loss const& loss, list_batch<T, Offset> const& batch,
                            list_gradients<G> const& gradients, list_options options = {}) {
    static_assert(list_loss<Loss>, "prefer: a loss of lists is callable with the log-ratios of a "
                                   "list, and has value_and_grad (see prefer::list_loss)");
    detail::list_extents const extents = detail::check_lists(loss, batch, options);
    detail::require_size("evaluate_lists", "d_policy", gradients.d_policy.size(), "policy",
                         batch.policy.size());
    double const normalizer =
        options.normalizer.value_or(extents.lists == 0 ? 1.0 : static_cast<double>(extents.lists));
    if constexpr (requires { on.evaluate_lists(loss, batch, gradients, normalizer); }) {
        return summarize(on.evaluate_lists(loss, batch, gradients, normalizer), options);
    } else {
        auto const write = [&](::std::size_t i, auto x) {
            gradients.d_policy[i] = static_cast<G>(static_cast<compute_t<G>>(x));
        };
        return summarize(detail::evaluate_lists_loop(loss, batch, normalizer, extents, write),
                         options);
    }
}

/// Without a backend: the plain loop.
template <class Loss, class T, class Offset, class G>
    requires(!backend_like<Loss>)
list_summary evaluate_lists(Loss const& loss, list_batch<T, Offset> const& batch,
                            list_gradients<G> const& gradients, list_options options = {}) {
    return evaluate_lists(backend::plain{}, loss, batch, gradients, options);
}

/// Without gradients: loss and metrics only, bit for bit the same.
template <class Loss, class T, class Offset>
    requires(!backend_like<Loss>)
list_summary evaluate_lists(Loss const& loss, list_batch<T, Offset> const& batch,
                            list_options options = {}) {
    static_assert(list_loss<Loss>, "prefer: a loss of lists is callable with the log-ratios of a "
                                   "list, and has value_and_grad (see prefer::list_loss)");
    detail::list_extents const extents = detail::check_lists(loss, batch, options);
    return summarize(
        detail::evaluate_lists_loop(loss, batch, 1.0, extents, [](::std::size_t, auto) {}),
        options);
}

}  // namespace prefer
