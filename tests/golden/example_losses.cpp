// SPDX-License-Identifier: MIT
#include "loss_table.hpp"
#include "support/examples.hpp"

using prefer::example;
using prefer::test::within_conditioning;

namespace {

template <class L>
struct example_row {
    L loss;
    example<double> at;
    prefer::loss::example_gradient<double> expected;
    prefer::loss::example_gradient<double> conditioning;
};

#include "example_losses.inc"

auto const& rows_of(prefer::loss::kto const&) {
    return kto_rows;
}

auto const& rows_of(prefer::loss::apo_zero_unpaired const&) {
    return apo_zero_unpaired_rows;
}

auto const& rows_of(prefer::loss::bco const&) {
    return bco_rows;
}

auto const& rows_of(prefer::loss::sft const&) {
    return sft_rows;
}

auto const& rows_of(prefer::loss::nash_md const&) {
    return nash_md_rows;
}

auto const& rows_of(prefer::loss::aot_unpaired const&) {
    return aot_unpaired_rows;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("example losses: value and gradient are those of the golden table", "",
                        prefer::test::example_losses) {
    auto const& rows = rows_of(TestType{});
    CHECK(std::size(rows) >= 20);
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        auto const y = prefer::loss::value_and_grad(rows[i].loss, rows[i].at);
        auto const& e = rows[i].expected;
        auto const& c = rows[i].conditioning;
        CAPTURE(i, y.loss, e.loss, y.d_policy, e.d_policy);
        CHECK(within_conditioning(y.loss, e.loss, c.loss));
        CHECK(within_conditioning(y.d_policy, e.d_policy, c.d_policy));
    }
}
