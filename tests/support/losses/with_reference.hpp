// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The pairwise losses that compare the policy with a reference and see the margin only;
/// absolute.hpp has those that look at each response.

#include "support/losses/facts.hpp"

#include <prefer/loss/aot.hpp>
#include <prefer/loss/discopop.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/exo.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/online_ipo.hpp>
#include <prefer/loss/r_dpo.hpp>
#include <prefer/loss/rebel.hpp>
#include <prefer/loss/reward_aware_rpo.hpp>
#include <prefer/loss/robust_dpo.hpp>
#include <prefer/loss/spin.hpp>

#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

using with_reference_losses =
    std::tuple<loss::dpo, loss::robust_dpo, loss::ipo, loss::hinge_norm, loss::exo, loss::discopop,
               loss::r_dpo, loss::reward_aware_rpo, loss::spin, loss::rebel, loss::online_ipo,
               loss::aot>;

namespace closed_form {

/// KL(p, 1 - p ‖ q, 1 - q) for p = σ(a), by its definition.
inline real divergence(real a, real log_q, real log_not_q) {
    return sigmoid(a) * (-minus_log_sigmoid(a) - log_q) +
           sigmoid(-a) * (-minus_log_sigmoid(-a) - log_not_q);
}

}  // namespace closed_form

template <>
struct loss_facts<loss::dpo> {
    using L = loss::dpo;
    static char const* name() { return "dpo"; }
    static char const* formula() { return "`sp(-z) + ε·z`; also with `z = β·h̄`"; }
    static char const* source() { return "Rafailov 2023 (7); smoothing: Mitchell 2023"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 ? unbounded : 0};
    }
    static std::vector<L> instances() {
        return {{}, {2.5, 0}, {0.1, 0.1}, {0.01, 0.49}, {5, 0.05, log_probs::averaged}};
    }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return std::log(2.0L); }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        bool const mean = l.margin_of == log_probs::averaged;
        real const n_w = mean ? p.chosen.length : 1;
        real const n_l = mean ? p.rejected.length : 1;
        real const z = beta * ((p.chosen.policy - p.chosen.reference) / n_w -
                               (p.rejected.policy - p.rejected.reference) / n_l);
        real const e = wide(l.label_smoothing);
        real const slope = e * sigmoid(z) - (1 - e) * sigmoid(-z);
        return {(1 - e) * minus_log_sigmoid(z) + e * minus_log_sigmoid(-z), beta * slope / n_w,
                -beta * slope / n_l};
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

template <>
struct loss_facts<loss::exo> {
    using L = loss::exo;
    static char const* name() { return "exo"; }
    static char const* formula() { return "`KL(σ(z), σ(-z) ‖ 1-ε, ε)`"; }
    static char const* source() { return "Ji 2024"; }
    static char const* at_zero_text() { return "-log 2 - log(ε(1-ε))/2"; }
    static constexpr bool cancels = true;  // at the minimum
    static bool convex(L const&) { return false; }
    static limits at_infinity(L const& l) {
        long double const e = closed_form::wide(l.label_smoothing);
        return {-std::log(e), -std::log1p(-e)};
    }
    static std::vector<L> instances() { return {{}, {0.1, 0.1}, {0.25, 0.4}, {2.5, 1e-8}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const&) {
        long double const e = closed_form::wide(l.label_smoothing);
        return -std::log(2.0L) - std::log(e * (1 - e)) / 2;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * margin(p);
        real const e = wide(l.label_smoothing);
        return of_margin(divergence(z, std::log1p(-e), std::log(e)),
                         sigmoid(z) * sigmoid(-z) * (z - std::log((1 - e) / e)), beta);
    }
};

template <>
struct loss_facts<loss::discopop> {
    using L = loss::discopop;
    static char const* name() { return "discopop"; }
    static char const* formula() { return "`(1-m)·sp(-z) + m·e^(-z)`, `m = σ(z/τ)`"; }
    static char const* source() { return "Lu 2024"; }
    static char const* at_zero_text() { return "(1 + log 2)/2"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return false; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {0.5, 0.05}, {0.25, 0.5}, {0.1, 1}}; }
    static bool monotone(L const& l) { return l.tau >= 0.5; }
    /// Between its two branches the loss rises: positive slope at margin 0.
    static bool rises_at_zero(L const& l) { return l.tau < 0.1; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) {
        return (1 + std::log(2.0L)) / 2;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const tau = wide(l.tau);
        real const z = beta * margin(p);
        real const m = sigmoid(z / tau);
        real const rest = sigmoid(-z / tau);
        real const exponential = std::exp(-z);
        real const logistic = minus_log_sigmoid(z);
        return of_margin(
            rest * logistic + m * exponential,
            m * rest / tau * (exponential - logistic) - rest * sigmoid(-z) - m * exponential, beta);
    }
};

template <>
struct loss_facts<loss::r_dpo> {
    using L = loss::r_dpo;
    static char const* name() { return "r_dpo"; }
    static char const* reads_text() { return "sums, reference, lengths"; }
    static char const* formula() { return "`sp(-z')`, `z' = z + α·(len_w - len_l)`"; }
    static char const* source() { return "Park 2024"; }
    static char const* at_zero_text() { return "sp(-α·(len_w - len_l))"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {0.5, 0.25}, {0.02, 0}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        return minus_log_sigmoid(wide(l.length_penalty) * (p.chosen.length - p.rejected.length));
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z =
            beta * margin(p) + wide(l.length_penalty) * (p.chosen.length - p.rejected.length);
        return of_margin(minus_log_sigmoid(z), -sigmoid(-z), beta);
    }
};

template <>
struct loss_facts<loss::reward_aware_rpo> {
    using L = loss::reward_aware_rpo;
    using D = loss::rpo_divergence;
    static char const* name() { return "reward_aware_rpo"; }
    static char const* formula() {
        return "`KL(σ(g) ‖ σ(z))`, `g = scale·(score_w - score_l)`; also `KL(σ(z) ‖ σ(g))`, "
               "`(z - g)²`";
    }
    static char const* source() { return "Nemotron-4 340B 2024; Sun 2025"; }
    static char const* at_zero_text() { return "0 for equal scores"; }
    static constexpr bool cancels = true;  // at the minimum
    static bool convex(L const& l) { return l.divergence != D::forward_kl; }
    static long double goal(L const& l, pair<long double> const& p) {
        return closed_form::wide(l.scale) * (p.chosen.score - p.rejected.score);
    }
    static limits at_infinity(L const& l) {
        using namespace closed_form;
        if (l.divergence != D::forward_kl) return {unbounded, unbounded};
        real const g = goal(l, wide(pair_with_margin(0)));
        return {minus_log_sigmoid(-g), minus_log_sigmoid(g)};
    }
    static std::vector<L> instances() {
        return {{},
                {0.5, 2.0, D::forward_kl},
                {0.1, 0.5, D::squared},
                {2.5, 8.0, D::backward_kl},
                {1.0, 16.0, D::forward_kl}};
    }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * margin(p);
        real const g = goal(l, p);
        if (l.divergence == D::backward_kl) {
            // σ(z) - σ(g), on the side where both are small.
            real const slope = z > 0 && g > 0 ? sigmoid(-g) - sigmoid(-z) : sigmoid(z) - sigmoid(g);
            return of_margin(divergence(g, -minus_log_sigmoid(z), -minus_log_sigmoid(-z)), slope,
                             beta);
        }
        if (l.divergence == D::forward_kl) {
            return of_margin(divergence(z, -minus_log_sigmoid(g), -minus_log_sigmoid(-g)),
                             sigmoid(z) * sigmoid(-z) * (z - g), beta);
        }
        return of_margin((z - g) * (z - g), 2 * (z - g), beta);
    }
};

template <>
struct loss_facts<loss::spin> {
    using L = loss::spin;
    static char const* name() { return "spin"; }
    static char const* formula() { return "`sp(-z)`, rejected by the reference"; }
    static char const* source() { return "Chen 2024"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {2.0}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return std::log(2.0L); }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * margin(p);
        return of_margin(minus_log_sigmoid(z), -sigmoid(-z), beta);
    }
};

template <>
struct loss_facts<loss::rebel> {
    using L = loss::rebel;
    static char const* name() { return "rebel"; }
    static char const* formula() { return "`(h/η - (score_w - score_l))²`"; }
    static char const* source() { return "Gao 2024"; }
    static char const* at_zero_text() { return "(score_w - score_l)²"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, unbounded}; }
    static std::vector<L> instances() { return {{}, {0.25}, {10}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const& p) {
        return (p.chosen.score - p.rejected.score) * (p.chosen.score - p.rejected.score);
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const eta = wide(l.eta);
        real const gap = margin(p) / eta - p.chosen.score + p.rejected.score;
        return {gap * gap, 2 * gap / eta, -2 * gap / eta};
    }
};

template <>
struct loss_facts<loss::online_ipo> {
    using L = loss::online_ipo;
    static char const* name() { return "online_ipo"; }
    static char const* formula() { return "`(h̄ - (label - 1/2)/β)²`; also of `h`"; }
    static char const* source() { return "Calandriello 2024"; }
    static char const* at_zero_text() { return "((label - 1/2)/β)²"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, unbounded}; }
    static std::vector<L> instances() {
        return {{}, {0.1, log_probs::summed}, {0.5, log_probs::averaged}};
    }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<pair<double>> annotated(pair<double> p) {
        std::vector<pair<double>> all;
        for (double const label : {1.0, 0.75, 0.5, 0.0}) {
            p.label = label;
            all.push_back(p);
        }
        return all;
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        long double const aim = (p.label - 0.5L) / closed_form::wide(l.beta);
        return aim * aim;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using closed_form::real;
        bool const mean = l.margin_of == log_probs::averaged;
        real const n_w = mean ? p.chosen.length : 1;
        real const n_l = mean ? p.rejected.length : 1;
        real const h = (p.chosen.policy - p.chosen.reference) / n_w -
                       (p.rejected.policy - p.rejected.reference) / n_l;
        real const gap = h - (p.label - 0.5L) / closed_form::wide(l.beta);
        return {gap * gap, 2 * gap / n_w, -2 * gap / n_l};
    }
};

template <>
struct loss_facts<loss::aot> {
    using L = loss::aot;
    static char const* name() { return "aot"; }
    static char const* formula() { return "`sp(-z) + ε·z`, `z = β·(lw - ll - offset)`"; }
    static char const* source() { return "Melnyk 2024"; }
    static char const* at_zero_text() { return "log 2 for offset 0"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 ? unbounded : 0};
    }
    static std::vector<L> instances() { return {{}, {2.5, 0}, {0.1, 0.1}}; }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<pair<double>> annotated(pair<double> p) {
        std::vector<pair<double>> all;
        for (double const offset : {0.0, 1.5, -20.25}) {
            p.offset = offset;
            all.push_back(p);
        }
        return all;
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const z = beta * (p.chosen.policy - p.rejected.policy - p.offset);
        real const e = wide(l.label_smoothing);
        return of_margin((1 - e) * minus_log_sigmoid(z) + e * minus_log_sigmoid(-z),
                         e * sigmoid(z) - (1 - e) * sigmoid(-z), beta);
    }
};

}  // namespace prefer::test
