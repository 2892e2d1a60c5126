// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/cpo.hpp>

#include <cmath>
#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::cpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

double const none = std::numeric_limits<double>::quiet_NaN();  // not given

pair<double> policies(double chosen, double rejected) {
    return {{chosen, none, none}, {rejected, none, none}};
}

}  // namespace

TEST_CASE("cpo: defaults and inputs") {
    cpo const loss;
    CHECK_SAME(loss.beta, 0.1);
    CHECK_SAME(loss.label_smoothing, 0.0);
    CHECK_SAME(loss.nll_weight, 1.0);
    CHECK(loss.nll_of == log_probs::summed);
    CHECK_FALSE(loss.inputs().reference);
    CHECK_FALSE(loss.inputs().lengths);
    CHECK(cpo{.nll_of = log_probs::averaged}.inputs().lengths);
}

TEST_CASE("cpo: the weight is on the likelihood term, and linear (F5)") {
    pair<double> const p = policies(-1.5, -7.5);  // z = 0.6, NLL 1.5
    auto const y = value_and_grad(cpo{.nll_weight = 0.5}, p);
    CHECK_CLOSE(y.loss, 1.18748795048588563, family::pair_loss);
    CHECK_DISTINGUISHES(1.18748795, 1.71874398, family::quoted);  // 0.5 on the other term
    CHECK_CLOSE(y.d_chosen, -0.0354343693774204547 - 0.5, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.0354343693774204547, family::pair_loss);
    for (double const weight : {0.0, 0.25, 1.0, 4.0}) {
        CAPTURE(weight);
        auto const weighted = value_and_grad(cpo{.nll_weight = weight}, p);
        CHECK_CLOSE(weighted.loss, 0.437487950485885626 + 1.5 * weight, family::pair_loss);
        CHECK_CLOSE(weighted.d_chosen, -0.0354343693774204547 - weight, family::pair_loss);
        CHECK_CLOSE(weighted.d_rejected, 0.0354343693774204547, family::pair_loss);
    }
}

TEST_CASE("cpo: the likelihood term is of the sum or of the average") {
    pair<double> const p{{-8, none, 4}, {-8, none, 9}};  // z = 0
    CHECK_CLOSE(cpo{}(p), 8.693147180559945309, family::pair_loss);
    auto const y = value_and_grad(cpo{.nll_of = log_probs::averaged}, p);
    CHECK_CLOSE(y.loss, 2.693147180559945309, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.05 - 0.25, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.05, family::pair_loss);
    CHECK(std::isnan(cpo{.nll_of = log_probs::averaged}(policies(-3, -2))));  // length not given
}

TEST_CASE("cpo: a batch's token mean is the summed term with a weight of pairs per token (L11)") {
    // Chosen NLL 1 of 1 token and 12 of 3: mean of sums 6.5, token mean 3.25.
    pair<double> const first{{-1, none, 1}, {-1, none, 1}};
    pair<double> const second{{-12, none, 3}, {-12, none, 1}};
    cpo const loss{.nll_weight = 2.0 / 4};
    CHECK_CLOSE((loss(first) + loss(second)) / 2, 0.693147180559945309 + 3.25, family::pair_loss);
}

TEST_CASE("cpo: smoothing has an effect (F12)") {
    cpo const loss{.label_smoothing = 0.1, .nll_weight = 0};
    CHECK_CLOSE(loss(policies(-1.5, -7.5)), 0.497487950485885626, family::pair_loss);
}

TEST_CASE("cpo: an empty chosen response has no likelihood term") {
    cpo const loss{.nll_of = log_probs::averaged};
    auto const y = value_and_grad(loss, pair<double>{{0, none, 0}, {0, none, 9}});
    CHECK_CLOSE(y.loss, 0.693147180559945309, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.05, family::pair_loss);
}

TEST_CASE("cpo: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, none}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(cpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::cpo: beta is ");
        CHECK_THROWS_MESSAGE(cpo{.nll_weight = bad}.validate(), prefer::value_error,
                             "prefer::loss::cpo: nll_weight is ");
        CHECK_THROWS_MESSAGE(cpo{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::cpo: label_smoothing is ");
    }
    CHECK_THROWS_MESSAGE(cpo{.beta = 0}.validate(), prefer::value_error,
                         "must be finite and positive");
    CHECK_THROWS_MESSAGE(cpo{.label_smoothing = 0.5}.validate(), prefer::value_error,
                         "must be in [0, 0.5)");
    CHECK_THROWS_MESSAGE(cpo{.nll_of = static_cast<log_probs>(2)}.validate(), prefer::value_error,
                         "prefer::loss::cpo: nll_of is 2, but must be a named enumerator");
    CHECK_NOTHROW((cpo{1e-300, 0.499, 0, log_probs::averaged}.validate()));
}
