// SPDX-License-Identifier: MIT
#include "loss_table.hpp"

#include <prefer/core/view.hpp>
#include <prefer/loss/plackett_luce.hpp>

#include <cstddef>
#include <iterator>

using prefer::vector_view;
using prefer::test::within_conditioning;

namespace {

struct list_row {
    prefer::loss::plackett_luce loss;
    std::size_t size;
    double ratios[6];
    double value;
    double gradient[6];
    double value_conditioning;
    double conditioning[6];
};

#include "plackett_luce.inc"

}  // namespace

TEST_CASE("plackett_luce: value and gradient are those of the golden table") {
    CHECK(std::size(plackett_luce_rows) >= 20);
    for (std::size_t i = 0; i < std::size(plackett_luce_rows); ++i) {
        list_row const& row = plackett_luce_rows[i];
        double gradient[6]{};
        vector_view<double const> const ratios(row.ratios, row.size);
        double const value =
            row.loss.value_and_grad(ratios, vector_view<double>(gradient, row.size));
        CAPTURE(i, value, row.value);
        CHECK(within_conditioning(value, row.value, row.value_conditioning));
        for (std::size_t k = 0; k < row.size; ++k) {
            CAPTURE(k, gradient[k], row.gradient[k], row.conditioning[k]);
            CHECK(within_conditioning(gradient[k], row.gradient[k], row.conditioning[k]));
        }
    }
}
