// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/example_batch.hpp>
#include <prefer/core/lanes.hpp>
#include <prefer/core/pair.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

struct example_options {
    /// Divides the summed loss and the gradients. Left out: the number of counted examples of this
    /// call, of both kinds together, which makes the loss their mean. With the number of examples
    /// of the whole batch (over micro-batches and ranks), the parts add up to that of the whole.
    ::std::optional<double> normalizer = ::std::nullopt;
};

/// Sums over the counted examples of one kind.
struct example_side_sums {
    double examples = 0;  ///< those whose weight is not 0
    double loss = 0;      ///< Σ loss, without weights
    double reward = 0;
    double log_prob = 0;

    example_side_sums& operator+=(example_side_sums const& other) {
        examples += other.examples;
        loss += other.loss;
        reward += other.reward;
        log_prob += other.log_prob;
        return *this;
    }
};

/// Sums over the counted examples of one call, in double: what is added up over micro-batches and
/// reduced over ranks (ten doubles, nothing else).
struct example_sums {
    double weighted_loss = 0;       ///< Σ weight·loss
    double gradient_scale = 0;      ///< Σ |∂loss/∂log π|, before weights and normalizer
    example_side_sums desirable;    ///< examples whose label is above 1/2
    example_side_sums undesirable;  ///< the others

    double examples() const { return desirable.examples + undesirable.examples; }

    example_sums& operator+=(example_sums const& other) {
        weighted_loss += other.weighted_loss;
        gradient_scale += other.gradient_scale;
        desirable += other.desirable;
        undesirable += other.undesirable;
        return *this;
    }
};

/// The means over the counted examples of one kind, without weights. A kind that is absent has
/// count 0 and means 0: look at the count before the means.
struct example_side {
    ::std::size_t examples = 0;
    double loss = 0;
    double reward = 0;
    double log_prob = 0;
};

/// What everyone reports about a batch of examples. With no counted example all of it is 0.
struct example_summary {
    double loss = 0;            ///< Σ weight·loss / normalizer
    example_side desirable;     ///< examples whose label is above 1/2
    example_side undesirable;   ///< the others
    double gradient_scale = 0;  ///< mean |∂loss/∂log π|
    ::std::size_t examples = 0;
    example_sums sums;
};

/// The summary of sums: of one call, or added up over many. Left out, the normalizer is the number
/// of counted examples. The losses of parts that were given one global normalizer simply add up.
template <::std::same_as<example_sums> Sums>  // so that `{}` is no example_sums
example_summary summarize(Sums const& sums, example_options options = {}) {
    detail::require_normalizer("summarize", options.normalizer);
    double const examples = sums.examples() > 0 ? sums.examples() : 1;
    auto const side = [](example_side_sums const& s) {
        double const n = s.examples > 0 ? s.examples : 1;
        return example_side{static_cast<::std::size_t>(s.examples), s.loss / n, s.reward / n,
                            s.log_prob / n};
    };
    return {
        .loss = sums.weighted_loss / options.normalizer.value_or(examples),
        .desirable = side(sums.desirable),
        .undesirable = side(sums.undesirable),
        .gradient_scale = sums.gradient_scale / examples,
        .examples = static_cast<::std::size_t>(sums.examples()),
        .sums = sums,
    };
}

namespace detail {

/// Whether labels have to be 0 or 1 (`static constexpr bool binary_labels = true`), or may be any
/// probability.
template <class L>
constexpr bool reads_binary_labels() {
    if constexpr (requires { L::binary_labels; }) return L::binary_labels;
    return false;
}

/// Whether a loss that reads labels also takes a batch without, where every label is 1.
template <class L>
constexpr bool takes_unlabelled() {
    if constexpr (requires { L::labels_optional; }) return L::labels_optional;
    return false;
}

/// Whether example `i` counts: its weight is not 0.
template <class T, class Length, class Label>
bool counts(example_batch<T, Length, Label> const& batch, ::std::size_t i) {
    if (!batch.has_weights) return true;
    auto const w = static_cast<compute_t<T>>(batch.weights[i]);
    return !(w <= 0 && w >= 0);
}

/// Example `i` of a batch, in the type it is computed in.
template <class T, class Length, class Label>
example<compute_t<T>> load_example(example_batch<T, Length, Label> const& batch, ::std::size_t i) {
    using C = compute_t<T>;
    example<C> x;
    x.completion.policy = static_cast<C>(batch.policy[i]);
    if (batch.has_reference) x.completion.reference = static_cast<C>(batch.reference[i]);
    if (batch.has_lengths) x.completion.length = static_cast<C>(batch.lengths[i]);
    if (batch.has_scores) x.completion.score = static_cast<C>(batch.scores[i]);
    if (batch.has_labels) x.label = static_cast<C>(batch.labels[i]);
    return x;
}

/// What a batch has.
template <class T, class Length, class Label>
pair_inputs inputs_given(example_batch<T, Length, Label> const& batch) {
    return {.reference = batch.has_reference,
            .lengths = batch.has_lengths,
            .scores = batch.has_scores,
            .labels = batch.has_labels};
}

/// Everything that can be wrong with a batch as a whole.
template <class L, class T, class Length, class Label>
void check_examples(L const& loss, example_batch<T, Length, Label> const& batch,
                    example_options const& options) {
    char const* const name = "evaluate_examples";
    auto const require_same = [&](bool given, auto const& column, char const* argument) {
        if (given) require_size(name, argument, column.size(), "policy", batch.size());
    };
    require_same(batch.has_reference, batch.reference, "reference");
    require_same(batch.has_lengths, batch.lengths, "lengths");
    require_same(batch.has_scores, batch.scores, "scores");
    require_same(batch.has_labels, batch.labels, "labels");
    require_same(batch.has_weights, batch.weights, "weights");
    require_normalizer(name, options.normalizer);
    if constexpr (requires { loss.validate(); }) loss.validate();
    if constexpr (requires { loss.inputs(); }) {
        require_inputs(name, loss.inputs(), inputs_given(batch));
        if (loss.inputs().labels && !batch.has_labels && !takes_unlabelled<L>()) {
            throw value_error("prefer::evaluate_examples: this loss reads labels, but the batch "
                              "has none (see with_labels)");
        }
    }
}

/// Throws what is wrong with the numbers of example `i`; the loss itself is looked at last.
template <class L, class T, class Length, class Label>
void check_example(L const& loss, example_batch<T, Length, Label> const& batch, ::std::size_t i) {
    using C = compute_t<T>;
    char const* const name = "evaluate_examples";
    auto const require_finite = [&](bool given, C value, char const* argument) {
        if (given && !math::is_finite(value)) {
            throw_bad_element(name, argument, i, value, "finite");
        }
    };
    if (batch.has_weights) {
        auto const w = static_cast<C>(batch.weights[i]);
        if (!(math::is_finite(w) && w >= 0)) {
            throw_bad_element(name, "weights", i, w, "finite and at least 0");
        }
        if (!(w > 0)) return;
    }
    example<C> const x = load_example(batch, i);
    require_finite(true, x.completion.policy, "policy");
    require_finite(batch.has_reference, x.completion.reference, "reference");
    require_finite(batch.has_scores, x.completion.score, "scores");
    if (batch.has_lengths && batch.lengths[i] < Length(0)) {
        throw_bad_element(name, "lengths", i, +batch.lengths[i], "at least 0");
    }
    bool const in_range = x.label >= C(0) && x.label <= C(1);
    if (reads_binary_labels<L>()) {
        bool const whole = x.label <= C(0) || x.label >= C(1);
        if (!(in_range && whole)) throw_bad_element(name, "labels", i, x.label, "0 or 1");
    } else if (!in_range) {
        throw_bad_element(name, "labels", i, x.label, "in [0, 1]");
    }
    if (math::is_nan(loss::value_and_grad(loss, x).loss)) {
        throw value_error(message("prefer::evaluate_examples: the loss is NaN at example ", i,
                                  ", though its inputs are finite; does it read a reference, a "
                                  "length or a score that the batch does not have?"));
    }
}

/// The same of the examples `first`, …, `last - 1`.
template <class L, class T, class Length, class Label>
void check_each_example(L const& loss, example_batch<T, Length, Label> const& batch,
                        ::std::size_t first, ::std::size_t last) {
    for (::std::size_t i = first; i < last; ++i) check_example(loss, batch, i);
}

/// The number of counted examples.
template <class T, class Length, class Label>
::std::size_t count_examples(example_batch<T, Length, Label> const& batch) {
    if (!batch.has_weights) return batch.size();
    ::std::size_t counted = 0;
    for (::std::size_t i = 0; i < batch.size(); ++i) {
        if (counts(batch, i)) ++counted;
    }
    return counted;
}

/// A block of a batch, as contiguous numbers.
template <class C>
struct example_block {
    input_block<C> policy{0}, reference{math::quiet_nan<C>}, lengths{math::quiet_nan<C>};
    input_block<C> scores{math::quiet_nan<C>}, labels{1}, weights{1};
    bool good_lengths = true;

    template <class T, class Length, class Label>
    void read(example_batch<T, Length, Label> const& batch, ::std::size_t first, ::std::size_t n) {
        auto const read = [&](bool given, auto const& column, input_block<C>& to) {
            if (given) to.read(column, first, n);
        };
        read(true, batch.policy, policy);
        read(batch.has_reference, batch.reference, reference);
        if (batch.has_lengths) good_lengths = lengths.read_counts(batch.lengths, first, n);
        read(batch.has_scores, batch.scores, scores);
        read(batch.has_labels, batch.labels, labels);
        read(batch.has_weights, batch.weights, weights);
        if (!batch.has_weights && !fills_packs(n)) weights.fill(C(1), n);
    }

    template <class P>
    example<P> lanes(::std::size_t j) const {
        return {{policy.template lanes<P>(j), reference.template lanes<P>(j),
                 lengths.template lanes<P>(j), scores.template lanes<P>(j)},
                labels.template lanes<P>(j)};
    }
};

/// The running sums of `example_sums`, lane by lane.
template <class P>
struct example_lane_sums {
    struct side {
        lane_count_sum<P> examples;
        lane_sum<P> loss, reward, log_prob;

        example_side_sums total() const {
            return {examples.total(), loss.total(), reward.total(), log_prob.total()};
        }
    };
    lane_sum<P> weighted_loss, scale;  // the first only where the batch has weights
    side desirable, undesirable;

    /// False where some log-prob was infinite or NaN, or some loss NaN.
    bool all_defined() const {
        auto const of_both = desirable.log_prob.lanes() + undesirable.log_prob.lanes() +
                             desirable.reward.lanes() + undesirable.reward.lanes();
        auto const loss = desirable.loss.lanes() + undesirable.loss.lanes();
        return math::all_of(math::is_finite(of_both) && !math::is_nan(loss));
    }

    example_sums total(bool weighted) const {
        example_sums sums{.gradient_scale = scale.total(),
                          .desirable = desirable.total(),
                          .undesirable = undesirable.total()};
        sums.weighted_loss =
            weighted ? weighted_loss.total() : sums.desirable.loss + sums.undesirable.loss;
        return sums;
    }
};

/// The loop over a block, a pack of examples at a time; see `evaluate_pair_block`.
template <bool Weighted, class P, class L, class C>
PREFER_FLATTEN bool evaluate_example_block(L const& given_loss, example_block<C> const& block,
                                           ::std::size_t n, pair_inputs const& inputs, C share,
                                           C* d_policy, example_lane_sums<P>& all_sums) {
    L const loss = given_loss;
    pair_inputs const reads = inputs_by_type<L>(inputs);
    example_lane_sums<P> sums = all_sums;
    block_check<P> check;
    constexpr bool reports_another = requires { given_loss.rewarded(); };
    P const zero(C(0));
    P const one(C(1));
    for (::std::size_t j = 0; j < n; j += lane_count<P>) {
        fetch_for_store<P>(d_policy + j);
        example<P> const x = block.template lanes<P>(j);
        P const weight = Weighted ? block.weights.template lanes<P>(j) : one;
        auto const masked = weight <= zero;
        auto const counted = [&](P const& value) {
            return Weighted ? math::select(masked, zero, value) : value;
        };

        auto const y = dual_of_loss(loss, x);
        P const part = Weighted ? weight * P(share) : P(share);
        store_lanes(counted(y.gradient[0] * part), d_policy + j);

        if (reads.reference && reports_another) check.finite += counted(x.completion.reference);
        if (reads.scores) check.finite += counted(x.completion.score);
        if (reads.labels) {
            auto const in_range = [&] {
                if (reads_binary_labels<L>()) {
                    return (x.label <= zero && x.label >= zero) ||
                           (x.label <= one && x.label >= one);
                }
                return x.label >= zero && x.label <= one;
            };
            check.in_range = check.in_range && (masked || in_range());
        }
        if (Weighted) {
            check.in_range = check.in_range && weight >= zero && math::is_finite(weight);
        }
        if (Weighted) sums.weighted_loss.add(counted(y.value * weight));
        sums.scale.add(counted(math::abs(y.gradient[0])));
        P const reward = loss::reward(loss, x.completion, reads.reference);
        auto const add_where = [&](auto const& mine, typename example_lane_sums<P>::side& side) {
            side.examples.add(mine);
            side.loss.add(math::select(mine, y.value, zero));
            side.reward.add(math::select(mine, reward, zero));
            side.log_prob.add(math::select(mine, x.completion.policy, zero));
        };
        auto const desirable = x.label > P(C(0.5));
        add_where(!masked && desirable, sums.desirable);
        add_where(!masked && !desirable, sums.undesirable);
    }
    all_sums = sums;
    return check.good();
}

/// The loop over a batch; see `evaluate_pairs_loop`.
template <class P, class L, class T, class Length, class Label, class Gradient>
example_sums evaluate_examples_loop(L const& loss, example_batch<T, Length, Label> const& batch,
                                    double normalizer, Gradient&& d_policy) {
    using C = compute_t<T>;
    pair_inputs const reads = inputs_of(loss, inputs_given(batch));
    C const share = static_cast<C>(1 / normalizer);
    ::std::size_t const size = batch.size();
    example_block<C> block;
    example_lane_sums<P> sums;
    for (::std::size_t first = 0; first < size; first += block_size) {
        ::std::size_t const n = ::std::min(block_size, size - first);
        block.read(batch, first, n);
        C* const d = d_policy.open(first, n);
        bool const weighted = batch.has_weights || !fills_packs(n);
        auto const evaluate = weighted ? evaluate_example_block<true, P, L, C>
                                       : evaluate_example_block<false, P, L, C>;
        bool good = evaluate(loss, block, n, reads, share, d, sums);
        if (batch.has_reference && !reads.reference) {
            good = finite_column<P>(block.reference, block.weights, n) && good;
        }
        if (!(good && block.good_lengths && sums.all_defined())) {
            check_each_example(loss, batch, first, first + n);
        }
        d_policy.close(d, first, n);
    }
    return sums.total(batch.has_weights);
}

}  // namespace detail

/// A loss over a batch of single responses: value, exact gradients and the usual metrics, in one
/// pass.
///
/// `loss` is any `example_loss`: one of `prefer::loss::`, a struct or a lambda of the caller's.
/// Shapes `[B]`; the gradient is written whole: weight·∂loss/∂log π / normalizer. Each example is
/// computed in the element type (float for 16-bit elements); sums run in double. Examples of weight
/// 0 are masked: not read, not counted, gradient exactly 0. A batch of one kind only is a batch
/// like any other; the absent kind is reported with count 0 and means 0. Statistics of a batch
/// (`kto_reference_point`, `bco_running_mean`, …) are hyper-parameters here: collect them first.
///
/// Labels: any probability in [0, 1]; 0 or 1 where the loss says `static constexpr bool
/// binary_labels = true`. A loss that reads labels needs a batch that has them, unless it says
/// `labels_optional`.
///
/// Errors before anything is written: `shape_error` for sizes that differ; `value_error` for a bad
/// normalizer or hyper-parameter, or an input that the loss needs and the batch lacks or that it
/// would ignore. A bad number is found in the pass itself, and all gradients are 0 when it throws:
/// `value_error` for a NaN or infinite log-prob or score, a label out of range, a negative or
/// non-finite weight, a negative length, or a loss that is NaN. No examples is not an error: loss
/// 0, `examples` 0. O(B), no allocation. Same input, same bits; the value is the same with and
/// without gradients.
///
/// ```cpp
/// prefer::example_batch batch{policy, reference};
/// prefer::loss::kto loss{.reference_point = point.value()};
/// auto s = prefer::evaluate_examples(loss, batch.with_labels(labels), gradients);
/// ```
template <backend_like Backend, class Loss, class T, class Length, class Label, class G>
example_summary evaluate_examples(Backend const& on, Loss const& loss,
                                  example_batch<T, Length, Label> const& batch,
                                  example_gradients<G> const& gradients,
                                  example_options options = {}) {
    static_assert(example_loss<Loss>,
                  "prefer: a loss of examples is callable with prefer::example<S> for S = double "
                  "and for dual numbers, and returns S");
    detail::require_size("evaluate_examples", "d_policy", gradients.d_policy.size(), "policy",
                         batch.size());
    detail::check_examples(loss, batch, options);
    ::std::size_t const counted = detail::count_examples(batch);
    double const normalizer =
        options.normalizer.value_or(counted == 0 ? 1.0 : static_cast<double>(counted));
    if constexpr (requires { on.evaluate_examples(loss, batch, gradients, normalizer); }) {
        detail::check_each_example(loss, batch, 0, batch.size());
        return summarize(on.evaluate_examples(loss, batch, gradients, normalizer), options);
    } else {
        using C = compute_t<T>;
        try {
            return summarize(
                detail::evaluate_examples_loop<math::lanes_t<C>>(
                    loss, batch, normalizer, detail::output_block<C, G>(gradients.d_policy)),
                options);
        } catch (value_error const&) {
            for (::std::size_t i = 0; i < batch.size(); ++i) {
                gradients.d_policy[i] = static_cast<G>(compute_t<G>(0));
            }
            throw;
        }
    }
}

/// Without a backend: the plain loop.
template <class Loss, class T, class Length, class Label, class G>
    requires(!backend_like<Loss>)
example_summary evaluate_examples(Loss const& loss, example_batch<T, Length, Label> const& batch,
                                  example_gradients<G> const& gradients,
                                  example_options options = {}) {
    return evaluate_examples(backend::plain{}, loss, batch, gradients, options);
}

/// Without gradients: loss and metrics only, bit for bit the same.
template <class Loss, class T, class Length, class Label>
    requires(!backend_like<Loss>)
example_summary evaluate_examples(Loss const& loss, example_batch<T, Length, Label> const& batch,
                                  example_options options = {}) {
    static_assert(example_loss<Loss>,
                  "prefer: a loss of examples is callable with prefer::example<S> for S = double "
                  "and for dual numbers, and returns S");
    detail::check_examples(loss, batch, options);
    using C = compute_t<T>;
    return summarize(detail::evaluate_examples_loop<math::lanes_t<C>>(loss, batch, 1.0,
                                                                      detail::no_output_block<C>()),
                     options);
}

}  // namespace prefer
