// SPDX-License-Identifier: MIT
#include "loss_table.hpp"
#include "support/losses/absolute.hpp"

using prefer::test::check_table;
using prefer::test::loss_row;

namespace {

#include "losses_absolute.inc"

auto const& rows_of(prefer::loss::nca const&) {
    return nca_rows;
}

auto const& rows_of(prefer::loss::bco_pair const&) {
    return bco_pair_rows;
}

auto const& rows_of(prefer::loss::sppo_hard const&) {
    return sppo_hard_rows;
}

auto const& rows_of(prefer::loss::apo_zero const&) {
    return apo_zero_rows;
}

auto const& rows_of(prefer::loss::apo_down const&) {
    return apo_down_rows;
}

auto const& rows_of(prefer::loss::dpop const&) {
    return dpop_rows;
}

auto const& rows_of(prefer::loss::cal_dpo const&) {
    return cal_dpo_rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are those of the golden table", "",
                        prefer::test::absolute_losses) {
    check_table(rows_of(TestType{}));
}
