// SPDX-License-Identifier: MIT
#include "loss_table.hpp"
#include "support/losses/modified.hpp"

using prefer::test::check_table;
using prefer::test::loss_row;

namespace {

#include "losses_modified.inc"

auto const& rows_of(prefer::test::dpo_by_jensen_shannon const&) {
    return dpo_by_jensen_shannon_rows;
}

auto const& rows_of(prefer::test::ipo_by_alpha const&) {
    return ipo_by_alpha_rows;
}

auto const& rows_of(prefer::test::hinge_by_forward_kl const&) {
    return hinge_by_forward_kl_rows;
}

auto const& rows_of(prefer::test::dpo_with_nll const&) {
    return dpo_with_nll_rows;
}

auto const& rows_of(prefer::test::dpo_and_hinge const&) {
    return dpo_and_hinge_rows;
}

auto const& rows_of(prefer::test::exploratory_dpo const&) {
    return exploratory_dpo_rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are those of the golden table", "",
                        prefer::test::modified_losses) {
    check_table(rows_of(TestType{}));
}
