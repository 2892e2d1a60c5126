// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The list of pair losses, and what is known of each. A loss that stands here gets the tests of
/// gradients/losses.cpp and golden/losses.cpp; that is all a new one has to do.

#include <prefer/core/pair.hpp>
#include <prefer/loss/loss.hpp>

#include <array>
#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

/// Every pair loss of the library.
using pair_losses =
    std::tuple<loss::dpo, loss::robust_dpo, loss::ipo, loss::hinge_norm, loss::slic>;

/// The oracle: loss and gradient in closed form, in long double.
using exact_gradient = loss::pair_gradient<long double>;

/// For each loss:
///
///     static char const* name();
///     static std::vector<L> instances();          // settings that reach every branch
///     static exact_gradient closed_form(L const&, pair<long double> const&);
///     static bool monotone(L const&);         // falls with the chosen, rises with the rejected
///     static std::vector<double> corners(L const&);   // margins of `pair_with_margin` with a kink
///     static long double at_zero(L const&, pair<long double> const&);  // all log-probs equal
template <class L>
struct loss_facts;

/// A pair with the margin `h`, both of log-ratios and of the policy's log-probs. Lengths are 4 and
/// 4, so that the margin of the averages is h/4. Exact for multiples of 1/64.
inline pair<double> pair_with_margin(double h) {
    return {{-20.5 + h, -20.5, 4}, {-20.5, -20.5, 4}};
}

namespace closed_form {

using real = long double;

inline real wide(double x) {
    return static_cast<real>(x);
}

inline pair<real> wide(pair<double> const& p) {
    auto const each = [](response<double> const& r) {
        return response<real>{wide(r.policy), wide(r.reference), wide(r.length)};
    };
    return {each(p.chosen), each(p.rejected)};
}

inline real sigmoid(real x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

inline real minus_log_sigmoid(real x) {
    return x < 0 ? -x + std::log1p(std::exp(x)) : std::log1p(std::exp(-x));
}

inline real margin(pair<real> const& p) {
    return (p.chosen.policy - p.chosen.reference) - (p.rejected.policy - p.rejected.reference);
}

/// A loss and its slope in z = β·margin, turned into gradients.
inline exact_gradient of_margin(real value, real slope, real beta) {
    return {value, beta * slope, -beta * slope};
}

}  // namespace closed_form

template <>
struct loss_facts<loss::dpo> {
    using L = loss::dpo;
    static char const* name() { return "dpo"; }
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
struct loss_facts<loss::slic> {
    using L = loss::slic;
    static char const* name() { return "slic"; }
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

}  // namespace prefer::test
