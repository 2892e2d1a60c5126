// SPDX-License-Identifier: MIT
#include "loss_table.hpp"
#include "support/losses/reference_free.hpp"

using prefer::test::check_table;
using prefer::test::loss_row;

namespace {

#include "losses_reference_free.inc"

auto const& rows_of(prefer::loss::slic const&) {
    return slic_rows;
}

auto const& rows_of(prefer::loss::cpo const&) {
    return cpo_rows;
}

auto const& rows_of(prefer::loss::simpo const&) {
    return simpo_rows;
}

auto const& rows_of(prefer::loss::alpha_po const&) {
    return alpha_po_rows;
}

auto const& rows_of(prefer::loss::orpo const&) {
    return orpo_rows;
}

auto const& rows_of(prefer::loss::tpo const&) {
    return tpo_rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are those of the golden table", "",
                        prefer::test::reference_free_losses) {
    check_table(rows_of(TestType{}));
}
