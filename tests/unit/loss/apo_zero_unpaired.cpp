// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/apo_zero_unpaired.hpp>
#include <prefer/loss/kto.hpp>

#include <limits>

using prefer::example;
using prefer::loss::apo_zero_unpaired;
using prefer::loss::kto;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("apo_zero_unpaired: values of either kind") {
    CHECK_SAME(apo_zero_unpaired{}.beta, 0.1);
    example<double> const good{{-14, -20, 4}, 1};
    example<double> const bad{{-23, -20, 4}, 0};
    CHECK_CLOSE(apo_zero_unpaired{}(good), 0.354343693774, family::quoted);  // 1 - σ(0.6)
    CHECK_CLOSE(apo_zero_unpaired{}(bad), 0.425557483188, family::quoted);   // σ(-0.3)
    CHECK_DISTINGUISHES(0.354343693774, 0.645656306226, family::quoted);     // the wrong way round
    CHECK_CLOSE((apo_zero_unpaired{.beta = 0.1, .desirable_weight = 3}(good)), 1.063031081322,
                family::quoted);
    CHECK_CLOSE((apo_zero_unpaired{.beta = 0.1, .undesirable_weight = 2}(bad)), 0.851114966376,
                family::quoted);
}

TEST_CASE("apo_zero_unpaired: it is kto at the reference") {
    for (double const d : {-30.0, -1.0, 0.0, 2.5, 60.0}) {
        for (double const label : {0.0, 1.0}) {
            example<double> const x{{-70 + d, -70, 4}, label};
            auto const a = value_and_grad(apo_zero_unpaired{0.3, 2, 0.5}, x);
            auto const k = value_and_grad(kto{0.3, 2, 0.5, 0}, x);
            CHECK_SAME_BITS(a.loss, k.loss);
            CHECK_SAME_BITS(a.d_policy, k.d_policy);
        }
    }
}

TEST_CASE("apo_zero_unpaired: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_MESSAGE((apo_zero_unpaired{.beta = 0}.validate()), prefer::value_error,
                         "prefer::loss::apo_zero_unpaired: beta is 0");
    for (double const bad : {-1.0, nan}) {
        CHECK_THROWS_MESSAGE((apo_zero_unpaired{.desirable_weight = bad}.validate()),
                             prefer::value_error, "apo_zero_unpaired: desirable_weight is ");
        CHECK_THROWS_MESSAGE((apo_zero_unpaired{.undesirable_weight = bad}.validate()),
                             prefer::value_error, "apo_zero_unpaired: undesirable_weight is ");
    }
}
