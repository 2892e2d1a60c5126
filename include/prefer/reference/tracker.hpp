// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/state.hpp>
#include <prefer/errors.hpp>
#include <prefer/reference/move.hpp>
#include <prefer/reference/parameters.hpp>

namespace prefer::reference {

/// How a tracker moves, besides its rule.
struct tracker_options {
    reference::rounding rounding = reference::rounding::nearest;  ///< of references of 16 bits
    ::std::uint64_t seed = 0;                                     ///< of stochastic rounding
    bool any_type = false;     ///< policy and reference may have other element types
    bool before_step = false;  ///< moves before the optimiser's step: the policy it started from
};

/// What the last call did.
struct tracker_report {
    ::std::uint64_t step = 0;  ///< of the optimiser, from 1
    double rate = 0;           ///< the policy's share; 0 where nothing moved
    moved what;                ///< of the reference
};

/// Lets the reference follow the policy: counts the optimiser's steps, and moves the reference in
/// those in which its rule (`soft`, `hard`, `frozen`, `scheduled`, `on_signal`) says so.
///
///     reference += rate · (policy - reference)
///
/// Call it once after each step of the optimiser, not of each micro-batch. Steps count from 1, so
/// the first sync of a rule with period τ is after step τ, and there is one. With `before_step` it
/// is called before each step instead, by its other name; then rate 1 leaves the reference at the
/// weights that the step began with.
///
/// Computed in float, or in double where one side is; rate 1 copies the bits of equal types. In a
/// reference of 16 bits, small rates are lost by rounding to nearest: `stuck` counts the elements
/// that differ from the policy's and did not change. Stochastic rounding keeps their mean; a float
/// shadow (the third argument) keeps all of it: the shadow moves, and the reference is its rounded
/// copy.
///
/// Errors, before anything moves, and before the step counts: `shape_error` for sets that differ in
/// count, names, order, sizes, slices or element types; `value_error` for a reference that shares
/// memory with the policy or itself, a rate outside [0, 1], a call by the wrong name. Each rank of
/// a sharded model calls it on its slices; nothing is communicated.
/// O(elements) in a step that moves, one pass; allocates a list of tasks. Independent of the number
/// of threads and of how tensors are sliced. `save` and `load` between any two steps.
/// Source: arXiv:2404.09656, section 3.2.
template <class Rule>
class tracker {
public:
    explicit tracker(Rule rule, tracker_options options = {}) : rule_(rule), options_(options) {
        rule_.validate();
    }

    /// True where it moved the reference. Sets may also be single tensors.
    template <class Policy, class Reference>
        requires(!backend_like<Policy>)
    bool after_step(Policy const& policy, Reference&& reference) {
        return after_step(backend::plain{}, policy, reference);
    }
    template <backend_like Backend, class Policy, class Reference>
    bool after_step(Backend const& on, Policy const& policy, Reference&& reference) {
        require_call("after_step", false);
        return step(on, as_policy(policy), as_reference(reference), rate_now());
    }

    /// With the number that the rule asks for.
    template <class Policy, class Reference>
        requires(!backend_like<Policy>)
    bool after_step(Policy const& policy, Reference&& reference, double signal) {
        return after_step(backend::plain{}, policy, reference, signal);
    }
    template <backend_like Backend, class Policy, class Reference>
    bool after_step(Backend const& on, Policy const& policy, Reference&& reference, double signal) {
        require_call("after_step", false);
        return step(on, as_policy(policy), as_reference(reference),
                    rule_.rate(report_.step + 1 - last_move_, signal));
    }

    /// With a shadow of the reference in float or double: it moves, and the reference is rounded
    /// from it.
    bool after_step_with_shadow(policy_parameters const& policy, reference_parameters const& shadow,
                                reference_parameters const& reference) {
        return after_step_with_shadow(backend::plain{}, policy, shadow, reference);
    }
    template <backend_like Backend>
    bool after_step_with_shadow(Backend const& on, policy_parameters const& policy,
                                reference_parameters const& shadow,
                                reference_parameters const& reference) {
        require_call("after_step_with_shadow", false);
        detail::require_same_parameters(name, "policy", policy, "shadow", shadow, true);
        detail::require_same_parameters(name, "policy", policy, "reference", reference, true);
        detail::require_wide(name, shadow);
        ::std::vector<detail::memory_range> ranges;
        detail::add_ranges(ranges, policy);
        detail::add_ranges(ranges, shadow);
        detail::add_ranges(ranges, reference);
        detail::require_no_alias(name, ranges);
        double const rate = rate_now();
        begin(rate);
        if (!(rate > 0)) return false;
        detail::move_all(on, policy, shadow, how(rate));
        auto const copied = detail::move_all(on, shadow, reference, how(1));
        finish({.elements = copied.elements, .stuck = 0});
        return true;
    }

    /// Before the optimiser's step, of a tracker that was made so.
    template <class Policy, class Reference>
        requires(!backend_like<Policy>)
    bool before_step(Policy const& policy, Reference&& reference) {
        return before_step(backend::plain{}, policy, reference);
    }
    template <backend_like Backend, class Policy, class Reference>
    bool before_step(Backend const& on, Policy const& policy, Reference&& reference) {
        require_call("before_step", true);
        return step(on, as_policy(policy), as_reference(reference), rate_now());
    }

    Rule const& rule() const { return rule_; }

    /// Optimiser steps so far.
    ::std::uint64_t steps() const { return report_.step; }

    /// Moves so far.
    ::std::uint64_t updates() const { return updates_; }

    /// What the last call did.
    tracker_report const& last() const { return report_; }

    void save(state_writer& out, ::std::string const& key) const {
        out.put(key + ".rule", rule_.options());
        out.put(key + ".options", options());
        out.put(key + ".counts",
                ::std::vector<::std::uint64_t>{report_.step, updates_, last_move_,
                                               report_.what.elements, report_.what.stuck});
        out.put(key + ".rate", report_.rate);
    }

    /// Goes on where the saved tracker stood. Throws `state_error`, and changes nothing, where that
    /// had another rule or other options.
    void load(state_reader& in, ::std::string const& key) {
        ::std::vector<double> rule;
        ::std::vector<::std::uint64_t> saved;
        ::std::vector<::std::uint64_t> counts;
        double rate = 0;
        in.get(key + ".rule", rule);
        in.get(key + ".options", saved);
        in.get(key + ".counts", counts);
        in.get(key + ".rate", rate);
        if (rule != rule_.options() || saved != options()) {
            throw state_error("prefer::reference::tracker::load: the saved tracker has another "
                              "rule or other options");
        }
        if (counts.size() != 5 || counts[1] > counts[0] || counts[2] > counts[0] ||
            !(rate >= 0 && rate <= 1)) {
            throw state_error("prefer::reference::tracker::load: the saved numbers do not fit "
                              "together");
        }
        report_ = {
            .step = counts[0], .rate = rate, .what = {.elements = counts[3], .stuck = counts[4]}};
        updates_ = counts[1];
        last_move_ = counts[2];
    }

private:
    static constexpr char const* name = "reference::tracker";

    static policy_parameters const& as_policy(policy_parameters const& set) { return set; }
    template <class Tensor>
        requires(!::std::same_as<Tensor, policy_parameters>)
    static policy_parameters as_policy(Tensor const& tensor) {
        policy_parameters set;
        set.add("", tensor);
        return set;
    }
    static reference_parameters const& as_reference(reference_parameters const& set) { return set; }
    template <class Tensor>
        requires(!::std::same_as<::std::remove_const_t<Tensor>, reference_parameters>)
    static reference_parameters as_reference(Tensor& tensor) {
        reference_parameters set;
        set.add("", tensor);
        return set;
    }

    void require_call(char const* called, bool before) const {
        if (options_.before_step != before) {
            throw value_error(detail::message("prefer::", name, "::", called, ": this tracker ",
                                              before ? "moves after" : "moves before",
                                              " the optimiser's step"));
        }
    }

    double rate_now() const { return rule_.rate(report_.step + 1); }

    detail::move_options how(double rate) const {
        return {rate, options_.rounding, options_.seed, updates_};
    }

    template <class Backend>
    bool step(Backend const& on, policy_parameters const& policy,
              reference_parameters const& reference, double rate) {
        detail::require_same_parameters(name, "policy", policy, "reference", reference,
                                        options_.any_type);
        ::std::vector<detail::memory_range> ranges;
        detail::add_ranges(ranges, policy);
        detail::add_ranges(ranges, reference);
        detail::require_no_alias(name, ranges);
        begin(rate);
        if (!(rate > 0)) return false;
        finish(detail::move_all(on, policy, reference, how(rate)));
        return true;
    }

    void begin(double rate) { report_ = {.step = report_.step + 1, .rate = rate, .what = {}}; }
    void finish(moved const& what) {
        report_.what = what;
        last_move_ = report_.step;
        ++updates_;
    }

    ::std::vector<::std::uint64_t> options() const {
        return {static_cast<::std::uint64_t>(options_.rounding), options_.seed,
                options_.any_type ? 1U : 0U, options_.before_step ? 1U : 0U};
    }

    Rule rule_;
    tracker_options options_;
    tracker_report report_;
    ::std::uint64_t updates_ = 0;
    ::std::uint64_t last_move_ = 0;
};

}  // namespace prefer::reference
