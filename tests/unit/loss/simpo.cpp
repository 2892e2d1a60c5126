// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/simpo.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::simpo;
using prefer::loss::simpo_gamma;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

double const none = std::numeric_limits<double>::quiet_NaN();  // not given

}  // namespace

TEST_CASE("simpo: defaults and inputs") {
    simpo const loss;
    CHECK_SAME(loss.beta, 2.0);
    CHECK_SAME(loss.gamma, 0.25);
    CHECK(loss.gamma_is == simpo_gamma::ratio);
    CHECK_SAME(loss.label_smoothing, 0.0);
    STATIC_REQUIRE(simpo::inputs().lengths);
    STATIC_REQUIRE(!simpo::inputs().reference);
}

TEST_CASE("simpo: averages, and a target that is gamma or gamma/beta by name (F8)") {
    pair<double> const p{{-10, none, 5}, {-9, none, 3}};  // averages -2 and -3
    double const expected = 0.281150136248314776;         // log(1 + e^-(2.5·1 - 1.375))
    simpo const absolute{.beta = 2.5, .gamma = 1.375, .gamma_is = simpo_gamma::absolute};
    simpo const ratio{.beta = 2.5, .gamma = 0.55, .gamma_is = simpo_gamma::ratio};
    for (simpo const& loss : {absolute, ratio}) {
        auto const y = value_and_grad(loss, p);
        CHECK_CLOSE(y.loss, expected, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, -2.5 * 0.245085013132371709 / 5, family::pair_loss);
        CHECK_CLOSE(y.d_rejected, 2.5 * 0.245085013132371709 / 3, family::pair_loss);
    }
    CHECK_DISTINGUISHES(expected, 3.89554190, family::quoted);  // sums
    CHECK_DISTINGUISHES(expected, 1.26795821, family::quoted);  // γ taken for γ/β
    CHECK_CLOSE((simpo{.beta = 2.5, .gamma = 1.375}(p)), 1.26795820760222063, family::pair_loss);
}

TEST_CASE("simpo: log 2 where the target is met exactly") {
    pair<double> const p{{-4, none, 2}, {-9, none, 4}};  // averages -2 and -2.25
    CHECK_CLOSE(simpo{}(p), 0.693147180559945309, family::pair_loss);
    CHECK_CLOSE((simpo{.beta = 8, .gamma = 2, .gamma_is = simpo_gamma::absolute}(p)),
                0.693147180559945309, family::pair_loss);
}

TEST_CASE("simpo: smoothing has an effect (F12)") {
    pair<double> const p{{-4, none, 2}, {-9.2, none, 4}};  // 2·(0.3 - 0) = 0.6
    simpo const loss{.gamma = 0, .label_smoothing = 0.1};
    CHECK_CLOSE(loss(p), 0.497487950485885626, family::pair_loss);
}

TEST_CASE("simpo: a missing length shows; an empty response has average 0 and gradient 0") {
    CHECK(std::isnan(simpo{}(pair<double>{{-10, none, none}, {-9, none, 3}})));
    auto const y = value_and_grad(simpo{.gamma = 0}, pair<double>{{-4, none, 2}, {0, none, 0}});
    CHECK_CLOSE(y.loss, 4.01814992791780974, family::pair_loss);  // log(1 + e^4)
    CHECK(y.d_chosen < 0);
    CHECK_SAME(y.d_rejected, 0.0);
}

TEST_CASE("simpo: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, none}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(simpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::simpo: beta is ");
        CHECK_THROWS_MESSAGE(simpo{.gamma = bad}.validate(), prefer::value_error,
                             "prefer::loss::simpo: gamma is ");
        CHECK_THROWS_MESSAGE(simpo{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::simpo: label_smoothing is ");
    }
    CHECK_THROWS_MESSAGE(simpo{.beta = 0}.validate(), prefer::value_error,
                         "must be finite and positive");
    CHECK_THROWS_MESSAGE(simpo{.label_smoothing = 0.5}.validate(), prefer::value_error,
                         "must be in [0, 0.5)");
    CHECK_THROWS_MESSAGE(simpo{.gamma_is = static_cast<simpo_gamma>(2)}.validate(),
                         prefer::value_error,
                         "prefer::loss::simpo: gamma_is is 2, but must be a named enumerator");
    CHECK_NOTHROW((simpo{1e-300, 0, simpo_gamma::absolute, 0.499}.validate()));
}
