// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <prefer/core/element.hpp>
#include <prefer/core/example_batch.hpp>
#include <prefer/core/state.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// Which completion stands in for the mismatched one of prompt `i` of `n`: the next prompt's, and
/// the first one's for the last. A permutation without a fixed point; reversing a batch, which
/// looks like one, leaves the middle of an odd batch in place. Throws `value_error` for n < 2,
/// where there is no mismatched completion, and for i >= n.
constexpr ::std::size_t mismatched(::std::size_t i, ::std::size_t n) {
    if (n < 2) {
        throw value_error(
            detail::message("prefer::loss::mismatched: n is ", n,
                            ", but must be at least 2: one prompt has no completion of another"));
    }
    if (i >= n) {
        throw value_error(detail::message("prefer::loss::mismatched: i is ", i,
                                          ", but must be below n, which is ", n));
    }
    return i + 1 == n ? 0 : i + 1;
}

/// The reference point of `kto`: an estimate of KL(π‖π_ref), from completions that belong to other
/// prompts.
///
///     z0 = max(0, mean over i of log π(y_j|x_i) - log π_ref(y_j|x_i)),   j = mismatched(i, n)
///
/// It takes *mismatched* completions only; log-probs of the matched ones, which the loss is trained
/// on, do not belong here, and swapping the two is another loss. All log-probs are of the
/// completion, without the prompt. Nothing is differentiated: the value is a constant.
///
/// A step has two stages. First, over all micro-batches (and ranks: `+=`), `add`; then set
/// `kto::reference_point` to `value()` and evaluate the micro-batches. So the loss does not depend
/// on how a batch is split, where trainers take one point for each micro-batch. The mean is clamped
/// once, after the global mean: clamping on each rank first is biased upwards. Start a new one for
/// the next step.
///
/// With nothing added, the value is 0 and `count()` says so. Sums run in double, in the order of
/// addition. `add` throws `shape_error` for sizes that differ and `value_error` for a NaN or
/// infinite log-prob, and adds nothing then. O(B), no allocation.
/// Source: K. Ethayarajh et al. 2024, where it is taken over each micro-batch.
class kto_reference_point {
public:
    /// The mismatched completions of a micro-batch; needs a reference. Examples of weight 0 are not
    /// read; other weights do not matter.
    template <class T, class Length, class Label>
    void add(example_batch<T, Length, Label> const& mismatched_completions) {
        using C = compute_t<T>;
        char const* const name = "loss::kto_reference_point::add";
        auto const& batch = mismatched_completions;
        if (!batch.has_reference) {
            throw value_error(detail::message(
                "prefer::", name, ": the reference's log-probs are needed, but there are none"));
        }
        detail::require_size(name, "reference", batch.reference.size(), "policy", batch.size());
        if (batch.has_weights) {
            detail::require_size(name, "weights", batch.weights.size(), "policy", batch.size());
        }
        kto_reference_point next = *this;
        for (::std::size_t i = 0; i < batch.size(); ++i) {
            if (batch.has_weights) {
                auto const w = static_cast<C>(batch.weights[i]);
                if (w <= 0 && w >= 0) continue;
            }
            auto const policy = static_cast<C>(batch.policy[i]);
            auto const reference = static_cast<C>(batch.reference[i]);
            if (!math::is_finite(policy)) {
                detail::throw_bad_element(name, "policy", i, policy, "finite");
            }
            if (!math::is_finite(reference)) {
                detail::throw_bad_element(name, "reference", i, reference, "finite");
            }
            next.sum_ += static_cast<double>(policy) - static_cast<double>(reference);
            next.count_ += 1;
        }
        *this = next;
    }

    /// What another micro-batch or rank has added.
    kto_reference_point& operator+=(kto_reference_point const& other) {
        sum_ += other.sum_;
        count_ += other.count_;
        return *this;
    }

    /// Completions added, and the sum of their log-ratios: what is reduced over ranks.
    double count() const { return count_; }
    double sum() const { return sum_; }

    /// From reduced sums.
    static kto_reference_point from(double sum, double count) {
        char const* const name = "loss::kto_reference_point::from";
        detail::require(math::is_finite(sum), name, "sum", sum, "finite");
        detail::require(math::is_finite(count) && count >= 0, name, "count", count,
                        "finite and at least 0");
        kto_reference_point out;
        out.sum_ = sum;
        out.count_ = count;
        return out;
    }

    /// The mean log-ratio, before the clamp; 0 with nothing added.
    double mean() const { return count_ > 0 ? sum_ / count_ : 0.0; }

    /// z0.
    double value() const { return math::max(0.0, mean()); }

private:
    double sum_ = 0;
    double count_ = 0;
};

}  // namespace prefer::loss
