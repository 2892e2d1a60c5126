// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/lanes.hpp>
#include <prefer/core/pair.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

struct pair_options {
    /// Divides the summed loss and the gradients. Left out: the number of counted pairs of this
    /// call, which makes the loss their mean. With the number of pairs of the whole batch (over
    /// micro-batches and ranks), the parts add up to the loss and gradient of the whole.
    ::std::optional<double> normalizer = ::std::nullopt;
};

namespace detail {

inline void require_normalizer(char const* function, ::std::optional<double> normalizer) {
    double const value = normalizer.value_or(1.0);
    require(math::is_finite(value) && value > 0, function, "normalizer", value,
            "finite and positive");
}

}  // namespace detail

/// Sums over the counted pairs of one call, in double: what is added up over micro-batches and
/// reduced over ranks (nine doubles, nothing else).
struct pair_sums {
    double pairs = 0;          ///< counted pairs: those whose weight is not 0
    double weighted_loss = 0;  ///< Σ weight·loss
    double correct = 0;        ///< pairs whose chosen reward is larger
    double ties = 0;           ///< pairs whose rewards are equal
    double reward_chosen = 0;
    double reward_rejected = 0;
    double log_prob_chosen = 0;
    double log_prob_rejected = 0;
    double gradient_scale = 0;  ///< Σ (|d_chosen| + |d_rejected|)/2, before weights and normalizer

    pair_sums& operator+=(pair_sums const& other) {
        pairs += other.pairs;
        weighted_loss += other.weighted_loss;
        correct += other.correct;
        ties += other.ties;
        reward_chosen += other.reward_chosen;
        reward_rejected += other.reward_rejected;
        log_prob_chosen += other.log_prob_chosen;
        log_prob_rejected += other.log_prob_rejected;
        gradient_scale += other.gradient_scale;
        return *this;
    }
};

/// What everyone reports about a batch of pairs. Means are over the counted pairs, without weights;
/// with no counted pair all of them are 0, and `pairs` says so.
struct pair_summary {
    double loss = 0;             ///< Σ weight·loss / normalizer
    double accuracy = 0;         ///< share of pairs with the larger chosen reward; a tie counts 1/2
    double strict_accuracy = 0;  ///< the same; a tie counts 0 (so 0 at the start of training)
    double margin = 0;           ///< mean reward margin
    double reward_chosen = 0;
    double reward_rejected = 0;
    double log_prob_chosen = 0;
    double log_prob_rejected = 0;
    double gradient_scale = 0;  ///< mean |∂loss/∂log π| per pair, averaged over its two responses
    ::std::size_t pairs = 0;
    pair_sums sums;
};

/// The summary of sums: of one call, or added up over many. Left out, the normalizer is the number
/// of counted pairs. The losses of parts that were given one global normalizer simply add up.
inline pair_summary summarize(pair_sums const& sums, pair_options options = {}) {
    detail::require_normalizer("summarize", options.normalizer);
    double const pairs = sums.pairs > 0 ? sums.pairs : 1;
    return {
        .loss = sums.weighted_loss / options.normalizer.value_or(pairs),
        .accuracy = (sums.correct + sums.ties / 2) / pairs,
        .strict_accuracy = sums.correct / pairs,
        .margin = (sums.reward_chosen - sums.reward_rejected) / pairs,
        .reward_chosen = sums.reward_chosen / pairs,
        .reward_rejected = sums.reward_rejected / pairs,
        .log_prob_chosen = sums.log_prob_chosen / pairs,
        .log_prob_rejected = sums.log_prob_rejected / pairs,
        .gradient_scale = sums.gradient_scale / pairs,
        .pairs = static_cast<::std::size_t>(sums.pairs),
        .sums = sums,
    };
}

namespace detail {

/// Whether the loss's numbers depend on the reference: what it declares, or what the batch has.
template <class L>
bool reads_reference(L const& loss, bool given) {
    if constexpr (requires { loss.inputs(); }) return loss.inputs().reference;
    return given;
}

/// What a loss reads and the batch lacks, or the batch has and the loss would ignore, is an error.
inline void require_inputs(char const* function, pair_inputs const& read,
                           pair_inputs const& given) {
    auto const lacks = [&](bool needs, bool has, char const* words) {
        if (needs && !has) throw value_error(message("prefer::", function, ": this loss ", words));
    };
    lacks(read.reference, given.reference,
          "needs the reference's log-probs, but the batch has none");
    lacks(read.lengths, given.lengths,
          "averages over tokens, but the batch has no lengths (see with_lengths)");
    lacks(read.scores, given.scores,
          "reads the responses' scores, but the batch has none (see with_scores)");
    lacks(given.scores, read.scores, "reads no scores, but the batch has some");
    lacks(given.labels, read.labels, "reads no labels, but the batch has some");
    lacks(given.offsets, read.offsets, "reads no offsets, but the batch has some");
}

/// Everything that can be wrong with a batch as a whole, before anything is written.
template <class L, class T, class Length>
void check_pairs(L const& loss, pair_batch<T, Length> const& batch, pair_options const& options) {
    char const* const name = "evaluate_pairs";
    auto const require_same = [&](bool given, auto const& column, char const* argument) {
        if (given) require_size(name, argument, column.size(), "policy_chosen", batch.size());
    };
    require_same(true, batch.policy_rejected, "policy_rejected");
    require_same(batch.has_reference, batch.reference_chosen, "reference_chosen");
    require_same(batch.has_reference, batch.reference_rejected, "reference_rejected");
    require_same(batch.has_lengths, batch.length_chosen, "length_chosen");
    require_same(batch.has_lengths, batch.length_rejected, "length_rejected");
    require_same(batch.has_scores, batch.score_chosen, "score_chosen");
    require_same(batch.has_scores, batch.score_rejected, "score_rejected");
    require_same(batch.has_labels, batch.labels, "labels");
    require_same(batch.has_offsets, batch.offsets, "offsets");
    require_same(batch.has_weights, batch.weights, "weights");
    require_normalizer(name, options.normalizer);
    if constexpr (requires { loss.validate(); }) loss.validate();
    if constexpr (requires { loss.inputs(); }) {
        require_inputs(name, loss.inputs(),
                       {.reference = batch.has_reference,
                        .lengths = batch.has_lengths,
                        .scores = batch.has_scores,
                        .labels = batch.has_labels,
                        .offsets = batch.has_offsets});
    }
}

/// Pairs `first`, …, `first + n - 1` of a batch, in the lanes of `P`.
template <class P, class T, class Length>
pair<P> load_pairs(pair_batch<T, Length> const& batch, ::std::size_t first, ::std::size_t n) {
    auto const load = [&](bool given, auto const& column, P& to) {
        if (given) to = load_lanes<P>(column, first, n);
    };
    pair<P> p;
    load(true, batch.policy_chosen, p.chosen.policy);
    load(true, batch.policy_rejected, p.rejected.policy);
    load(batch.has_reference, batch.reference_chosen, p.chosen.reference);
    load(batch.has_reference, batch.reference_rejected, p.rejected.reference);
    load(batch.has_lengths, batch.length_chosen, p.chosen.length);
    load(batch.has_lengths, batch.length_rejected, p.rejected.length);
    load(batch.has_scores, batch.score_chosen, p.chosen.score);
    load(batch.has_scores, batch.score_rejected, p.rejected.score);
    load(batch.has_labels, batch.labels, p.label);
    load(batch.has_offsets, batch.offsets, p.offset);
    return p;
}

/// Throws what is wrong with the numbers of pair `i`; the loss itself is looked at last.
template <class L, class T, class Length>
void check_pair(L const& loss, pair_batch<T, Length> const& batch, ::std::size_t i) {
    using C = compute_t<T>;
    char const* const name = "evaluate_pairs";
    auto const require_finite = [&](bool given, vector_view<T const> values, char const* argument) {
        if (!given) return;
        auto const v = static_cast<C>(values[i]);
        if (!math::is_finite(v)) throw_bad_element(name, argument, i, v, "finite");
    };
    auto const require_length = [&](vector_view<Length const> values, char const* argument) {
        if (!batch.has_lengths || values[i] >= Length(0)) return;
        throw_bad_element(name, argument, i, +values[i], "at least 0");
    };
    if (batch.has_weights) {
        auto const w = static_cast<C>(batch.weights[i]);
        if (!(math::is_finite(w) && w >= 0)) {
            throw_bad_element(name, "weights", i, w, "finite and at least 0");
        }
        if (!(w > 0)) return;
    }
    require_finite(true, batch.policy_chosen, "policy_chosen");
    require_finite(true, batch.policy_rejected, "policy_rejected");
    require_finite(batch.has_reference, batch.reference_chosen, "reference_chosen");
    require_finite(batch.has_reference, batch.reference_rejected, "reference_rejected");
    require_finite(batch.has_scores, batch.score_chosen, "score_chosen");
    require_finite(batch.has_scores, batch.score_rejected, "score_rejected");
    require_finite(batch.has_labels, batch.labels, "labels");
    require_finite(batch.has_offsets, batch.offsets, "offsets");
    require_length(batch.length_chosen, "length_chosen");
    require_length(batch.length_rejected, "length_rejected");
    if (math::is_nan(loss::value_and_grad(loss, load_pairs<C>(batch, i, 1)).loss)) {
        throw value_error(message("prefer::evaluate_pairs: the loss is NaN at pair ", i,
                                  ", though its inputs are finite; does it read a reference, a "
                                  "length or a score that the batch does not have?"));
    }
}

/// How many pairs count: those whose weight is not 0.
template <class T, class Length>
::std::size_t count_pairs(pair_batch<T, Length> const& batch) {
    if (!batch.has_weights) return batch.size();
    ::std::size_t counted = 0;
    for (::std::size_t i = 0; i < batch.size(); ++i) {
        auto const w = static_cast<compute_t<T>>(batch.weights[i]);
        if (!(w <= 0 && w >= 0)) ++counted;
    }
    return counted;
}

/// The sums of a batch, and the first pair of a pack in which something is wrong, or its size.
struct pair_pass {
    pair_sums sums;
    ::std::size_t stopped_at;
};

/// The loop over a batch, a pack of pairs at a time. `write(first, n, d_chosen, d_rejected)`
/// receives the scaled gradients. It checks each number as it goes and stops at a bad one.
template <class P, class L, class T, class Length, class Write>
pair_pass evaluate_pairs_loop(L const& loss, pair_batch<T, Length> const& batch, double normalizer,
                              Write write) {
    using C = compute_t<T>;
    bool const with_reference = reads_reference(loss, batch.has_reference);
    C const share = static_cast<C>(1 / normalizer);
    ::std::size_t const size = batch.size();
    lane_sum<P> pairs, weighted_loss, correct, ties, reward_chosen, reward_rejected;
    lane_sum<P> log_prob_chosen, log_prob_rejected, scale;
    auto const finite = [](bool given, P const& a, P const& b) {
        P const none(C(0));
        return math::is_finite(given ? a : none) && math::is_finite(given ? b : none);
    };

    ::std::size_t i = 0;
    for (; i < size; i += lane_count<P>) {
        ::std::size_t const n = ::std::min(lane_count<P>, size - i);
        pair<P> const p = load_pairs<P>(batch, i, n);
        P weight(C(1));
        if (batch.has_weights) weight = load_lanes<P>(batch.weights, i, n);
        if (n < lane_count<P>) weight = first_lanes(weight, n);
        auto const masked = weight <= P(C(0)) && weight >= P(C(0));

        auto const y = loss::value_and_grad(loss, p);
        auto const good =
            finite(true, p.chosen.policy, p.rejected.policy) &&
            finite(batch.has_reference, p.chosen.reference, p.rejected.reference) &&
            finite(batch.has_scores, p.chosen.score, p.rejected.score) &&
            finite(true, p.label, p.offset) && math::is_finite(weight) && weight >= P(C(0)) &&
            !(p.chosen.length < P(C(0)) || p.rejected.length < P(C(0)) || math::is_nan(y.loss));
        if (!math::all_of(good || masked)) break;

        P const zero(C(0));
        P const part = weight * P(share);
        write(i, n, math::select(masked, zero, P(y.d_chosen * part)),
              math::select(masked, zero, P(y.d_rejected * part)));

        P const chosen = loss::reward(loss, p.chosen, with_reference);
        P const rejected = loss::reward(loss, p.rejected, with_reference);
        P const one(C(1));
        auto const counted = [&](P const& x) { return math::select(masked, zero, x); };
        pairs.add(counted(one));
        weighted_loss.add(counted(y.loss), weight);
        correct.add(counted(math::select(chosen > rejected, one, zero)));
        ties.add(counted(math::select(chosen <= rejected && chosen >= rejected, one, zero)));
        reward_chosen.add(counted(chosen));
        reward_rejected.add(counted(rejected));
        log_prob_chosen.add(counted(p.chosen.policy));
        log_prob_rejected.add(counted(p.rejected.policy));
        scale.add(counted(math::abs(y.d_chosen)));
        scale.add(counted(math::abs(y.d_rejected)));
    }
    return {{.pairs = pairs.total(),
             .weighted_loss = weighted_loss.total(),
             .correct = correct.total(),
             .ties = ties.total(),
             .reward_chosen = reward_chosen.total(),
             .reward_rejected = reward_rejected.total(),
             .log_prob_chosen = log_prob_chosen.total(),
             .log_prob_rejected = log_prob_rejected.total(),
             .gradient_scale = scale.total() / 2},
            ::std::min(i, size)};
}

/// The loop on the widest pack, and what is wrong with the pair at which it stopped.
template <class L, class T, class Length, class Write, class Discard>
pair_sums evaluate_pairs_checked(L const& loss, pair_batch<T, Length> const& batch,
                                 double normalizer, Write write, Discard discard) {
    using P = math::lanes_t<compute_t<T>>;
    pair_pass const pass = evaluate_pairs_loop<P>(loss, batch, normalizer, write);
    ::std::size_t const last = ::std::min(batch.size(), pass.stopped_at + lane_count<P>);
    if (pass.stopped_at < last) discard();
    for (::std::size_t i = pass.stopped_at; i < last; ++i) check_pair(loss, batch, i);
    return pass.sums;
}

}  // namespace detail

/// A loss over a batch of pairs: value, exact gradients and the usual metrics, in one pass.
///
/// `loss` is any `pair_loss`: one of `prefer::loss::`, a struct or a lambda of the caller's. Shapes
/// `[B]` throughout; gradients are written whole: weight·∂loss/∂log π / normalizer. Each pair is
/// computed in the element type (float for 16-bit elements); sums run in double, in pair order.
/// Pairs of weight 0 are masked: not read, not counted, gradient exactly 0.
///
/// Errors, all before anything is written: `shape_error` for sizes that differ; `value_error` for a
/// NaN or infinite log-prob, a negative or non-finite weight, a negative length, a bad normalizer
/// or hyper-parameter, an input that the loss needs and the batch lacks, or a loss that is NaN at
/// the first counted pair. No pairs is not an error: loss 0, `pairs` 0. O(B), no allocation. Same
/// input, same bits; the value is the same with and without gradients.
///
/// ```cpp
/// auto s = prefer::evaluate_pairs(prefer::loss::dpo{}, batch, grad, {.normalizer = 64});
/// ```
template <backend_like Backend, class Loss, class T, class Length, class G>
pair_summary evaluate_pairs(Backend const& on, Loss const& loss, pair_batch<T, Length> const& batch,
                            pair_gradients<G> const& gradients, pair_options options = {}) {
    static_assert(pair_loss<Loss>,
                  "prefer: a loss is callable with prefer::pair<S> for S = double and for dual "
                  "numbers, and returns S (for dual numbers a dual one, which has the gradient)");
    char const* const name = "evaluate_pairs";
    detail::require_size(name, "d_policy_chosen", gradients.d_policy_chosen.size(), "policy_chosen",
                         batch.size());
    detail::require_size(name, "d_policy_rejected", gradients.d_policy_rejected.size(),
                         "policy_chosen", batch.size());
    detail::check_pairs(loss, batch, options);
    ::std::size_t const counted = detail::count_pairs(batch);
    double const normalizer =
        options.normalizer.value_or(counted == 0 ? 1.0 : static_cast<double>(counted));
    if constexpr (requires { on.evaluate_pairs(loss, batch, gradients, normalizer); }) {
        for (::std::size_t i = 0; i < batch.size(); ++i) detail::check_pair(loss, batch, i);
        return summarize(on.evaluate_pairs(loss, batch, gradients, normalizer), options);
    } else {
        auto const write = [&](::std::size_t first, ::std::size_t n, auto const& d_chosen,
                               auto const& d_rejected) {
            detail::store_lanes(d_chosen, gradients.d_policy_chosen, first, n);
            detail::store_lanes(d_rejected, gradients.d_policy_rejected, first, n);
        };
        auto const discard = [&] {
            auto const zero = static_cast<G>(compute_t<G>(0));
            for (::std::size_t i = 0; i < batch.size(); ++i) {
                gradients.d_policy_chosen[i] = zero;
                gradients.d_policy_rejected[i] = zero;
            }
        };
        return summarize(detail::evaluate_pairs_checked(loss, batch, normalizer, write, discard),
                         options);
    }
}

/// Without a backend: the plain loop.
template <class Loss, class T, class Length, class G>
    requires(!backend_like<Loss>)
pair_summary evaluate_pairs(Loss const& loss, pair_batch<T, Length> const& batch,
                            pair_gradients<G> const& gradients, pair_options options = {}) {
    return evaluate_pairs(backend::plain{}, loss, batch, gradients, options);
}

/// Without gradients: loss and metrics only, bit for bit the same.
template <class Loss, class T, class Length>
    requires(!backend_like<Loss>)
pair_summary evaluate_pairs(Loss const& loss, pair_batch<T, Length> const& batch,
                            pair_options options = {}) {
    static_assert(pair_loss<Loss>,
                  "prefer: a loss is callable with prefer::pair<S> for S = double and for dual "
                  "numbers, and returns S (for dual numbers a dual one, which has the gradient)");
    detail::check_pairs(loss, batch, options);
    auto const nothing = [](auto const&...) {};
    return summarize(detail::evaluate_pairs_checked(loss, batch, 1.0, nothing, nothing), options);
}

}  // namespace prefer
