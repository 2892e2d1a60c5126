// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/tpo.hpp>

#include <cmath>
#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::tpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

double const none = std::numeric_limits<double>::quiet_NaN();  // not given

}  // namespace

TEST_CASE("tpo: defaults and inputs") {
    tpo const loss;
    CHECK_SAME(loss.beta, 0.01);
    CHECK_SAME(loss.gamma, 0.0);
    CHECK_SAME(loss.label_smoothing, 0.0);
    CHECK(loss.margin_of == log_probs::summed);
    CHECK_FALSE(loss.inputs().reference);
    CHECK_FALSE(loss.inputs().lengths);
    CHECK(tpo{.margin_of = log_probs::averaged}.inputs().lengths);
}

TEST_CASE("tpo: of sums") {
    auto const y = value_and_grad(tpo{}, pair<double>{{-1.5, none, none}, {-7.5, none, none}});
    CHECK_CLOSE(y.loss, 0.663597113076140885, family::pair_loss);  // log(1 + e^-0.06)
    CHECK_CLOSE(y.d_chosen, -0.00485004498380589928, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.00485004498380589928, family::pair_loss);
}

TEST_CASE("tpo: TPO-L is of averages, with an absolute target") {
    pair<double> const p{{-10, none, 5}, {-9, none, 3}};  // averages -2 and -3
    tpo const loss{.beta = 2.5, .gamma = 1.375, .margin_of = log_probs::averaged};
    auto const y = value_and_grad(loss, p);
    CHECK_CLOSE(y.loss, 0.281150136248314776, family::pair_loss);  // log(1 + e^-(2.5 - 1.375))
    CHECK_CLOSE(y.d_chosen, -2.5 * 0.245085013132371709 / 5, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 2.5 * 0.245085013132371709 / 3, family::pair_loss);
    CHECK_DISTINGUISHES(0.281150136, 1.26795821, family::quoted);  // γ taken for γ/β
    CHECK(std::isnan(loss(pair<double>{{-10, none, none}, {-9, none, 3}})));
    // TRL's defaults
    tpo const trl{.beta = 0.5, .gamma = 0.5, .margin_of = log_probs::averaged};
    CHECK_CLOSE(trl(p), 0.693147180559945309, family::pair_loss);
}

TEST_CASE("tpo: no option is ignored (F12)") {
    pair<double> const p{{-1.5, none, none}, {-7.5, none, none}};
    CHECK_CLOSE((tpo{.beta = 0.1, .label_smoothing = 0.1}(p)), 0.497487950485885626,
                family::pair_loss);
    CHECK_CLOSE((tpo{.beta = 0.1, .gamma = 0.6}(p)), 0.693147180559945309, family::pair_loss);
}

TEST_CASE("tpo: an empty response has average 0 and gradient 0") {
    tpo const loss{.beta = 2, .margin_of = log_probs::averaged};
    auto const y = value_and_grad(loss, pair<double>{{-4, none, 2}, {0, none, 0}});
    CHECK_CLOSE(y.loss, 4.01814992791780974, family::pair_loss);  // log(1 + e^4)
    CHECK_SAME(y.d_rejected, 0.0);
}

TEST_CASE("tpo: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, none}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(tpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::tpo: beta is ");
        CHECK_THROWS_MESSAGE(tpo{.gamma = bad}.validate(), prefer::value_error,
                             "prefer::loss::tpo: gamma is ");
        CHECK_THROWS_MESSAGE(tpo{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::tpo: label_smoothing is ");
    }
    CHECK_THROWS_MESSAGE(tpo{.beta = 0}.validate(), prefer::value_error,
                         "must be finite and positive");
    CHECK_THROWS_MESSAGE(tpo{.label_smoothing = 0.5}.validate(), prefer::value_error,
                         "must be in [0, 0.5)");
    CHECK_THROWS_MESSAGE(tpo{.margin_of = static_cast<log_probs>(2)}.validate(),
                         prefer::value_error,
                         "prefer::loss::tpo: margin_of is 2, but must be a named enumerator");
    CHECK_NOTHROW((tpo{1e-300, 0, 0.499, log_probs::averaged}.validate()));
}
