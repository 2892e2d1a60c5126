// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Compares losses with the tables that loss_tables.py describes.

#include "support/catch.hpp"

#include <prefer/core/pair.hpp>
#include <prefer/loss/pair_loss.hpp>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

namespace prefer::test {

template <class L>
struct loss_row {
    L loss;
    pair<double> at;
    loss::pair_gradient<double> expected;
    loss::pair_gradient<double> conditioning;
};

/// Within 4 ULP of the conditioning: four times what rounding each input once could do, and the
/// distance between neighbours where numbers are subnormal.
inline bool within_conditioning(double actual, double expected, double conditioning) {
    double const ulp = std::numeric_limits<double>::epsilon();
    double const allowed = 4 * (ulp * conditioning + std::numeric_limits<double>::denorm_min());
    return std::fabs(actual - expected) <= allowed;
}

template <class L, std::size_t N>
void check_table(loss_row<L> const (&rows)[N]) {
    CHECK(N >= 20);
    for (std::size_t i = 0; i < N; ++i) {
        auto const y = loss::value_and_grad(rows[i].loss, rows[i].at);
        auto const& e = rows[i].expected;
        auto const& c = rows[i].conditioning;
        CAPTURE(i, y.loss, e.loss, y.d_chosen, e.d_chosen, y.d_rejected, e.d_rejected);
        CHECK(within_conditioning(y.loss, e.loss, c.loss));
        CHECK(within_conditioning(y.d_chosen, e.d_chosen, c.d_chosen));
        CHECK(within_conditioning(y.d_rejected, e.d_rejected, c.d_rejected));
    }
}

}  // namespace prefer::test
