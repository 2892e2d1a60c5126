// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/aot_unpaired.hpp>
#include <prefer/loss/dpo.hpp>

#include <limits>

using prefer::example;
using prefer::pair;
using prefer::loss::aot_unpaired;
using prefer::loss::dpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

TEST_CASE("aot_unpaired: the two examples of a couple are dpo together") {
    CHECK_SAME(aot_unpaired{}.beta, 0.1);
    for (double const epsilon : {0.0, 0.1}) {
        for (double const w : {-40.0, -1.0, 0.5, 3.0}) {
            double const l = 1.25;
            auto const p = value_and_grad(dpo{0.1, epsilon},
                                          pair<double>{{-50 + w, -50, 4}, {-60 + l, -60, 4}});
            aot_unpaired const loss{0.1, epsilon};
            auto const good = value_and_grad(loss, example<double>{{-50 + w, -50, 4, l}, 1});
            auto const bad = value_and_grad(loss, example<double>{{-60 + l, -60, 4, w}, 0});
            CHECK_CLOSE(good.loss + bad.loss, p.loss, family::pair_loss);
            CHECK_CLOSE(good.loss, bad.loss, family::pair_loss);
            CHECK_CLOSE(good.d_policy, p.d_chosen, family::pair_loss);
            CHECK_CLOSE(bad.d_policy, p.d_rejected, family::pair_loss);
        }
    }
}

TEST_CASE("aot_unpaired: the value is half of the couple's, the gradient is whole") {
    // z = 0.6: log(1 + e^-0.6) = 0.437487950486, slope -0.0354343693774
    auto const y = value_and_grad(aot_unpaired{}, example<double>{{-14, -20, 4, 0}, 1});
    CHECK_CLOSE(y.loss, 0.218743975243, family::quoted);
    CHECK_CLOSE(y.d_policy, -0.0354343693774, family::quoted);
}

TEST_CASE("aot_unpaired: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_MESSAGE((aot_unpaired{.beta = nan}.validate()), prefer::value_error,
                         "prefer::loss::aot_unpaired: beta is ");
    CHECK_THROWS_MESSAGE((aot_unpaired{.label_smoothing = 0.5}.validate()), prefer::value_error,
                         "label_smoothing is 0.5, but must be in [0, 0.5)");
}
