// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/bradley_terry.hpp>
#include <prefer/loss/rao_kupper.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::rao_kupper;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

/// Scores of a model; there is nothing else to know of a response.
pair<double> scores(double chosen, double rejected, double label = 1, double offset = 0) {
    return {{chosen}, {rejected}, label, offset};
}

}  // namespace

TEST_CASE("rao_kupper: defaults and inputs") {
    CHECK_SAME(rao_kupper{}.theta, 2.0);
    STATIC_REQUIRE(rao_kupper::inputs().labels);
    STATIC_REQUIRE(!rao_kupper::inputs().offsets);
    STATIC_REQUIRE(!rao_kupper::inputs().reference);
}

TEST_CASE("rao_kupper: win, tie and loss at scores 1 and 0") {
    // θ = 3/2: e/(e + 1.5), 1/(1 + 1.5e), and the rest
    rao_kupper const loss{.theta = 1.5};
    auto const won = value_and_grad(loss, scores(1, 0, 1));
    CHECK_CLOSE(won.loss, 0.439427895485740555, family::pair_loss);
    CHECK_CLOSE(won.d_chosen, -0.355595017355195501, family::pair_loss);
    CHECK_CLOSE(won.d_rejected, 0.355595017355195501, family::pair_loss);
    auto const tie = value_and_grad(loss, scores(1, 0, 0.5));
    CHECK_CLOSE(tie.loss, 1.84108814290800104, family::pair_loss);
    CHECK_CLOSE(tie.d_chosen, 0.447454669330832593, family::pair_loss);
    auto const lost = value_and_grad(loss, scores(1, 0, 0));
    CHECK_CLOSE(lost.loss, 1.62480379873647024, family::pair_loss);
    CHECK_CLOSE(lost.d_chosen, 0.803049686686028093, family::pair_loss);
    // A mixture of the two nearest
    CHECK_CLOSE(loss(scores(1, 0, 0.75)), (won.loss + tie.loss) / 2, family::pair_loss);
    CHECK_CLOSE(loss(scores(1, 0, 0.125)), 0.75 * lost.loss + 0.25 * tie.loss, family::pair_loss);
}

TEST_CASE("rao_kupper: at equal scores the default gives a third to each outcome") {
    double const log_3 = 1.09861228866810969;
    for (double const label : {0.0, 0.5, 1.0}) {
        CHECK_CLOSE(rao_kupper{}(scores(-2.5, -2.5, label)), log_3, family::pair_loss);
    }
    CHECK_SAME(value_and_grad(rao_kupper{}, scores(-2.5, -2.5, 0.5)).d_chosen, 0.0);
}

TEST_CASE("rao_kupper: the three probabilities add up to 1") {
    for (double const theta : {1.001, 1.5, 20.0}) {
        for (double const m : {-40.0, -3.0, 0.0, 0.75, 12.0}) {
            CAPTURE(theta, m);
            rao_kupper const loss{.theta = theta};
            double const sum = std::exp(-loss(scores(m, 0, 1))) +
                               std::exp(-loss(scores(m, 0, 0.5))) +
                               std::exp(-loss(scores(m, 0, 0)));
            CHECK_CLOSE(sum, 1.0, family::pair_loss);
        }
    }
}

TEST_CASE("rao_kupper: a win is bradley_terry with the offset log theta") {
    for (double const m : {-1000.0, -2.0, 0.0, 2.0, 40.0}) {
        CAPTURE(m);
        auto const y = value_and_grad(rao_kupper{}, scores(m, 0));
        auto const expected =
            value_and_grad(prefer::loss::bradley_terry{}, scores(m, 0, 1, 0.693147180559945309));
        CHECK_CLOSE(y.loss, expected.loss, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, expected.d_chosen, family::pair_loss);
    }
}

TEST_CASE("rao_kupper: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-2.0, 0.0, 1.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(rao_kupper{.theta = bad}.validate(), prefer::value_error,
                             "prefer::loss::rao_kupper: theta is ");
    }
    CHECK_THROWS_MESSAGE(rao_kupper{.theta = 1}.validate(), prefer::value_error,
                         "must be finite and > 1");
}
