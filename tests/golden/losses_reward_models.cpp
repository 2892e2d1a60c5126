// SPDX-License-Identifier: MIT
#include "loss_table.hpp"
#include "support/losses/reward_models.hpp"

using prefer::test::check_table;
using prefer::test::loss_row;

namespace {

#include "losses_reward_models.inc"

auto const& rows_of(prefer::loss::bradley_terry const&) {
    return bradley_terry_rows;
}

auto const& rows_of(prefer::loss::davidson const&) {
    return davidson_rows;
}

auto const& rows_of(prefer::loss::rao_kupper const&) {
    return rao_kupper_rows;
}

auto const& rows_of(prefer::loss::preference_model const&) {
    return preference_model_rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are those of the golden table", "",
                        prefer::test::reward_models_losses) {
    check_table(rows_of(TestType{}));
}
