// SPDX-License-Identifier: MIT

/// \file
/// Every loss against literals of high precision: see generate.py.

#include "support/losses.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/loss.hpp>

#include <cstddef>
#include <iterator>

using prefer::test::family;

namespace {

template <class L>
struct loss_row {
    L loss;
    prefer::pair<double> pair;
    prefer::loss::pair_gradient<double> expected;
};

#include "golden/losses.inc"

template <class L>
struct table;

#define PREFER_TEST_TABLE(name)                                                                    \
    template <>                                                                                    \
    struct table<prefer::loss::name> {                                                             \
        static auto const& rows() {                                                                \
            return name##_rows;                                                                    \
        }                                                                                          \
    }

PREFER_TEST_TABLE(dpo);
PREFER_TEST_TABLE(robust_dpo);
PREFER_TEST_TABLE(ipo);
PREFER_TEST_TABLE(hinge_norm);
PREFER_TEST_TABLE(slic);

#undef PREFER_TEST_TABLE

}  // namespace

TEMPLATE_LIST_TEST_CASE("losses: value and gradient are those of the golden table", "",
                        prefer::test::pair_losses) {
    auto const& rows = table<TestType>::rows();
    CHECK(std::size(rows) >= 20);
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        CAPTURE(i);
        auto const y = prefer::loss::value_and_grad(rows[i].loss, rows[i].pair);
        CHECK_CLOSE(y.loss, rows[i].expected.loss, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, rows[i].expected.d_chosen, family::pair_loss);
        CHECK_CLOSE(y.d_rejected, rows[i].expected.d_rejected, family::pair_loss);
    }
}
