// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What the tests know of a pair loss, and helpers to write it down. The losses stand in groups,
/// one header each, all listed in losses.hpp. A loss that stands there gets the tests of
/// gradients/, golden/ and its row in the table of include/prefer/loss/README.md.

#include <prefer/core/pair.hpp>
#include <prefer/loss/pair_loss.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace prefer::test {

/// The oracle: loss and gradient in closed form, in long double.
using exact_gradient = loss::pair_gradient<long double>;

/// For each loss, the words of its row in the README:
///
///     static char const* name();
///     static char const* formula();
///     static char const* source();
///     static char const* reads_text();   // only where lengths are read but nothing is averaged
///
/// and its invariants, which the tests check and the table prints:
///
///     static std::vector<L> instances();          // the defaults first; reaches every branch
///     static exact_gradient closed_form(L const&, pair<long double> const&);
///     static bool monotone(L const&);         // falls with the chosen, rises with the rejected
///     static bool convex(L const&);           // in (log π(y_w), log π(y_l))
///     static std::vector<double> corners(L const&);   // margins of `pair_with_margin` with a kink
///     static char const* at_zero_text();          // of the defaults, as the table prints it
///     static long double at_zero(L const&, pair<long double> const&);  // all log-probs equal
///     static limits at_infinity(L const&);        // along `pair_with_margin`
///
/// Where a loss reads labels or offsets, also the pairs that it is tried on, made from one:
///
///     static std::vector<pair<double>> annotated(pair<double> const&);
template <class L>
struct loss_facts;

/// The values of a loss for margins far below and far above 0; infinity where it grows for ever.
struct limits {
    long double below;
    long double above;
};

inline constexpr long double unbounded = std::numeric_limits<long double>::infinity();

/// A pair with the margin `h`, both of log-ratios and of the policy's log-probs; all log-probs are
/// negative. Lengths are 4 and 4, so that the margin of the averages is h/4. Exact for multiples of
/// 1/64.
inline pair<double> pair_with_margin(double h) {
    return {{-20.5 + std::fmin(h, 0.0), -20.5, 4, 0.75},
            {-20.5 - std::fmax(h, 0.0), -20.5, 4, -0.5}};
}

/// The pairs that a loss is tried on, where it is tried on `p`.
template <class L>
std::vector<pair<double>> annotated(pair<double> const& p) {
    if constexpr (requires { loss_facts<L>::annotated(p); }) {
        return loss_facts<L>::annotated(p);
    } else {
        return {p};
    }
}

namespace closed_form {

using real = long double;

inline real wide(double x) {
    return static_cast<real>(x);
}

inline pair<real> wide(pair<double> const& p) {
    auto const each = [](response<double> const& r) {
        return response<real>{wide(r.policy), wide(r.reference), wide(r.length), wide(r.score)};
    };
    return {each(p.chosen), each(p.rejected), wide(p.label), wide(p.offset)};
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
}  // namespace prefer::test
