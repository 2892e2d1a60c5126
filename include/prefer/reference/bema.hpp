// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/state.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/reference/move.hpp>
#include <prefer/reference/parameters.hpp>

namespace prefer::reference {

/// The constants of `bema`.
struct bema_options {
    double average_power = 0.5;  ///< κ
    double bias_power = 0.2;     ///< η
    double lag = 10;             ///< ρ
    double multiplier = 1;       ///< γ
    ::std::uint64_t every = 400;
};

/// BEMA: an average of the policy whose lag is corrected. Every `every` optimiser steps, with t the
/// number of the step, from 1,
///
///     average   ← average + β_t · (policy - average),     β_t = (ρ + γ t)^-κ
///     reference ← average + α_t · (policy - start),       α_t = (ρ + γ t)^-η
///
/// `start` is the policy as it was when the average began, a copy that the caller keeps; `average`
/// is the caller's too, in float or double, and begins as `start`. The reference may have another
/// element type and is rounded to nearest; it may overshoot the policy, as is meant.
/// Errors, before anything moves and the step counts: as `tracker`; `value_error` for an average
/// that is not in float or double, powers that are not in [0, 1], a negative multiplier, a lag
/// below 1 (rates are at most 1), `every` 0. Two passes; O(elements) in a step that moves.
/// Source: A. Block and C. Zhang, "EMA without the lag: bias-corrected iterate averaging schemes",
/// 2025, with the constants of TRL.
class bema {
public:
    explicit bema(bema_options const& options = {}) : options_(options) {
        auto const& o = options_;
        detail::require(o.average_power >= 0 && o.average_power <= 1, name, "average_power",
                        o.average_power, "in [0, 1]");
        detail::require(o.bias_power >= 0 && o.bias_power <= 1, name, "bias_power", o.bias_power,
                        "in [0, 1]");
        detail::require(math::is_finite(o.lag) && o.lag >= 1, name, "lag", o.lag,
                        "finite and at least 1");
        detail::require(math::is_finite(o.multiplier) && o.multiplier >= 0, name, "multiplier",
                        o.multiplier, "finite and at least 0");
        detail::require(o.every > 0, name, "every", o.every, "at least 1");
    }

    /// True where it moved the reference.
    bool after_step(policy_parameters const& policy, policy_parameters const& start,
                    reference_parameters const& average, reference_parameters const& reference) {
        return after_step(backend::plain{}, policy, start, average, reference);
    }
    template <backend_like Backend>
    bool after_step(Backend const& on, policy_parameters const& policy,
                    policy_parameters const& start, reference_parameters const& average,
                    reference_parameters const& reference) {
        detail::require_same_parameters(name, "policy", policy, "start", start, true);
        detail::require_same_parameters(name, "policy", policy, "average", average, true);
        detail::require_same_parameters(name, "policy", policy, "reference", reference, true);
        detail::require_wide(name, average);
        ::std::vector<detail::memory_range> ranges;
        detail::add_ranges(ranges, policy);
        detail::add_ranges(ranges, start);
        detail::add_ranges(ranges, average);
        detail::add_ranges(ranges, reference);
        detail::require_no_alias(name, ranges);
        ++steps_;
        if (steps_ % options_.every != 0) return false;
        double const t = options_.lag + options_.multiplier * static_cast<double>(steps_);
        detail::move_all(on, policy, average,
                         {::std::pow(t, -options_.average_power), rounding::nearest, 0, 0});
        double const alpha = ::std::pow(t, -options_.bias_power);
        detail::for_each_part(
            on, reference,
            [&](::std::size_t i, ::std::size_t first, ::std::size_t size, ::std::size_t) {
                double now[block], then[block], mean[block];
                for (::std::size_t done = 0; done < size; done += block) {
                    ::std::size_t const from = first + done;
                    ::std::size_t const n = ::std::min(block, size - done);
                    read(policy.tensors()[i].elements, from, n, now);
                    read(start.tensors()[i].elements, from, n, then);
                    read(average.tensors()[i].elements, from, n, mean);
                    for (::std::size_t k = 0; k < n; ++k) {
                        mean[k] += alpha * (now[k] - then[k]);
                    }
                    write(reference.tensors()[i].elements, from, n, mean);
                }
            });
        return true;
    }

    /// Optimiser steps so far.
    ::std::uint64_t steps() const { return steps_; }

    void save(state_writer& out, ::std::string const& key) const {
        out.put(key + ".options", numbers());
        out.put(key + ".steps", steps_);
    }

    /// Goes on where the saved one stood; the average and the start are the caller's to save.
    /// Throws `state_error`, and changes nothing, where that had other options.
    void load(state_reader& in, ::std::string const& key) {
        ::std::vector<double> options;
        ::std::uint64_t steps = 0;
        in.get(key + ".options", options);
        in.get(key + ".steps", steps);
        if (options != numbers()) {
            throw state_error("prefer::reference::bema::load: the saved one has other options");
        }
        steps_ = steps;
    }

private:
    static constexpr char const* name = "reference::bema";
    static constexpr ::std::size_t block = 256;

    template <class View>
    static void read(View const& view, ::std::size_t first, ::std::size_t n, double* to) {
        ::std::visit(
            [&](auto const& v) {
                using T = typename ::std::remove_cvref_t<decltype(v)>::value_type;
                for (::std::size_t k = 0; k < n; ++k) {
                    to[k] = static_cast<double>(static_cast<compute_t<T>>(v[first + k]));
                }
            },
            view);
    }

    static void write(reference_parameters::any_view const& view, ::std::size_t first,
                      ::std::size_t n, double const* from) {
        ::std::visit(
            [&](auto const& v) {
                using T = typename ::std::remove_cvref_t<decltype(v)>::value_type;
                for (::std::size_t k = 0; k < n; ++k) {
                    v[first + k] = static_cast<T>(static_cast<compute_t<T>>(from[k]));
                }
            },
            view);
    }

    ::std::vector<double> numbers() const {
        return {options_.average_power, options_.bias_power, options_.lag, options_.multiplier,
                static_cast<double>(options_.every)};
    }

    bema_options options_;
    ::std::uint64_t steps_ = 0;
};

}  // namespace prefer::reference
