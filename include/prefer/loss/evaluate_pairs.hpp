// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
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

template <class T, class Length>
bool counts(pair_batch<T, Length> const& batch, ::std::size_t i) {
    if (!batch.has_weights) return true;
    auto const w = static_cast<compute_t<T>>(batch.weights[i]);
    return w < 0 || w > 0;
}

/// Pair `i` of a batch, in the type it is computed in.
template <class T, class Length>
pair<compute_t<T>> load_pair(pair_batch<T, Length> const& batch, ::std::size_t i) {
    using C = compute_t<T>;
    pair<C> p;
    p.chosen.policy = static_cast<C>(batch.policy_chosen[i]);
    p.rejected.policy = static_cast<C>(batch.policy_rejected[i]);
    if (batch.has_reference) {
        p.chosen.reference = static_cast<C>(batch.reference_chosen[i]);
        p.rejected.reference = static_cast<C>(batch.reference_rejected[i]);
    }
    if (batch.has_lengths) {
        p.chosen.length = static_cast<C>(batch.length_chosen[i]);
        p.rejected.length = static_cast<C>(batch.length_rejected[i]);
    }
    return p;
}

/// Whether the loss's numbers depend on the reference: what it declares, or what the batch has.
template <class L>
bool reads_reference(L const& loss, bool given) {
    if constexpr (requires { loss.inputs(); }) return loss.inputs().reference;
    return given;
}

/// Everything that can be wrong with a batch, before anything is written.
/// Returns the number of counted pairs.
template <class L, class T, class Length>
::std::size_t check_pairs(L const& loss, pair_batch<T, Length> const& batch,
                          pair_options const& options) {
    using C = compute_t<T>;
    char const* const name = "evaluate_pairs";
    ::std::size_t const size = batch.size();
    require_size(name, "policy_rejected", batch.policy_rejected.size(), "policy_chosen", size);
    if (batch.has_reference) {
        require_size(name, "reference_chosen", batch.reference_chosen.size(), "policy_chosen",
                     size);
        require_size(name, "reference_rejected", batch.reference_rejected.size(), "policy_chosen",
                     size);
    }
    if (batch.has_lengths) {
        require_size(name, "length_chosen", batch.length_chosen.size(), "policy_chosen", size);
        require_size(name, "length_rejected", batch.length_rejected.size(), "policy_chosen", size);
    }
    if (batch.has_weights) {
        require_size(name, "weights", batch.weights.size(), "policy_chosen", size);
    }
    require_normalizer(name, options.normalizer);
    if constexpr (requires { loss.validate(); }) loss.validate();
    if constexpr (requires { loss.inputs(); }) {
        pair_inputs const needed = loss.inputs();
        if (needed.reference && !batch.has_reference) {
            throw value_error("prefer::evaluate_pairs: this loss needs the reference's log-probs, "
                              "but the batch has none");
        }
        if (needed.lengths && !batch.has_lengths) {
            throw value_error(
                "prefer::evaluate_pairs: this loss averages over tokens, but the batch "
                "has no lengths (see pair_batch::with_lengths)");
        }
    }

    auto const require_finite = [&](vector_view<T const> values, char const* argument,
                                    ::std::size_t i) {
        auto const v = static_cast<C>(values[i]);
        if (!math::is_finite(v)) throw_bad_element(name, argument, i, v, "finite");
    };
    auto const require_length = [&](vector_view<Length const> values, char const* argument,
                                    ::std::size_t i) {
        if (values[i] < Length(0)) throw_bad_element(name, argument, i, +values[i], "at least 0");
    };
    ::std::size_t counted = 0;
    for (::std::size_t i = 0; i < size; ++i) {
        if (batch.has_weights) {
            auto const w = static_cast<C>(batch.weights[i]);
            if (!(math::is_finite(w) && w >= 0)) {
                throw_bad_element(name, "weights", i, w, "finite and at least 0");
            }
        }
        if (!counts(batch, i)) continue;
        ++counted;
        require_finite(batch.policy_chosen, "policy_chosen", i);
        require_finite(batch.policy_rejected, "policy_rejected", i);
        if (batch.has_reference) {
            require_finite(batch.reference_chosen, "reference_chosen", i);
            require_finite(batch.reference_rejected, "reference_rejected", i);
        }
        if (batch.has_lengths) {
            require_length(batch.length_chosen, "length_chosen", i);
            require_length(batch.length_rejected, "length_rejected", i);
        }
        if (counted == 1 && math::is_nan(loss::value_and_grad(loss, load_pair(batch, i)).loss)) {
            throw value_error(message("prefer::evaluate_pairs: the loss is NaN at pair ", i,
                                      ", though its inputs are finite; does it read a reference or "
                                      "a length that the batch "
                                      "does not have?"));
        }
    }
    return counted;
}

/// The plain loop. `write(i, d_chosen, d_rejected)` receives the scaled gradient of every pair.
template <class L, class T, class Length, class Write>
pair_sums evaluate_pairs_loop(L const& loss, pair_batch<T, Length> const& batch, double normalizer,
                              Write write) {
    using C = compute_t<T>;
    auto const wide = [](C x) { return static_cast<double>(x); };
    bool const with_reference = reads_reference(loss, batch.has_reference);
    double const share = 1 / normalizer;
    pair_sums sums;
    for (::std::size_t i = 0; i < batch.size(); ++i) {
        if (!counts(batch, i)) {
            write(i, C(0), C(0));
            continue;
        }
        pair<C> const p = load_pair(batch, i);
        double const weight = batch.has_weights ? wide(static_cast<C>(batch.weights[i])) : 1.0;
        auto const y = loss::value_and_grad(loss, p);
        C const scale = static_cast<C>(weight * share);
        write(i, y.d_chosen * scale, y.d_rejected * scale);

        C const chosen = loss::reward(loss, p.chosen, with_reference);
        C const rejected = loss::reward(loss, p.rejected, with_reference);
        sums.pairs += 1;
        sums.weighted_loss += weight * wide(y.loss);
        sums.correct += chosen > rejected ? 1 : 0;
        sums.ties += chosen <= rejected && chosen >= rejected ? 1 : 0;
        sums.reward_chosen += wide(chosen);
        sums.reward_rejected += wide(rejected);
        sums.log_prob_chosen += wide(p.chosen.policy);
        sums.log_prob_rejected += wide(p.rejected.policy);
        sums.gradient_scale += (wide(math::abs(y.d_chosen)) + wide(math::abs(y.d_rejected))) / 2;
    }
    return sums;
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
    ::std::size_t const counted = detail::check_pairs(loss, batch, options);
    double const normalizer =
        options.normalizer.value_or(counted == 0 ? 1.0 : static_cast<double>(counted));
    pair_sums sums;
    if constexpr (requires { on.evaluate_pairs(loss, batch, gradients, normalizer); }) {
        sums = on.evaluate_pairs(loss, batch, gradients, normalizer);
    } else {
        auto const store = [](auto x) { return static_cast<G>(static_cast<compute_t<G>>(x)); };
        sums = detail::evaluate_pairs_loop(loss, batch, normalizer,
                                           [&](::std::size_t i, auto d_chosen, auto d_rejected) {
                                               gradients.d_policy_chosen[i] = store(d_chosen);
                                               gradients.d_policy_rejected[i] = store(d_rejected);
                                           });
    }
    return summarize(sums, options);
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
    return summarize(detail::evaluate_pairs_loop(loss, batch, 1.0, [](auto...) {}), options);
}

}  // namespace prefer
