// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The pairwise losses that need no reference.

#include "support/losses/facts.hpp"

#include <prefer/loss/alpha_po.hpp>
#include <prefer/loss/cpo.hpp>
#include <prefer/loss/orpo.hpp>
#include <prefer/loss/simpo.hpp>
#include <prefer/loss/slic.hpp>
#include <prefer/loss/tpo.hpp>

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

namespace prefer::test {

using reference_free_losses =
    std::tuple<loss::slic, loss::cpo, loss::simpo, loss::alpha_po, loss::orpo, loss::tpo>;

namespace closed_form {

/// -(1 - ε)·log σ(u) - ε·log σ(-u), and its gradient where du/d(log π) are these.
inline exact_gradient smoothed(real u, real epsilon, real du_chosen, real du_rejected) {
    real const slope = epsilon * sigmoid(u) - (1 - epsilon) * sigmoid(-u);
    return {(1 - epsilon) * minus_log_sigmoid(u) + epsilon * minus_log_sigmoid(-u),
            slope * du_chosen, slope * du_rejected};
}

/// The number that log-probs are divided by.
inline real count(response<real> const& r, log_probs of) {
    return of == log_probs::averaged ? r.length : 1;
}

}  // namespace closed_form

template <>
struct loss_facts<loss::slic> {
    using L = loss::slic;
    static char const* name() { return "slic"; }
    static char const* formula() { return "`max(0, δ - lw + ll) - λ·lw`"; }
    static char const* source() { return "SLiC-HF 2023; 2309.06657 (1)"; }
    static char const* at_zero_text() { return "δ - λ·lw"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        long double const nll =
            closed_form::wide(l.nll_weight) * 20.5L / (l.nll_of == log_probs::averaged ? 4 : 1);
        return {unbounded, nll};
    }
    static std::vector<L> instances() {
        return {{},
                {0.0, 0.0, log_probs::summed},
                {8.0, 0.5, log_probs::averaged},
                {1.0, 2.0, log_probs::summed}};
    }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const& l) { return {l.margin}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        using closed_form::wide;
        long double const n = l.nll_of == log_probs::averaged ? p.chosen.length : 1;
        return wide(l.margin) - wide(l.nll_weight) * p.chosen.policy / n;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const n = l.nll_of == log_probs::averaged ? p.chosen.length : 1;
        real const gap = wide(l.margin) - (p.chosen.policy - p.rejected.policy);
        bool const active = gap > 0;
        real const weight = wide(l.nll_weight);
        return {(active ? gap : 0) - weight * p.chosen.policy / n,
                -(active ? 1.0L : 0.0L) - weight / n, active ? 1.0L : 0.0L};
    }
};

template <>
struct loss_facts<loss::cpo> {
    using L = loss::cpo;
    static char const* name() { return "cpo"; }
    static char const* formula() { return "`sp(-z) + ε·z - λ·lw`, `z = β·(lw - ll)`"; }
    static char const* source() { return "Xu 2024 (CPO)"; }
    static char const* at_zero_text() { return "log 2 - λ·lw"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        using namespace closed_form;
        real const nll = wide(l.nll_weight) * 20.5L / (l.nll_of == log_probs::averaged ? 4 : 1);
        return {unbounded, l.label_smoothing > 0 ? unbounded : nll};
    }
    static std::vector<L> instances() {
        return {{},
                {0.1, 0.1, 0.0, log_probs::summed},
                {2.5, 0.0, 0.25, log_probs::averaged},
                {0.5, 0.4, 1.0, log_probs::summed}};
    }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        return std::log(2.0L) - wide(l.nll_weight) * p.chosen.policy / count(p.chosen, l.nll_of);
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const nll = wide(l.nll_weight) / count(p.chosen, l.nll_of);
        auto y = smoothed(beta * (p.chosen.policy - p.rejected.policy), wide(l.label_smoothing),
                          beta, -beta);
        y.loss -= nll * p.chosen.policy;
        y.d_chosen -= nll;
        return y;
    }
};

template <>
struct loss_facts<loss::simpo> {
    using L = loss::simpo;
    using G = loss::simpo_gamma;
    static char const* name() { return "simpo"; }
    static char const* formula() {
        return "`sp(-u) + ε·u`, `u = β·(l̄w - l̄l - γ/β)`, by γ/β or by γ";
    }
    static char const* source() { return "Meng 2024 (6)"; }
    static char const* at_zero_text() { return "sp(γ)"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 ? unbounded : 0};
    }
    static std::vector<L> instances() {
        return {{},
                {2.5, 1.375, G::absolute, 0},
                {10, 0.3, G::ratio, 0.1},
                {0.1, 0.5, G::absolute, 0.25},
                {2, 0, G::ratio, 0}};
    }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const gamma = wide(l.gamma) * (l.gamma_is == G::ratio ? beta : 1);
        real const n_w = p.chosen.length;
        real const n_l = p.rejected.length;
        return smoothed(beta * (p.chosen.policy / n_w - p.rejected.policy / n_l) - gamma,
                        wide(l.label_smoothing), beta / n_w, -beta / n_l);
    }
};

template <>
struct loss_facts<loss::alpha_po> {
    using L = loss::alpha_po;
    using G = loss::simpo_gamma;
    static char const* name() { return "alpha_po"; }
    static char const* formula() {
        return "`sp(-u) + ε·u`, `u = β·(r(l̄w) - r(l̄l) - γ/β)`, `r(l̄) = (1 - e^(-α·l̄))/α`";
    }
    static char const* source() { return "Gupta 2025"; }
    static char const* at_zero_text() { return "sp(γ)"; }
    static constexpr bool cancels = true;
    static bool convex(L const& l) { return std::fabs(l.alpha) < 1e-25; }
    static limits at_infinity(L const& l) {
        using namespace closed_form;
        bool const smooth = l.label_smoothing > 0;
        if (l.alpha >= 0) return {unbounded, smooth ? unbounded : 0};
        // Rewards are bounded by 1/α.
        auto const at = [&](real chosen, real rejected) {
            return closed_form(l, {{chosen, 0, 4}, {rejected, 0, 4}}).loss;
        };
        return {at(-1e6L, -20.5L), at(-20.5L, -1e6L)};
    }
    static std::vector<L> instances() {
        return {{},
                {0.0, 2.5, 1.375, G::absolute, 0},
                {-0.5, 10, 0.3, G::ratio, 0.1},
                {1.0, 2.5, 0.55, G::ratio, 0.1},
                {1e-9, 2, 0, G::ratio, 0},
                {-0.01, 2, 0.5, G::absolute, 0}};
    }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    /// The reward and its slope, in double: from e^600 on the exponential is its tangent.
    static std::pair<long double, long double> reward(long double alpha, long double mean) {
        if (std::fabs(alpha) < 1e-25L) return {mean, 1};
        long double const x = -alpha * mean;
        if (x <= 600) return {-std::expm1(x) / alpha, std::exp(x)};
        long double const e = std::exp(600.0L);
        return {(1 - e * (1 + (x - 600))) / alpha, e};
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const gamma = wide(l.gamma) * (l.gamma_is == G::ratio ? beta : 1);
        real const n_w = p.chosen.length;
        real const n_l = p.rejected.length;
        auto const [r_w, slope_w] = reward(wide(l.alpha), p.chosen.policy / n_w);
        auto const [r_l, slope_l] = reward(wide(l.alpha), p.rejected.policy / n_l);
        return smoothed(beta * (r_w - r_l) - gamma, wide(l.label_smoothing), beta * slope_w / n_w,
                        -beta * slope_l / n_l);
    }
};

template <>
struct loss_facts<loss::orpo> {
    using L = loss::orpo;
    static char const* name() { return "orpo"; }
    static char const* formula() {
        return "`β·sp(logit(l̄l) - logit(l̄w)) - w·l̄w`, `logit(l̄) = l̄ - log(1 - e^l̄)`; also "
               "`w·lw`";
    }
    static char const* source() { return "Hong 2024 (6), (7)"; }
    static char const* at_zero_text() { return "β·log 2 - w·l̄w"; }
    static bool convex(L const&) { return false; }
    static limits at_infinity(L const& l) {
        using namespace closed_form;
        return {unbounded, wide(l.nll_weight) * 20.5L / (l.nll_of == log_probs::averaged ? 4 : 1)};
    }
    static std::vector<L> instances() {
        return {{},
                {1.0, 0.0, log_probs::averaged},
                {0.25, 0.5, log_probs::summed},
                {2.5, 0.125, log_probs::averaged}};
    }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const n_w = p.chosen.length;
        real const n_l = p.rejected.length;
        real const m_w = p.chosen.policy / n_w;
        real const m_l = p.rejected.policy / n_l;
        real const not_w = -std::expm1(m_w);
        real const not_l = -std::expm1(m_l);
        real const odds = (m_w - m_l) - (std::log(not_w) - std::log(not_l));
        real const nll = wide(l.nll_weight) / count(p.chosen, l.nll_of);
        return {beta * minus_log_sigmoid(odds) - nll * p.chosen.policy,
                -beta * sigmoid(-odds) / not_w / n_w - nll, beta * sigmoid(-odds) / not_l / n_l};
    }
};

template <>
struct loss_facts<loss::tpo> {
    using L = loss::tpo;
    static char const* name() { return "tpo"; }
    static char const* formula() {
        return "`sp(-z) + ε·z`, `z = β·(lw - ll) - γ`; also of averages (TPO-L)";
    }
    static char const* source() { return "Saeidi 2024"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 ? unbounded : 0};
    }
    static std::vector<L> instances() {
        return {{},
                {0.5, 0.5, 0, log_probs::averaged},
                {0.1, 0.25, 0.1, log_probs::summed},
                {2, 0, 0.4, log_probs::averaged}};
    }
    static bool monotone(L const& l) { return l.label_smoothing <= 0; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const n_w = count(p.chosen, l.margin_of);
        real const n_l = count(p.rejected, l.margin_of);
        return smoothed(beta * (p.chosen.policy / n_w - p.rejected.policy / n_l) - wide(l.gamma),
                        wide(l.label_smoothing), beta / n_w, -beta / n_l);
    }
};

}  // namespace prefer::test
