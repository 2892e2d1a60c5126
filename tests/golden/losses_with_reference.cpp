// SPDX-License-Identifier: MIT
#include "loss_table.hpp"
#include "support/losses/with_reference.hpp"

using prefer::test::check_table;
using prefer::test::loss_row;

namespace {

#include "losses_with_reference.inc"

auto const& rows_of(prefer::loss::dpo const&) {
    return dpo_rows;
}

auto const& rows_of(prefer::loss::robust_dpo const&) {
    return robust_dpo_rows;
}

auto const& rows_of(prefer::loss::ipo const&) {
    return ipo_rows;
}

auto const& rows_of(prefer::loss::hinge_norm const&) {
    return hinge_norm_rows;
}

auto const& rows_of(prefer::loss::exo const&) {
    return exo_rows;
}

auto const& rows_of(prefer::loss::discopop const&) {
    return discopop_rows;
}

auto const& rows_of(prefer::loss::r_dpo const&) {
    return r_dpo_rows;
}

auto const& rows_of(prefer::loss::reward_aware_rpo const&) {
    return reward_aware_rpo_rows;
}

auto const& rows_of(prefer::loss::spin const&) {
    return spin_rows;
}

auto const& rows_of(prefer::loss::rebel const&) {
    return rebel_rows;
}

auto const& rows_of(prefer::loss::online_ipo const&) {
    return online_ipo_rows;
}

auto const& rows_of(prefer::loss::aot const&) {
    return aot_rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are those of the golden table", "",
                        prefer::test::with_reference_losses) {
    check_table(rows_of(TestType{}));
}
