// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::detail {

/// The indices of `values` in ascending order; of equal values, the earlier first.
inline ::std::vector<::std::size_t> ascending(::std::vector<double> const& values) {
    ::std::vector<::std::size_t> order(values.size());
    ::std::iota(order.begin(), order.end(), ::std::size_t{0});
    ::std::sort(order.begin(), order.end(), [&](::std::size_t a, ::std::size_t b) {
        return values[a] < values[b] || (values[a] <= values[b] && a < b);
    });
    return order;
}

/// For each of `values`, the one of `others` that has the same rank: sorted apart, the i-th
/// smallest stands beside the i-th smallest.
inline ::std::vector<double> of_equal_rank(::std::vector<double> const& values,
                                           ::std::vector<double> others) {
    ::std::sort(others.begin(), others.end());
    ::std::vector<double> matched(values.size());
    auto const order = ascending(values);
    for (::std::size_t rank = 0; rank < order.size(); ++rank) matched[order[rank]] = others[rank];
    return matched;
}

}  // namespace prefer::detail

namespace prefer::loss {

/// The offsets of `aot`: for each pair, the reference margin of equal rank.
///
/// Over all pairs added, the policy's margins log π(y_w) - log π(y_l) and the reference's margins
/// are sorted apart. The offset of the pair with the i-th smallest policy margin is the i-th
/// smallest reference margin, whichever pair that belongs to. Equal policy margins are ranked in
/// the order in which they were added, so their offsets depend on that order, but the loss of the
/// batch does not.
///
/// A step has two stages: `add` every micro-batch (over ranks: `+=` in one agreed order, which puts
/// the pairs of the other behind one's own), then ask for the `offsets` of each and evaluate it
/// with `pair_batch::with_offsets`. So the loss is that of the whole batch, where trainers sort
/// within each micro-batch; on one pair it is `dpo`.
///
/// ```cpp
/// prefer::loss::aot_quantiles quantiles;
/// auto first = quantiles.add(batch);          // for each micro-batch
/// quantiles.offsets(batch, first, offsets);   // for each micro-batch, when all are added
/// evaluate_pairs(prefer::loss::aot{}, batch.with_offsets(offsets), gradients, options);
/// ```
///
/// Pairs of weight 0 are not read and have no rank; their offset is 0. Margins are kept in double.
/// `add` throws `shape_error` for sizes that differ and `value_error` for a NaN or infinite
/// log-prob or a batch without reference, and adds nothing then. Start a new one for the next step.
/// Source: I. Melnyk et al. 2024, the paired setting.
class aot_quantiles {
public:
    /// Adds the counted pairs of a micro-batch. Returns how many stood there before: its place.
    template <class T, class Length>
    ::std::size_t add(pair_batch<T, Length> const& batch) {
        char const* const name = "loss::aot_quantiles::add";
        check_sizes(name, batch);
        ::std::vector<double> policy, reference;
        for (::std::size_t i = 0; i < batch.size(); ++i) {
            if (!counted(batch, i)) continue;
            policy.push_back(number(name, "policy_chosen", batch.policy_chosen, i) -
                             number(name, "policy_rejected", batch.policy_rejected, i));
            reference.push_back(number(name, "reference_chosen", batch.reference_chosen, i) -
                                number(name, "reference_rejected", batch.reference_rejected, i));
        }
        ::std::size_t const place = size();
        policy_.insert(policy_.end(), policy.begin(), policy.end());
        reference_.insert(reference_.end(), reference.begin(), reference.end());
        return place;
    }

    /// The pairs of another micro-batch or rank, behind these; their places grow by `size()`.
    aot_quantiles& operator+=(aot_quantiles const& other) {
        auto const policy = other.policy_;  // it may be this one
        auto const reference = other.reference_;
        policy_.insert(policy_.end(), policy.begin(), policy.end());
        reference_.insert(reference_.end(), reference.begin(), reference.end());
        return *this;
    }

    /// Pairs added.
    ::std::size_t size() const { return policy_.size(); }

    /// The margins in the order of addition: what is gathered over ranks.
    ::std::vector<double> const& policy_margins() const { return policy_; }
    ::std::vector<double> const& reference_margins() const { return reference_; }

    /// From gathered margins. Throws `shape_error` for sizes that differ, `value_error` for a
    /// margin that is NaN or infinite.
    static aot_quantiles from(::std::vector<double> policy, ::std::vector<double> reference) {
        char const* const name = "loss::aot_quantiles::from";
        detail::require_size(name, "reference", reference.size(), "policy", policy.size());
        for (::std::size_t i = 0; i < policy.size(); ++i) {
            number(name, "policy", vector_view<double const>(policy.data(), policy.size()), i);
            number(name, "reference", vector_view<double const>(reference.data(), policy.size()),
                   i);
        }
        aot_quantiles out;
        out.policy_ = ::std::move(policy);
        out.reference_ = ::std::move(reference);
        return out;
    }

    /// The offset of every pair added, in the order of addition. O(n log n); allocates three
    /// vectors.
    ::std::vector<double> offsets() const { return detail::of_equal_rank(policy_, reference_); }

    /// The offsets of the micro-batch whose place is `first`, to `out [B]`, written whole, in the
    /// element type of `out`. Throws `value_error` when there are fewer pairs behind that place
    /// than the micro-batch has. Cost as above.
    template <class T, class Length, class Out>
    void offsets(pair_batch<T, Length> const& batch, ::std::size_t first, Out&& out) const {
        char const* const name = "loss::aot_quantiles::offsets";
        auto const to = as_vector(out);
        using X = typename decltype(to)::value_type;
        check_sizes(name, batch);
        detail::require_size(name, "out", to.size(), "policy_chosen", batch.size());
        ::std::size_t pairs = 0;
        for (::std::size_t i = 0; i < batch.size(); ++i) pairs += counted(batch, i) ? 1U : 0U;
        if (first > size() || pairs > size() - first) {
            throw value_error(detail::message("prefer::", name, ": first is ", first, ", but ",
                                              pairs, " pairs from there on are more than the ",
                                              size(), " that were added"));
        }
        auto const all = offsets();
        for (::std::size_t i = 0; i < batch.size(); ++i) {
            double const offset = counted(batch, i) ? all[first++] : 0.0;
            to[i] = static_cast<X>(static_cast<compute_t<X>>(offset));
        }
    }

private:
    template <class T, class Length>
    static void check_sizes(char const* name, pair_batch<T, Length> const& batch) {
        if (!batch.has_reference) {
            throw value_error(detail::message(
                "prefer::", name, ": the reference's log-probs are needed, but there are none"));
        }
        auto const require = [&](auto const& column, char const* argument) {
            detail::require_size(name, argument, column.size(), "policy_chosen", batch.size());
        };
        require(batch.policy_rejected, "policy_rejected");
        require(batch.reference_chosen, "reference_chosen");
        require(batch.reference_rejected, "reference_rejected");
        if (batch.has_weights) require(batch.weights, "weights");
    }

    template <class T, class Length>
    static bool counted(pair_batch<T, Length> const& batch, ::std::size_t i) {
        if (!batch.has_weights) return true;
        auto const w = static_cast<compute_t<T>>(batch.weights[i]);
        return !(w <= 0 && w >= 0);
    }

    template <class T>
    static double number(char const* name, char const* argument, vector_view<T const> values,
                         ::std::size_t i) {
        auto const x = static_cast<compute_t<T>>(values[i]);
        if (!math::is_finite(x)) detail::throw_bad_element(name, argument, i, x, "finite");
        return static_cast<double>(x);
    }

    ::std::vector<double> policy_;
    ::std::vector<double> reference_;
};

}  // namespace prefer::loss
