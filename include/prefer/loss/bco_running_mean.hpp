// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <prefer/core/element.hpp>
#include <prefer/core/example_batch.hpp>
#include <prefer/core/state.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/bco.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// The shift of `bco`: the cumulative mean of the rewards of all examples seen, of both kinds
/// together, with their variance.
///
/// Not a moving average: every example of the run has the same weight. A training step has two
/// stages: `add` all micro-batches of the step (and, over ranks, `+=` what each has added), then
/// set `bco::shift` to `mean()` and evaluate the micro-batches with that one shift. The current
/// batch is included before it is used, as in TRL; but TRL updates between the micro-batches of one
/// step, so that its step depends on the split, and this one does not. Evaluation never moves it,
/// since only `add` does.
///
/// `add` takes rewards one by one (B. Welford 1962), so a split into micro-batches changes no bit;
/// `+=` is the update of T. Chan et al. 1979. Both keep the mean to a few ULP of the largest
/// reward. `add` throws `shape_error` or `value_error` for what `evaluate_examples` refuses, and
/// adds nothing then. No allocation. Saved and restored exactly by `save` and `load`.
class bco_running_mean {
public:
    /// One reward β·(log π - log π_ref).
    void add(double reward) {
        detail::require(math::is_finite(reward), "loss::bco_running_mean::add", "reward", reward,
                        "finite");
        count_ += 1;
        double const off = reward - mean_;
        mean_ += off / count_;
        squares_ += off * (reward - mean_);
    }

    /// The rewards of all examples of a micro-batch, whatever their labels; needs a reference.
    /// Examples of weight 0 are not read; other weights do not matter.
    template <class T, class Length, class Label>
    void add(bco const& loss, example_batch<T, Length, Label> const& batch) {
        using C = compute_t<T>;
        char const* const name = "loss::bco_running_mean::add";
        loss.validate();
        if (!batch.has_reference) {
            throw value_error(detail::message(
                "prefer::", name, ": the reference's log-probs are needed, but there are none"));
        }
        detail::require_size(name, "reference", batch.reference.size(), "policy", batch.size());
        if (batch.has_weights) {
            detail::require_size(name, "weights", batch.weights.size(), "policy", batch.size());
        }
        bco_running_mean next = *this;
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
            next.add(loss.beta * (static_cast<double>(policy) - static_cast<double>(reference)));
        }
        *this = next;
    }

    /// What another rank has added.
    bco_running_mean& operator+=(bco_running_mean const& other) {
        if (!(other.count_ > 0)) return *this;
        double const total = count_ + other.count_;
        double const off = other.mean_ - mean_;
        squares_ += other.squares_ + off * off * (count_ / total) * other.count_;
        mean_ += off * (other.count_ / total);
        count_ = total;
        return *this;
    }

    /// Rewards added.
    double count() const { return count_; }

    /// Their mean, δ; 0 with nothing added.
    double mean() const { return mean_; }

    /// Their unbiased variance, Σ (x - mean)² / (n - 1); 0 with fewer than two.
    double variance() const { return count_ > 1 ? squares_ / (count_ - 1) : 0.0; }

    double standard_deviation() const { return ::std::sqrt(variance()); }

    /// Everything there is to it: count, mean, Σ (x - mean)².
    ::std::array<double, 3> state() const { return {count_, mean_, squares_}; }

    /// The object with this state; throws `value_error` for numbers that are none.
    static bco_running_mean from(::std::array<double, 3> const& state) {
        char const* const name = "loss::bco_running_mean::from";
        using ::prefer::detail::require;
        require(math::is_finite(state[0]) && state[0] >= 0, name, "count", state[0],
                "finite and at least 0");
        require(math::is_finite(state[1]), name, "mean", state[1], "finite");
        require(math::is_finite(state[2]) && state[2] >= 0, name, "squares", state[2],
                "finite and at least 0");
        bco_running_mean out;
        out.count_ = state[0];
        out.mean_ = state[1];
        out.squares_ = state[2];
        return out;
    }

private:
    double count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

inline void save(state_writer& out, ::std::string_view name, bco_running_mean const& x) {
    out.put(name, x.state());
}

inline void load(state_reader& in, ::std::string_view name, bco_running_mean& x) {
    ::std::array<double, 3> state{};
    in.get(name, as_vector(state));
    x = bco_running_mean::from(state);
}

}  // namespace prefer::loss
