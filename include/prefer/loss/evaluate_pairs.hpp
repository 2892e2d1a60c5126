// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

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

/// What the loss reads: what it declares, or what the batch has.
template <class L>
pair_inputs inputs_of(L const& loss, pair_inputs const& given) {
    if constexpr (requires { loss.inputs(); }) return loss.inputs();
    return given;
}

/// The same where the type of the loss says it, so that a loop need not ask.
template <class L>
constexpr pair_inputs inputs_by_type(pair_inputs const& otherwise) {
    if constexpr (requires { ::std::bool_constant<L::inputs().reference>(); }) {
        return L::inputs();
    } else {
        return otherwise;
    }
}

/// What a batch has.
template <class T, class Length>
pair_inputs inputs_given(pair_batch<T, Length> const& batch) {
    return {.reference = batch.has_reference,
            .lengths = batch.has_lengths,
            .scores = batch.has_scores,
            .labels = batch.has_labels,
            .offsets = batch.has_offsets};
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
        require_inputs(name, loss.inputs(), inputs_given(batch));
    }
}

/// Pair `i` of a batch, in the type it is computed in.
template <class T, class Length>
pair<compute_t<T>> load_pair(pair_batch<T, Length> const& batch, ::std::size_t i) {
    using C = compute_t<T>;
    auto const load = [&](bool given, auto const& column, C& to) {
        if (given) to = static_cast<C>(column[i]);
    };
    pair<C> p;
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
    require_finite(batch.has_offsets, batch.offsets, "offsets");
    if (batch.has_labels) {
        auto const label = static_cast<C>(batch.labels[i]);
        if (!(label >= 0 && label <= 1)) {
            throw_bad_element(name, "labels", i, label, "in [0, 1]");
        }
    }
    require_length(batch.length_chosen, "length_chosen");
    require_length(batch.length_rejected, "length_rejected");
    if (math::is_nan(loss::value_and_grad(loss, load_pair(batch, i)).loss)) {
        throw value_error(message("prefer::evaluate_pairs: the loss is NaN at pair ", i,
                                  ", though its inputs are finite; does it read a reference, a "
                                  "length or a score that the batch does not have?"));
    }
}

/// The same of the pairs from `first` on.
template <class L, class T, class Length>
void check_each_pair(L const& loss, pair_batch<T, Length> const& batch, ::std::size_t first,
                     ::std::size_t last) {
    for (::std::size_t i = first; i < last; ++i) check_pair(loss, batch, i);
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

/// A block of a batch, as contiguous numbers.
template <class C>
struct pair_block {
    input_block<C> policy_chosen{0}, policy_rejected{0};
    input_block<C> reference_chosen{math::quiet_nan<C>}, reference_rejected{math::quiet_nan<C>};
    input_block<C> length_chosen{math::quiet_nan<C>}, length_rejected{math::quiet_nan<C>};
    input_block<C> score_chosen{math::quiet_nan<C>}, score_rejected{math::quiet_nan<C>};
    input_block<C> labels{1}, offsets{0}, weights{1};
    bool good_lengths = true;

    template <class T, class Length>
    void read(pair_batch<T, Length> const& batch, ::std::size_t first, ::std::size_t n) {
        auto const read = [&](bool given, auto const& column, input_block<C>& to) {
            if (given) to.read(column, first, n);
        };
        read(true, batch.policy_chosen, policy_chosen);
        read(true, batch.policy_rejected, policy_rejected);
        read(batch.has_reference, batch.reference_chosen, reference_chosen);
        read(batch.has_reference, batch.reference_rejected, reference_rejected);
        if (batch.has_lengths) {
            bool const chosen = length_chosen.read_counts(batch.length_chosen, first, n);
            good_lengths = length_rejected.read_counts(batch.length_rejected, first, n) && chosen;
        }
        read(batch.has_scores, batch.score_chosen, score_chosen);
        read(batch.has_scores, batch.score_rejected, score_rejected);
        read(batch.has_labels, batch.labels, labels);
        read(batch.has_offsets, batch.offsets, offsets);
        read(batch.has_weights, batch.weights, weights);
        if (!batch.has_weights && !fills_packs(n)) weights.fill(C(1), n);
    }

    template <class P>
    pair<P> lanes(::std::size_t j) const {
        return {{policy_chosen.template lanes<P>(j), reference_chosen.template lanes<P>(j),
                 length_chosen.template lanes<P>(j), score_chosen.template lanes<P>(j)},
                {policy_rejected.template lanes<P>(j), reference_rejected.template lanes<P>(j),
                 length_rejected.template lanes<P>(j), score_rejected.template lanes<P>(j)},
                labels.template lanes<P>(j),
                offsets.template lanes<P>(j)};
    }
};

/// Whether the numbers of a column that count are finite.
template <class P, class C>
bool finite_column(input_block<C> const& column, input_block<C> const& weights, ::std::size_t n) {
    P const zero(C(0));
    auto finite = zero <= zero;
    for (::std::size_t j = 0; j < n; j += lane_count<P>) {
        finite = finite && (math::is_finite(column.template lanes<P>(j)) ||
                            weights.template lanes<P>(j) <= zero);
    }
    return math::all_of(finite);
}

/// What the loop over a block looks at besides the log-probs that the loss reads: a bad one of
/// those shows in the sums.
template <class P>
struct block_check {
    P finite{math::lane_t<P>(0)};  // a sum of what has to be finite
    decltype(P() <= P()) in_range = P(math::lane_t<P>(0)) <= P(math::lane_t<P>(0));

    bool good() const { return math::all_of(in_range && math::is_finite(finite)); }
};

/// The running sums of `pair_sums`, lane by lane.
template <class P>
struct pair_lane_sums {
    lane_sum<P> weighted_loss, reward_chosen, reward_rejected;
    lane_sum<P> log_prob_chosen, log_prob_rejected, scale;
    lane_count_sum<P> correct, ties;

    /// False where some log-prob was infinite or NaN, or some loss NaN.
    bool all_defined() const {
        auto const log_probs = log_prob_chosen.lanes() + log_prob_rejected.lanes() +
                               reward_chosen.lanes() + reward_rejected.lanes();
        return math::all_of(math::is_finite(log_probs) && !math::is_nan(weighted_loss.lanes()));
    }

    pair_sums total(::std::size_t pairs) const {
        return {.pairs = static_cast<double>(pairs),
                .weighted_loss = weighted_loss.total(),
                .correct = correct.total(),
                .ties = ties.total(),
                .reward_chosen = reward_chosen.total(),
                .reward_rejected = reward_rejected.total(),
                .log_prob_chosen = log_prob_chosen.total(),
                .log_prob_rejected = log_prob_rejected.total(),
                .gradient_scale = scale.total() / 2};
    }
};

/// The loop over a block, a pack of pairs at a time: gradients times weight and share, and sums.
/// Without `Weighted`, all weights are 1. False where a score, label, offset or weight that counts
/// is not as it should be.
template <bool Weighted, class P, class L, class C>
PREFER_FLATTEN bool evaluate_pair_block(L const& given_loss, pair_block<C> const& block,
                                        ::std::size_t n, pair_inputs const& inputs, C share,
                                        C* d_chosen, C* d_rejected, pair_lane_sums<P>& all_sums) {
    L const loss = given_loss;  // copies, which no store to the gradients can change
    pair_inputs const reads = inputs_by_type<L>(inputs);
    pair_lane_sums<P> sums = all_sums;
    block_check<P> check;
    constexpr bool reports_another = requires { given_loss.rewarded(); };
    P const zero(C(0));
    P const one(C(1));
    for (::std::size_t j = 0; j < n; j += lane_count<P>) {
        fetch_for_store<P>(d_chosen + j);
        fetch_for_store<P>(d_rejected + j);
        pair<P> const p = block.template lanes<P>(j);
        P const weight = Weighted ? block.weights.template lanes<P>(j) : one;
        auto const masked = weight <= zero;
        auto const counted = [&](P const& x) {
            return Weighted ? math::select(masked, zero, x) : x;
        };

        auto const y = dual_of_loss(loss, p);
        P const part = Weighted ? weight * P(share) : P(share);
        store_lanes(counted(y.gradient[0] * part), d_chosen + j);
        store_lanes(counted(y.gradient[1] * part), d_rejected + j);

        if (reads.reference && reports_another) {  // whose rewards need not read the reference
            check.finite += counted(p.chosen.reference + p.rejected.reference);
        }
        if (reads.scores) check.finite += counted(p.chosen.score + p.rejected.score);
        if (reads.offsets) check.finite += counted(p.offset);
        if (reads.labels) {
            check.in_range = check.in_range && (masked || (p.label >= zero && p.label <= one));
        }
        if (Weighted) {
            check.in_range = check.in_range && weight >= zero && math::is_finite(weight);
        }

        P const chosen = loss::reward(loss, p.chosen, reads.reference);
        P const rejected = loss::reward(loss, p.rejected, reads.reference);
        sums.weighted_loss.add(Weighted ? counted(y.value * weight) : y.value);
        sums.correct.add(!masked && chosen > rejected);
        sums.ties.add(!masked && chosen <= rejected && chosen >= rejected);
        sums.reward_chosen.add(counted(chosen));
        sums.reward_rejected.add(counted(rejected));
        sums.log_prob_chosen.add(counted(p.chosen.policy));
        sums.log_prob_rejected.add(counted(p.rejected.policy));
        sums.scale.add(counted(math::abs(y.gradient[0]) + math::abs(y.gradient[1])));
    }
    all_sums = sums;
    return check.good();
}

/// The loop over a batch. What is wrong with a number shows in its block or in the sums after it;
/// the block is then searched, and the culprit thrown.
template <class P, class L, class T, class Length, class Chosen, class Rejected>
pair_sums evaluate_pairs_loop(L const& loss, pair_batch<T, Length> const& batch, double normalizer,
                              Chosen&& d_chosen, Rejected&& d_rejected) {
    using C = compute_t<T>;
    pair_inputs const reads = inputs_of(loss, inputs_given(batch));
    C const share = static_cast<C>(1 / normalizer);
    ::std::size_t const size = batch.size();
    pair_block<C> block;
    pair_lane_sums<P> sums;
    for (::std::size_t first = 0; first < size; first += block_size) {
        ::std::size_t const n = ::std::min(block_size, size - first);
        block.read(batch, first, n);
        C* const chosen = d_chosen.open(first, n);
        C* const rejected = d_rejected.open(first, n);
        bool const weighted = batch.has_weights || !fills_packs(n);
        auto const evaluate =
            weighted ? evaluate_pair_block<true, P, L, C> : evaluate_pair_block<false, P, L, C>;
        bool good = evaluate(loss, block, n, reads, share, chosen, rejected, sums);
        if (batch.has_reference && !reads.reference) {
            good = finite_column<P>(block.reference_chosen, block.weights, n) &&
                   finite_column<P>(block.reference_rejected, block.weights, n) && good;
        }
        if (!(good && block.good_lengths && sums.all_defined())) {
            check_each_pair(loss, batch, first, first + n);
        }
        d_chosen.close(chosen, first, n);
        d_rejected.close(rejected, first, n);
    }
    return sums.total(count_pairs(batch));
}

}  // namespace detail

/// A loss over a batch of pairs: value, exact gradients and the usual metrics, in one pass.
///
/// `loss` is any `pair_loss`: one of `prefer::loss::`, a struct or a lambda of the caller's. Shapes
/// `[B]` throughout; gradients are written whole: weight·∂loss/∂log π / normalizer. Each pair is
/// computed in the element type (float for 16-bit elements); sums run in double, lane by lane.
/// Pairs of weight 0 are masked: not read, not counted, gradient exactly 0.
///
/// Errors before anything is written: `shape_error` for sizes that differ; `value_error` for a bad
/// normalizer or hyper-parameter, or an input that the loss needs and the batch lacks or that it
/// would ignore. A bad number is found in the pass itself, and all gradients are 0 when it throws:
/// `value_error` for a NaN or infinite log-prob, score or offset, a label outside [0, 1], a
/// negative or non-finite weight, a negative length, or a loss that is NaN. No pairs is not an
/// error: loss 0, `pairs` 0. O(B), no allocation. Pairs are taken in packs of SIMD lanes, so a
/// result may differ in the last digits from the formula alone, and between architectures. Same
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
        detail::check_each_pair(loss, batch, 0, batch.size());
        return summarize(on.evaluate_pairs(loss, batch, gradients, normalizer), options);
    } else {
        using C = compute_t<T>;
        try {
            return summarize(detail::evaluate_pairs_loop<math::lanes_t<C>>(
                                 loss, batch, normalizer,
                                 detail::output_block<C, G>(gradients.d_policy_chosen),
                                 detail::output_block<C, G>(gradients.d_policy_rejected)),
                             options);
        } catch (value_error const&) {
            for (::std::size_t i = 0; i < batch.size(); ++i) {
                gradients.d_policy_chosen[i] = static_cast<G>(compute_t<G>(0));
                gradients.d_policy_rejected[i] = static_cast<G>(compute_t<G>(0));
            }
            throw;
        }
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
    using C = compute_t<T>;
    return summarize(detail::evaluate_pairs_loop<math::lanes_t<C>>(loss, batch, 1.0,
                                                                   detail::no_output_block<C>(),
                                                                   detail::no_output_block<C>()),
                     options);
}

}  // namespace prefer
