// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/bradley_terry.hpp>
#include <prefer/loss/preference_model.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::debiased_preference;
using prefer::loss::preference_model;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

/// The logits that the response shown first wins: chosen first, rejected first.
pair<double> logits(double chosen_first, double rejected_first) {
    return {{chosen_first}, {rejected_first}};
}

}  // namespace

TEST_CASE("preference_model: inputs") {
    STATIC_REQUIRE(prefer::pair_loss<preference_model>);
    STATIC_REQUIRE(!preference_model::inputs().reference);
    STATIC_REQUIRE(!preference_model::inputs().lengths);
    STATIC_REQUIRE(!preference_model::inputs().labels);
    CHECK_NOTHROW(preference_model{}.validate());
}

TEST_CASE("preference_model: half of each order's likelihood") {
    auto const y = value_and_grad(preference_model{}, logits(1, -2));
    CHECK_CLOSE(y.loss, 0.220094849280597665, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, -0.13447071068499756, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.059601461011058778, family::pair_loss);
    CHECK_CLOSE(preference_model{}(logits(0, 0)), 0.693147180559945309, family::pair_loss);
    CHECK_CLOSE(preference_model{}(logits(-1000, 1000)), 1000.0, family::pair_loss);
    CHECK_CLOSE(preference_model{}(logits(20, -40)), 1.03057681228136748e-9, family::pair_loss);
}

TEST_CASE("preference_model: without a bias towards a place it is the plain likelihood") {
    for (double const a : {-30.0, -1.0, 0.0, 2.5, 30.0}) {
        CAPTURE(a);
        pair<double> const scores{{a}, {0}};
        CHECK_CLOSE(preference_model{}(logits(a, -a)), prefer::loss::bradley_terry{}(scores),
                    family::pair_loss);
    }
    // A bias of 2 towards the first place costs something.
    CHECK_CLOSE(preference_model{}(logits(1 + 2, -1 + 2)), 0.680924519545982446, family::pair_loss);
    CHECK(preference_model{}(logits(3, 1)) > preference_model{}(logits(1, -1)));
}

TEST_CASE("debiased_preference: the sign of the difference, whatever the bias") {
    for (double const bias : {-8.0, -0.5, 0.0, 0.5, 8.0}) {
        CAPTURE(bias);
        CHECK_SAME(debiased_preference(1 + bias, -1 + bias), 1.0);
        CHECK_SAME(debiased_preference(-1 + bias, 1 + bias), 0.0);
        CHECK_SAME(debiased_preference(bias, bias), 0.5);
    }
    // Both orders favour the first place (0.9 and 0.8): y1 by the difference.
    CHECK_SAME(debiased_preference(0.9F, 0.8F), 1.0F);
    CHECK_SAME(debiased_preference(0.8F, 0.9F), 0.0F);
}

TEST_CASE("debiased_preference: ties are equality; zeros, infinities and NaN") {
    double const inf = std::numeric_limits<double>::infinity();
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_SAME(debiased_preference(std::nextafter(0.25, 1.0), 0.25), 1.0);
    CHECK_SAME(debiased_preference(0.25, std::nextafter(0.25, 1.0)), 0.0);
    CHECK_SAME(debiased_preference(0.0, -0.0), 0.5);
    CHECK_SAME(debiased_preference(inf, inf), 0.5);
    CHECK_SAME(debiased_preference(inf, 1.0), 1.0);
    CHECK_SAME(debiased_preference(-inf, 1.0), 0.0);
    CHECK(std::isnan(debiased_preference(nan, 1.0)));
    CHECK(std::isnan(debiased_preference(1.0, nan)));
    CHECK(std::isnan(debiased_preference(nan, nan)));
}

TEST_CASE("debiased_preference: it is the accuracy that is reported, ties at one half") {
    for (double const b : {-2.0, 1.0, 3.0}) {
        pair<double> const p = logits(1, b);
        double const chosen = prefer::loss::reward(preference_model{}, p.chosen, false);
        double const rejected = prefer::loss::reward(preference_model{}, p.rejected, false);
        double const right = chosen > rejected ? 1 : chosen < rejected ? 0 : 0.5;
        CHECK_SAME(debiased_preference(p.chosen.policy, p.rejected.policy), right);
    }
}
