// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The pairwise losses that need no reference.

#include "support/losses/facts.hpp"

#include <prefer/loss/slic.hpp>

#include <cmath>
#include <tuple>
#include <vector>

namespace prefer::test {

using reference_free_losses = std::tuple<loss::slic>;

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

}  // namespace prefer::test
