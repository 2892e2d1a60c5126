// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The pairwise losses that compare the policy with a reference, one response at a time: no
/// functions of the margin.

#include "support/losses/facts.hpp"

#include <prefer/loss/apo_down.hpp>
#include <prefer/loss/apo_zero.hpp>
#include <prefer/loss/bco_pair.hpp>
#include <prefer/loss/cal_dpo.hpp>
#include <prefer/loss/dpop.hpp>
#include <prefer/loss/nca.hpp>
#include <prefer/loss/sppo_hard.hpp>

#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

using absolute_losses = std::tuple<loss::nca, loss::bco_pair, loss::sppo_hard, loss::apo_zero,
                                   loss::apo_down, loss::dpop, loss::cal_dpo>;

namespace closed_form {

/// log π - log π_ref.
inline real log_ratio(response<real> const& r) {
    return r.policy - r.reference;
}

}  // namespace closed_form

template <>
struct loss_facts<loss::nca> {
    using L = loss::nca;
    static char const* name() { return "nca"; }
    static char const* formula() { return "`sp(-rw) + sp(rw)/2 + sp(rl)/2`"; }
    static char const* source() { return "Chen 2024"; }
    static char const* at_zero_text() { return "2 log 2"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 1.5L * std::log(2.0L)}; }
    static std::vector<L> instances() { return {{}, {0.5}, {2.0}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return 2 * std::log(2.0L); }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const rw = beta * log_ratio(p.chosen);
        real const rl = beta * log_ratio(p.rejected);
        return {minus_log_sigmoid(rw) + minus_log_sigmoid(-rw) / 2 + minus_log_sigmoid(-rl) / 2,
                beta * (1.5L * sigmoid(rw) - 1), beta * sigmoid(rl) / 2};
    }
};

template <>
struct loss_facts<loss::bco_pair> {
    using L = loss::bco_pair;
    static char const* name() { return "bco_pair"; }
    static char const* formula() { return "`sp(δ - rw) + sp(rl - δ)`"; }
    static char const* source() { return "Jung 2024"; }
    static char const* at_zero_text() { return "2 log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        using namespace closed_form;
        return {unbounded, minus_log_sigmoid(-wide(l.shift))};
    }
    static std::vector<L> instances() { return {{}, {0.1, 1.5}, {0.5, -0.75}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const rw = beta * log_ratio(p.chosen) - wide(l.shift);
        real const rl = beta * log_ratio(p.rejected) - wide(l.shift);
        return {minus_log_sigmoid(rw) + minus_log_sigmoid(-rl), -beta * sigmoid(-rw),
                beta * sigmoid(rl)};
    }
};

template <>
struct loss_facts<loss::sppo_hard> {
    using L = loss::sppo_hard;
    static char const* name() { return "sppo_hard"; }
    static char const* formula() { return "`(dw - 1/(2β))² + (dl + 1/(2β))²`"; }
    static char const* source() { return "Wu 2024"; }
    static char const* at_zero_text() { return "1/(2β²)"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, unbounded}; }
    static std::vector<L> instances() { return {{}, {0.7}, {4.0}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const&) {
        long double const beta = closed_form::wide(l.beta);
        return 1 / (2 * beta * beta);
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const aim = 1 / (2 * wide(l.beta));
        real const w = log_ratio(p.chosen) - aim;
        real const r = log_ratio(p.rejected) + aim;
        return {w * w + r * r, 2 * w, 2 * r};
    }
};

template <>
struct loss_facts<loss::apo_zero> {
    using L = loss::apo_zero;
    static char const* name() { return "apo_zero"; }
    static char const* formula() { return "`1 - σ(rw) + σ(rl)`"; }
    static char const* source() { return "D'Oosterlinck 2024"; }
    static char const* at_zero_text() { return "1"; }
    static bool convex(L const&) { return false; }
    static limits at_infinity(L const&) { return {1.5L, 0.5L}; }
    static std::vector<L> instances() { return {{}, {0.5}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return 1; }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const rw = beta * log_ratio(p.chosen);
        real const rl = beta * log_ratio(p.rejected);
        return {sigmoid(-rw) + sigmoid(rl), -beta * sigmoid(rw) * sigmoid(-rw),
                beta * sigmoid(rl) * sigmoid(-rl)};
    }
};

template <>
struct loss_facts<loss::apo_down> {
    using L = loss::apo_down;
    static char const* name() { return "apo_down"; }
    static char const* formula() { return "`σ(rw) + 1 - σ(z)`"; }
    static char const* source() { return "D'Oosterlinck 2024"; }
    static char const* at_zero_text() { return "1"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return false; }
    static limits at_infinity(L const&) { return {1, 0.5L}; }
    static std::vector<L> instances() { return {{}, {0.5}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const&, pair<long double> const&) { return 1; }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const rw = beta * log_ratio(p.chosen);
        real const z = beta * margin(p);
        real const down = sigmoid(rw) * sigmoid(-rw);
        real const apart = sigmoid(z) * sigmoid(-z);
        return {sigmoid(rw) + sigmoid(-z), beta * (down - apart), beta * apart};
    }
};

template <>
struct loss_facts<loss::dpop> {
    using L = loss::dpop;
    static char const* name() { return "dpop"; }
    static char const* formula() { return "`sp(-z')`, `z' = β·(h - λ·max(0, -dw))`"; }
    static char const* source() { return "Pal 2024 (3)"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {0.1, 0}, {0.5, 0.25}, {0.01, 5}}; }
    static bool monotone(L const&) { return true; }
    /// The corner is at dw = 0, not at a margin; the pairs here keep off it.
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<pair<double>> annotated(pair<double> const& p) {
        std::vector<pair<double>> all;
        if (std::fabs(p.chosen.log_ratio()) > 1) all.push_back(p);
        for (double const dw : {7.25, -7.25}) {
            pair<double> q = p;
            q.chosen.reference = p.chosen.policy - dw;
            q.rejected.reference = p.rejected.policy - dw + p.margin();
            all.push_back(q);
        }
        return all;
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const beta = wide(l.beta);
        real const dw = log_ratio(p.chosen);
        real const factor = dw < 0 ? wide(l.penalty) : 0;
        real const z = beta * (margin(p) + factor * dw);
        real const slope = -beta * sigmoid(-z);
        return {minus_log_sigmoid(z), slope * (1 + factor), -slope};
    }
};

template <>
struct loss_facts<loss::cal_dpo> {
    using L = loss::cal_dpo;
    static char const* name() { return "cal_dpo"; }
    static char const* formula() { return "`sp(-h) + c·[(dw - 1/(2β))² + (dl + 1/(2β))²]`"; }
    static char const* source() { return "Xiao 2024"; }
    static char const* at_zero_text() { return "log 2 + c/(2β²)"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, unbounded}; }
    static std::vector<L> instances() { return {{}, {0.25, 0.5}, {0.002, 0.01}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const&) {
        long double const beta = closed_form::wide(l.beta);
        return std::log(2.0L) + closed_form::wide(l.calibration_weight) / (2 * beta * beta);
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const aim = 1 / (2 * wide(l.beta));
        real const c = wide(l.calibration_weight);
        real const w = log_ratio(p.chosen) - aim;
        real const r = log_ratio(p.rejected) + aim;
        real const h = margin(p);
        return {minus_log_sigmoid(h) + c * (w * w + r * r), -sigmoid(-h) + 2 * c * w,
                sigmoid(-h) + 2 * c * r};
    }
};

}  // namespace prefer::test
