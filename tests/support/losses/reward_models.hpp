// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The losses of reward and preference models on pairs: a response's `policy` is the model's score.

#include "support/losses/facts.hpp"

#include <prefer/loss/bradley_terry.hpp>
#include <prefer/loss/davidson.hpp>
#include <prefer/loss/preference_model.hpp>
#include <prefer/loss/rao_kupper.hpp>

#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

using reward_models_losses =
    std::tuple<loss::bradley_terry, loss::davidson, loss::rao_kupper, loss::preference_model>;

namespace closed_form {

/// `p` with several labels and offsets.
inline std::vector<pair<double>> with_labels(pair<double> p, std::vector<double> const& offsets) {
    std::vector<pair<double>> all;
    for (double const label : {1.0, 0.75, 0.5, 0.125, 0.0}) {
        for (double const offset : offsets) {
            p.label = label;
            p.offset = offset;
            all.push_back(p);
        }
    }
    return all;
}

inline real score_difference(pair<real> const& p) {
    return p.chosen.policy - p.rejected.policy;
}

/// -log P(outcome) and its slope in the difference of the scores.
struct outcome {
    real loss;
    real slope;
};

/// A label is a mixture of the two nearest of loss (0), tie (1/2) and win (1).
inline exact_gradient mixed(real label, outcome const& lost, outcome const& tie,
                            outcome const& won) {
    bool const upper = label > 0.5L;
    outcome const& near = upper ? won : lost;
    real const share = upper ? 2 * label - 1 : 1 - 2 * label;
    real const slope = share * near.slope + (1 - share) * tie.slope;
    return {share * near.loss + (1 - share) * tie.loss, slope, -slope};
}

}  // namespace closed_form

template <>
struct loss_facts<loss::bradley_terry> {
    using L = loss::bradley_terry;
    static char const* name() { return "bradley_terry"; }
    static char const* formula() {
        return "`q·sp(-m) + (1-q)·sp(m) + c·(rw + rl)²`, `m = rw - rl - offset`, `q` by label and "
               "ε";
    }
    static char const* source() { return "Bradley, Terry 1952; 2405.07863"; }
    static char const* at_zero_text() { return "log 2"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const& l) {
        return {unbounded, l.label_smoothing > 0 || l.center > 0 ? unbounded : 0};
    }
    static std::vector<L> instances() { return {{}, {0.1, 0}, {0, 0.01}, {0.25, 0.5}}; }
    static bool monotone(L const&) { return false; }  // by the labels
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<pair<double>> annotated(pair<double> const& p) {
        return closed_form::with_labels(p, {0.0, 0.5, -3.25});
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const e = wide(l.label_smoothing);
        real const q = (1 - e) * p.label + e * (1 - p.label);
        real const rest = (1 - e) * (1 - p.label) + e * p.label;
        real const m = score_difference(p) - p.offset;
        real const sum = p.chosen.policy + p.rejected.policy;
        real const c = wide(l.center);
        real const slope = rest * sigmoid(m) - q * sigmoid(-m);
        return {q * minus_log_sigmoid(m) + rest * minus_log_sigmoid(-m) + c * sum * sum,
                slope + 2 * c * sum, -slope + 2 * c * sum};
    }
};

template <>
struct loss_facts<loss::davidson> {
    using L = loss::davidson;
    static char const* name() { return "davidson"; }
    static char const* formula() {
        return "`-log P`, of win, tie and loss as `e^rw : ν·e^((rw+rl)/2) : e^rl`";
    }
    static char const* source() { return "Davidson 1970"; }
    static char const* at_zero_text() { return "log(2 + ν)"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {0.125}, {4.5}, {1e-6}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<pair<double>> annotated(pair<double> const& p) {
        return closed_form::with_labels(p, {0.0});
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const nu = wide(l.nu);
        real const half = std::exp(score_difference(p) / 2);
        real const won = 1 / (half * half) + nu / half;
        real const lost = half * half + nu * half;
        real const apart = half + 1 / half;
        return mixed(p.label, {std::log1p(lost), (half * half + nu * half / 2) / (1 + lost)},
                     {std::log1p(apart / nu), (half - 1 / half) / 2 / (nu + apart)},
                     {std::log1p(won), -(1 / (half * half) + nu / half / 2) / (1 + won)});
    }
};

template <>
struct loss_facts<loss::rao_kupper> {
    using L = loss::rao_kupper;
    static char const* name() { return "rao_kupper"; }
    static char const* formula() {
        return "`-log P`, win `σ(rw - rl - log θ)`, loss `σ(rl - rw - log θ)`, tie the rest";
    }
    static char const* source() { return "Rao, Kupper 1967"; }
    static char const* at_zero_text() { return "log(1 + θ)"; }
    static constexpr bool cancels = true;
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) { return {unbounded, 0}; }
    static std::vector<L> instances() { return {{}, {1.0625}, {5.5}, {1.000001}}; }
    static bool monotone(L const&) { return false; }
    static std::vector<double> corners(L const&) { return {}; }
    static std::vector<pair<double>> annotated(pair<double> const& p) {
        return closed_form::with_labels(p, {0.0});
    }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const& l, pair<long double> const& p) {
        using namespace closed_form;
        real const theta = wide(l.theta);
        real const won = theta * std::exp(-score_difference(p));
        real const lost = theta * std::exp(score_difference(p));
        outcome const win{std::log1p(won), -won / (1 + won)};
        outcome const loss{std::log1p(lost), lost / (1 + lost)};
        return mixed(
            p.label, loss,
            {win.loss + loss.loss - std::log((theta - 1) * (theta + 1)), win.slope + loss.slope},
            win);
    }
};

template <>
struct loss_facts<loss::preference_model> {
    using L = loss::preference_model;
    static char const* name() { return "preference_model"; }
    static char const* formula() {
        return "`(sp(-a) + sp(b))/2`, logits of both orders of presentation";
    }
    static char const* source() { return "2405.08448 (5)"; }
    static char const* at_zero_text() { return "log 2 for logits 0"; }
    static bool convex(L const&) { return true; }
    static limits at_infinity(L const&) {
        return {unbounded, closed_form::minus_log_sigmoid(-20.5L) / 2};
    }
    static std::vector<L> instances() { return {L{}}; }
    static bool monotone(L const&) { return true; }
    static std::vector<double> corners(L const&) { return {}; }
    static long double at_zero(L const& l, pair<long double> const& p) {
        return closed_form(l, p).loss;
    }
    static exact_gradient closed_form(L const&, pair<long double> const& p) {
        using namespace closed_form;
        real const a = p.chosen.policy;
        real const b = p.rejected.policy;
        return {(minus_log_sigmoid(a) + minus_log_sigmoid(-b)) / 2, -sigmoid(-a) / 2,
                sigmoid(b) / 2};
    }
};

}  // namespace prefer::test
