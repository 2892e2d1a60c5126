// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Losses that are made of other losses: some concrete ones stand for each modifier.

#include "support/losses/facts.hpp"
#include "support/losses/with_reference.hpp"

#include <prefer/loss/f_divergence.hpp>
#include <prefer/loss/mixture.hpp>
#include <prefer/loss/with_nll.hpp>
#include <prefer/loss/xpo.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

using dpo_by_jensen_shannon = loss::with_divergence<loss::dpo, loss::divergence::jensen_shannon>;
using ipo_by_alpha = loss::with_divergence<loss::ipo, loss::divergence::alpha>;
using hinge_by_forward_kl = loss::with_divergence<loss::hinge_norm, loss::divergence::forward_kl>;
using dpo_with_nll = loss::with_nll<loss::dpo>;
using dpo_and_hinge = loss::mixture<loss::dpo, loss::hinge_norm>;
using exploratory_dpo = loss::xpo<loss::dpo>;

using modified_losses = std::tuple<dpo_by_jensen_shannon, ipo_by_alpha, hinge_by_forward_kl,
                                   dpo_with_nll, dpo_and_hinge, exploratory_dpo>;

namespace closed_form {

/// A score of f-DPO and its slope, as `with_divergence` documents them.
struct score {
    real value;
    real slope;
};

/// (e^{kd} - 1)/k, continued by its tangent where kd > 64; d for k = 0.
inline score alpha_score(real k, real d) {
    if (std::fabs(k) <= 0) return {d, 1};
    if (k * d <= 64) return {std::expm1(k * d) / k, std::exp(k * d)};
    real const at = 64 / k;
    return {(std::exp(64.0L) - 1) / k + std::exp(64.0L) * (d - at), std::exp(64.0L)};
}

inline score jensen_shannon_score(real d) {
    return {std::log(2.0L) - minus_log_sigmoid(d), sigmoid(-d)};
}

/// The gradient of a loss on scores, by the chain rule.
template <class L, class Score>
exact_gradient of_scores(L const& inner, pair<real> const& p, Score s) {
    score const w = s(p.chosen.log_ratio());
    score const l = s(p.rejected.log_ratio());
    pair<real> q = p;
    q.chosen.policy = w.value;
    q.rejected.policy = l.value;
    q.chosen.reference = 0;
    q.rejected.reference = 0;
    exact_gradient const y = loss_facts<L>::closed_form(inner, q);
    return {y.loss, y.d_chosen * w.slope, y.d_rejected * l.slope};
}

}  // namespace closed_form

template <>
struct loss_facts<dpo_by_jensen_shannon> {
    using L = dpo_by_jensen_shannon;
    static char const* name() { return "with_divergence<dpo, jensen_shannon>"; }
    static char const* formula() { return "`dpo` of `s(dw), s(dl)`, `s(d) = log 2σ(d)`"; }
    static char const* source() { return "2309.16240"; }
    static char const* at_zero_text() { return "log 2"; }
    static bool monotone(L const& l) { return loss_facts<loss::dpo>::monotone(l.loss); }
    static bool convex(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<L> instances() {
        return {{}, {{2.5, 0}, {}}, {{0.1, 0.1}, {}}, {{1.0, 0.25}, {}}};
    }
    static long double at_zero(L const&, pair<long double> const&) { return std::log(2.0L); }
    static limits at_infinity(L const& l) {
        // Above, the rejected falls alone: s(dl) = dl.
        return {unbounded, l.loss.label_smoothing > 0 ? unbounded : 0};
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        return closed_form::of_scores(l.loss, p, closed_form::jensen_shannon_score);
    }
};

template <>
struct loss_facts<ipo_by_alpha> {
    using L = ipo_by_alpha;
    static constexpr bool overflows = true;  // the square of a score of up to e^64 · 1e4, in float
    static constexpr double differences_within = 16;
    static constexpr bool cancels = true;  // (margin - target), of rounded scores
    static char const* name() { return "with_divergence<ipo, alpha>"; }
    static char const* formula() {
        return "`ipo` of `s(dw), s(dl)`, `s(d) = (e^((α-1)d) - 1)/(α-1)`";
    }
    static char const* source() { return "2309.16240"; }
    static char const* at_zero_text() { return "1/(4β²)"; }
    static bool monotone(L const&) { return false; }
    static bool convex(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<L> instances() {
        using target = loss::ipo_target;
        return {{},
                {{0.5, log_probs::summed, target::half_inverse_beta}, {0.75}},
                {{0.5, log_probs::averaged, target::half_inverse_beta}, {1.0}},
                {{4.0, log_probs::summed, target::half_beta}, {0.0}},
                {{0.25, log_probs::summed, target::half_inverse_beta}, {1.0 + 0x1p-40}},
                {{0.5, log_probs::averaged, target::half_inverse_beta}, {1.125}}};
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return loss_facts<loss::ipo>::at_zero(l.loss, p);
    }
    static limits at_infinity(L const& l) {
        if (l.divergence.order < 1.01) return {unbounded, unbounded};
        // s(d) falls to -1/k only; divided by 4 tokens.
        long double const floor = 1 / (closed_form::wide(l.divergence.order) - 1) / 4;
        long double const aim = loss_facts<loss::ipo>::aim(l.loss);
        return {(floor + aim) * (floor + aim), (floor - aim) * (floor - aim)};
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        long double const k = closed_form::wide(l.divergence.order) - 1;
        return closed_form::of_scores(
            l.loss, p, [k](long double d) { return closed_form::alpha_score(k, d); });
    }
};

template <>
struct loss_facts<hinge_by_forward_kl> {
    using L = hinge_by_forward_kl;
    static constexpr double differences_within = 16;
    static char const* name() { return "with_divergence<hinge_norm, forward_kl>"; }
    static char const* formula() { return "`hinge_norm` of `s(dw), s(dl)`, `s(d) = 1 - e^-d`"; }
    static char const* source() { return "2309.16240"; }
    static char const* at_zero_text() { return "1"; }
    static bool monotone(L const&) { return true; }
    static bool convex(L const&) { return false; }
    /// e^h - 1 = 1/β, and a little behind it, since no double is there.
    static std::vector<double> corners(L const& l) { return {std::log1p(1 / l.loss.beta) + 1e-9}; }
    static std::vector<L> instances() { return {{}, {{0.5}, {}}, {{4.0}, {}}}; }
    static long double at_zero(L const&, pair<long double> const&) { return 1; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        return closed_form::of_scores(
            l.loss, p, [](long double d) { return closed_form::alpha_score(-1, d); });
    }
};

template <>
struct loss_facts<dpo_with_nll> {
    using L = dpo_with_nll;
    static char const* name() { return "with_nll<dpo>"; }
    static char const* formula() { return "`dpo - w·l̄w`; also of the sum `lw`"; }
    static char const* source() { return "Pang 2024"; }
    static char const* at_zero_text() { return "log 2 - w·l̄w"; }
    static bool monotone(L const& l) { return loss_facts<loss::dpo>::monotone(l.loss); }
    static bool convex(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<L> instances() {
        return {{},
                {{0.1, 0}, 0.0, log_probs::averaged},
                {{0.5, 0}, 0.25, log_probs::summed},
                {{0.1, 0.1}, 0.001, log_probs::summed}};
    }
    static constexpr bool cancels = true;  // smoothing pulls the chosen down, the NLL up
    static long double tokens(L const& l, pair<long double> const& p) {
        return l.of == log_probs::averaged ? p.chosen.length : 1;
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return std::log(2.0L) - closed_form::wide(l.weight) * p.chosen.policy / tokens(l, p);
    }
    static limits at_infinity(L const& l) {
        long double const tokens_there = l.of == log_probs::averaged ? 4 : 1;
        return {unbounded, l.loss.label_smoothing > 0
                               ? unbounded
                               : closed_form::wide(l.weight) * 20.5L / tokens_there};
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        long double const w = closed_form::wide(l.weight) / tokens(l, p);
        exact_gradient const y = loss_facts<loss::dpo>::closed_form(l.loss, p);
        return {y.loss - w * p.chosen.policy, y.d_chosen - w, y.d_rejected};
    }
};

template <>
struct loss_facts<dpo_and_hinge> {
    using L = dpo_and_hinge;
    static char const* name() { return "mixture<dpo, hinge_norm>"; }
    static char const* formula() { return "`w₁·dpo + w₂·hinge_norm`"; }
    static char const* source() { return "2411.10442"; }
    static char const* at_zero_text() { return "log 2 + 1"; }
    static bool monotone(L const&) { return true; }
    static bool convex(L const&) { return true; }
    static std::vector<double> corners(L const& l) {
        if (l.rest.first.weight <= 0) return {};
        return {1 / l.rest.first.loss.beta};
    }
    static std::vector<L> instances() {
        using loss::dpo;
        using loss::hinge_norm;
        return {{},
                {{dpo{}, 0.75}, {hinge_norm{}, 0.25}},
                {{dpo{.beta = 0.5}, 2}, {hinge_norm{.beta = 0.25}, 0.125}},
                {{dpo{}, 0.5}, {hinge_norm{}, 0}},
                {{dpo{}, 0}, {hinge_norm{}, 3}}};
    }
    static long double at_zero(L const& l, pair<long double> const&) {
        return closed_form::wide(l.first.weight) * std::log(2.0L) +
               closed_form::wide(l.rest.first.weight);
    }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        auto const& hinge = l.rest.first;
        long double const a = closed_form::wide(l.first.weight);
        long double const b = closed_form::wide(hinge.weight);
        exact_gradient const x = loss_facts<loss::dpo>::closed_form(l.first.loss, p);
        exact_gradient const y = loss_facts<loss::hinge_norm>::closed_form(hinge.loss, p);
        return {a * x.loss + b * y.loss, a * x.d_chosen + b * y.d_chosen,
                a * x.d_rejected + b * y.d_rejected};
    }
};

template <>
struct loss_facts<exploratory_dpo> {
    using L = exploratory_dpo;
    static constexpr bool cancels = true;  // the bonus and dpo pull at the chosen from both sides
    static char const* name() { return "xpo<dpo>"; }
    static char const* formula() { return "`dpo + α·(lw or ll: the reference's)`"; }
    static char const* source() { return "2405.21046"; }
    static char const* at_zero_text() { return "log 2 + α·lw"; }
    static bool monotone(L const& l) { return l.alpha <= 0; }
    static bool convex(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<L> instances() { return {{}, {{0.5, 0}, 0.01}, {{0.1, 0}, 0.0}}; }
    static std::vector<pair<double>> annotated(pair<double> const& p) {
        return {{p.chosen, p.rejected, 1.0, 0.0}, {p.chosen, p.rejected, 0.0, 0.0}};
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return std::log(2.0L) + closed_form::wide(l.alpha) * p.chosen.policy;
    }
    static limits at_infinity(L const& l) {
        return {unbounded, -20.5L * closed_form::wide(l.alpha)};
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        long double const a = closed_form::wide(l.alpha);
        bool const chosen = p.label > 0.5L;
        exact_gradient const y = loss_facts<loss::dpo>::closed_form(l.loss, p);
        return {y.loss + a * (chosen ? p.chosen.policy : p.rejected.policy),
                y.d_chosen + (chosen ? a : 0), y.d_rejected + (chosen ? 0 : a)};
    }
};

}  // namespace prefer::test
