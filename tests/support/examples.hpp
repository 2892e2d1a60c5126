// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What the tests know of the losses of single responses; the counterpart of losses/facts.hpp. A
/// loss that stands here gets the tests of gradients/example_losses.cpp and golden/.

#include "support/losses/facts.hpp"

#include <prefer/core/pair.hpp>
#include <prefer/loss/aot_unpaired.hpp>
#include <prefer/loss/apo_zero_unpaired.hpp>
#include <prefer/loss/bco.hpp>
#include <prefer/loss/kto.hpp>
#include <prefer/loss/nash_md.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/loss/sft.hpp>

#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

/// The oracle: loss and derivative in closed form, in long double.
using exact_example = loss::example_gradient<long double>;

/// For each loss, the words of its row in a README:
///
///     static char const* name();
///     static char const* formula();
///     static char const* source();
///     static char const* at_zero_text();   // of the defaults, at log-ratio 0 and label 1
///
/// and its invariants:
///
///     static std::vector<L> instances();          // the defaults first; reaches every branch
///     static std::vector<double> labels();        // that it is tried with
///     static exact_example closed_form(L const&, example<long double> const&);
///     static bool monotone(L const&);   // falls for label 1, rises (or stays) for label 0
///     static bool convex(L const&);     // in log π(y)
///
/// Where a part of the formula is held constant, also a function of log π(y) whose plain derivative
/// at `at` is the gradient:
///
///     static double differentiable(L const&, example<double> const& at, double policy);
template <class L>
struct example_facts;

/// Every loss of single responses.
using example_losses = std::tuple<loss::kto, loss::apo_zero_unpaired, loss::bco, loss::sft,
                                  loss::nash_md, loss::aot_unpaired>;

namespace closed_form {

inline real log_ratio(example<real> const& x) {
    return x.completion.policy - x.completion.reference;
}

inline example<real> wide(example<double> const& x) {
    auto const& r = x.completion;
    return {{wide(r.policy), wide(r.reference), wide(r.length), wide(r.score)}, wide(x.label)};
}

/// weight·(1 - σ(z)) for a desirable, weight·σ(z) for an undesirable example.
inline exact_example of_value(real weight, bool desirable, real z, real beta) {
    real const slope = weight * beta * sigmoid(z) * sigmoid(-z);
    return {weight * sigmoid(desirable ? -z : z), desirable ? -slope : slope};
}

}  // namespace closed_form

template <>
struct example_facts<loss::kto> {
    using L = loss::kto;
    static char const* name() { return "kto"; }
    static char const* formula() { return "`w·(1 - σ(±β·(d - z0)))`, + for label 1"; }
    static char const* source() { return "Ethayarajh 2024"; }
    static char const* at_zero_text() { return "1/2"; }
    static std::vector<L> instances() {
        return {{}, {0.1, 1, 2, 0.5}, {2.5, 1.25, 0.75, 3}, {0.01, 0, 1, 0}};
    }
    static std::vector<double> labels() { return {0, 1}; }
    static bool monotone(L const&) { return true; }
    static bool convex(L const&) { return false; }
    static exact_example closed_form(L const& l, example<long double> const& x) {
        using namespace closed_form;
        bool const desirable = x.label > 0.5L;
        real const weight = wide(desirable ? l.desirable_weight : l.undesirable_weight);
        real const z = wide(l.beta) * (log_ratio(x) - wide(l.reference_point));
        return of_value(weight, desirable, z, wide(l.beta));
    }
};

template <>
struct example_facts<loss::apo_zero_unpaired> {
    using L = loss::apo_zero_unpaired;
    static char const* name() { return "apo_zero_unpaired"; }
    static char const* formula() { return "`w·(1 - σ(±β·d))`, + for label 1"; }
    static char const* source() { return "D'Oosterlinck 2024"; }
    static char const* at_zero_text() { return "1/2"; }
    static std::vector<L> instances() { return {{}, {2, 1, 1}, {0.3, 0.5, 4}, {0.01, 1, 0}}; }
    static std::vector<double> labels() { return {0, 1}; }
    static bool monotone(L const&) { return true; }
    static bool convex(L const&) { return false; }
    static exact_example closed_form(L const& l, example<long double> const& x) {
        using namespace closed_form;
        bool const desirable = x.label > 0.5L;
        real const weight = wide(desirable ? l.desirable_weight : l.undesirable_weight);
        return of_value(weight, desirable, wide(l.beta) * log_ratio(x), wide(l.beta));
    }
};

template <>
struct example_facts<loss::bco> {
    using L = loss::bco;
    static char const* name() { return "bco"; }
    static char const* formula() { return "`sp(∓(β·d - δ))`, - for label 1"; }
    static char const* source() { return "Jung 2024"; }
    static char const* at_zero_text() { return "log 2"; }
    static std::vector<L> instances() { return {{}, {0.1, 0.75}, {2, -3}, {0.02, 0.1}}; }
    static std::vector<double> labels() { return {0, 1}; }
    static bool monotone(L const&) { return true; }
    static bool convex(L const&) { return true; }
    static exact_example closed_form(L const& l, example<long double> const& x) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * log_ratio(x) - wide(l.shift);
        if (x.label > 0.5L) return {minus_log_sigmoid(z), -beta * sigmoid(-z)};
        return {minus_log_sigmoid(-z), beta * sigmoid(z)};
    }
};

template <>
struct example_facts<loss::sft> {
    using L = loss::sft;
    static char const* name() { return "sft"; }
    static char const* formula() { return "`-w·label·lw`; also of averages"; }
    static char const* source() { return "Bo2: 2405.08448; RAFT: Dong 2023; ReST: Gulcehre 2023"; }
    static char const* at_zero_text() { return "-lw"; }
    static std::vector<L> instances() {
        return {{}, {0.5, log_probs::summed}, {1, log_probs::averaged}, {3, log_probs::averaged}};
    }
    static std::vector<double> labels() { return {0, 0.25, 1}; }
    static bool monotone(L const&) { return true; }
    static bool convex(L const&) { return true; }
    static exact_example closed_form(L const& l, example<long double> const& x) {
        using namespace closed_form;
        real const n = l.of == log_probs::averaged ? x.completion.length : 1;
        real const slope = wide(l.weight) * x.label / n;
        return {-slope * x.completion.policy, -slope};
    }
};

template <>
struct example_facts<loss::nash_md> {
    using L = loss::nash_md;
    static char const* name() { return "nash_md"; }
    static char const* formula() { return "`(β·sg(d) - (P - 1/2))·lp`, P the label"; }
    static char const* source() { return "Munos 2023"; }
    static char const* at_zero_text() { return "-lp/2"; }
    static constexpr bool cancels = true;
    static std::vector<L> instances() { return {{}, {0}, {2}}; }
    static std::vector<double> labels() { return {0, 0.25, 0.5, 0.875, 1}; }
    static bool monotone(L const& l) { return l.beta <= 0; }
    static bool convex(L const&) { return true; }
    static exact_example closed_form(L const& l, example<long double> const& x) {
        using namespace closed_form;
        real const slope = wide(l.beta) * log_ratio(x) - (x.label - 0.5L);
        return {slope * x.completion.policy, slope};
    }
    static double differentiable(L const& l, example<double> const& at, double policy) {
        example<double> moved = at;
        moved.completion.policy = policy;  // with the reference, so that the log-ratio stays
        moved.completion.reference += policy - at.completion.policy;
        return l(moved);
    }
};

template <>
struct example_facts<loss::aot_unpaired> {
    using L = loss::aot_unpaired;
    static char const* name() { return "aot_unpaired"; }
    static char const* formula() { return "half of `dpo` at `±(d - partner)`, + for label 1"; }
    static char const* source() { return "Melnyk 2024"; }
    static char const* at_zero_text() { return "log(2)/2, at the partner"; }
    static std::vector<L> instances() { return {{}, {2, 0}, {0.1, 0.1}, {0.5, 0.4}}; }
    static std::vector<double> labels() { return {0, 1}; }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static bool convex(L const&) { return true; }
    static exact_example closed_form(L const& l, example<long double> const& x) {
        using namespace closed_form;
        real const sign = x.label > 0.5L ? 1 : -1;
        real const beta = wide(l.beta);
        real const e = wide(l.label_smoothing);
        real const z = sign * beta * (log_ratio(x) - x.completion.score);
        return {((1 - e) * minus_log_sigmoid(z) + e * minus_log_sigmoid(-z)) / 2,
                sign * beta * (e * sigmoid(z) - (1 - e) * sigmoid(-z))};
    }
    static double differentiable(L const& l, example<double> const& at, double policy) {
        example<double> moved = at;
        moved.completion.policy = policy;
        return 2 * l(moved);  // half of the value is held
    }
};

}  // namespace prefer::test
