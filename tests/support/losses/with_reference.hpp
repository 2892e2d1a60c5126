// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The pairwise losses that compare the policy with a reference.

#include "support/losses/facts.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/robust_dpo.hpp>

#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

using with_reference_losses = std::tuple<loss::dpo, loss::robust_dpo, loss::ipo, loss::hinge_norm>;

template <>
struct loss_facts<loss::dpo> {
    using L = loss::dpo;
    static char const* name() { return "dpo"; }
    static char const* formula() { return "`sp(-z) + ε·z`"; }
    static char const* source() { return "Rafailov 2023 (7); smoothing: Mitchell 2023"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 ? unbounded : 0};
    }
    static std::vector<L> instances() { return {{}, {2.5, 0}, {0.1, 0.1}, {0.01, 0.49}}; }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return std::log(2.0L); }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * margin(p);
        real const e = wide(l.label_smoothing);
        return of_margin((1 - e) * minus_log_sigmoid(z) + e * minus_log_sigmoid(-z),
                         e * sigmoid(z) - (1 - e) * sigmoid(-z), beta);
    }
};

template <>
struct loss_facts<loss::robust_dpo> {
    using L = loss::robust_dpo;
    static char const* name() { return "robust_dpo"; }
    static char const* formula() { return "`sp(-z) - ε/(1-2ε)·z`"; }
    static char const* source() { return "Chowdhury 2024"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 ? -unbounded : 0};
    }
    static std::vector<L> instances() { return {{}, {0.1, 0}, {0.5, 0.25}, {0.02, 0.45}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return std::log(2.0L); }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * margin(p);
        real const e = wide(l.label_smoothing);
        real const bias = 1 - 2 * e;
        // With the two logarithms apart, large z would cancel: -log σ(-z) = z - log σ(z).
        return of_margin(minus_log_sigmoid(z) - e / bias * z,
                         -((1 - e) * sigmoid(-z) + e * sigmoid(z)) / bias, beta);
    }
};

template <>
struct loss_facts<loss::ipo> {
    using L = loss::ipo;
    using target = loss::ipo_target;
    static char const* name() { return "ipo"; }
    static char const* formula() { return "`(h̄ - 1/(2β))²`; also of `h`, and with `β/2`"; }
    static char const* source() { return "Azar 2023 (17); 2405.08448 (1)"; }
    static char const* at_zero_text() { return "1/(4β²)"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, unbounded}; }
    static std::vector<L> instances() {
        return {{},
                {0.1, log_probs::summed, target::half_inverse_beta},
                {0.5, log_probs::averaged, target::half_beta},
                {4.0, log_probs::summed, target::half_beta}};
    }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double aim(L const& l) {
        long double const beta = closed_form::wide(l.beta);
        return l.target == target::half_beta ? beta / 2 : 1 / (2 * beta);
    }
    static long double at_zero(L const& l, pair<long double> const&) { return aim(l) * aim(l); }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using closed_form::real;
        bool const mean = l.margin_of == log_probs::averaged;
        real const n_w = mean ? p.chosen.length : 1;
        real const n_l = mean ? p.rejected.length : 1;
        real const h = (p.chosen.policy - p.chosen.reference) / n_w -
                       (p.rejected.policy - p.rejected.reference) / n_l;
        real const gap = h - aim(l);
        return {gap * gap, 2 * gap / n_w, -2 * gap / n_l};
    }
};

template <>
struct loss_facts<loss::hinge_norm> {
    using L = loss::hinge_norm;
    static char const* name() { return "hinge_norm"; }
    static char const* formula() { return "`max(0, 1 - z)`"; }
    static char const* source() { return "2309.06657; 2411.01493 (12)"; }
    static char const* at_zero_text() { return "1"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {0.5}, {4.0}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const& l) { return {1 / l.beta}; }
    static long double at_zero(L const&, pair<long double> const&) { return 1; }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * margin(p);
        bool const active = z < 1;
        return of_margin(active ? 1 - z : 0, active ? -1 : 0, beta);
    }
};

}  // namespace prefer::test
