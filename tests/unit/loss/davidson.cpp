// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/bradley_terry.hpp>
#include <prefer/loss/davidson.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::davidson;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

/// Scores of a model; there is nothing else to know of a response.
pair<double> scores(double chosen, double rejected, double label = 1) {
    return {{chosen}, {rejected}, label};
}

}  // namespace

TEST_CASE("davidson: defaults and inputs") {
    CHECK_SAME(davidson{}.nu, 1.0);
    STATIC_REQUIRE(davidson::inputs().labels);
    STATIC_REQUIRE(!davidson::inputs().offsets);
    STATIC_REQUIRE(!davidson::inputs().reference);
}

TEST_CASE("davidson: win, tie and loss at scores 1 and 0") {
    // ν = 1/2: probabilities as e : e^(1/2)/2 : 1
    davidson const loss{.nu = 0.5};
    auto const won = value_and_grad(loss, scores(1, 0, 1));
    CHECK_CLOSE(won.loss, 0.513508883219978049, family::pair_loss);
    CHECK_CLOSE(won.d_chosen, -0.310871993322337465, family::pair_loss);
    CHECK_CLOSE(won.d_rejected, 0.310871993322337465, family::pair_loss);
    auto const tie = value_and_grad(loss, scores(1, 0, 0.5));
    CHECK_CLOSE(tie.loss, 1.70665606377992336, family::pair_loss);
    CHECK_CLOSE(tie.d_chosen, 0.189128006677662535, family::pair_loss);
    auto const lost = value_and_grad(loss, scores(1, 0, 0));
    CHECK_CLOSE(lost.loss, 1.51350888321997805, family::pair_loss);
    CHECK_CLOSE(lost.d_chosen, 0.689128006677662535, family::pair_loss);
    // A mixture of the two nearest
    CHECK_CLOSE(loss(scores(1, 0, 0.75)), (won.loss + tie.loss) / 2, family::pair_loss);
    CHECK_CLOSE(loss(scores(1, 0, 0.125)), 0.75 * lost.loss + 0.25 * tie.loss, family::pair_loss);
}

TEST_CASE("davidson: at equal scores the default gives a third to each outcome") {
    double const log_3 = 1.09861228866810969;
    for (double const label : {0.0, 0.5, 1.0}) {
        CHECK_CLOSE(davidson{}(scores(-2.5, -2.5, label)), log_3, family::pair_loss);
    }
    auto const tie = value_and_grad(davidson{}, scores(-2.5, -2.5, 0.5));
    CHECK_SAME(tie.d_chosen, 0.0);
    CHECK_SAME(tie.d_rejected, 0.0);
}

TEST_CASE("davidson: the three probabilities add up to 1") {
    for (double const nu : {1e-3, 0.5, 3.0}) {
        for (double const m : {-40.0, -3.0, 0.0, 0.75, 12.0}) {
            CAPTURE(nu, m);
            davidson const loss{.nu = nu};
            double const sum = std::exp(-loss(scores(m, 0, 1))) +
                               std::exp(-loss(scores(m, 0, 0.5))) +
                               std::exp(-loss(scores(m, 0, 0)));
            CHECK_CLOSE(sum, 1.0, family::pair_loss);
        }
    }
}

TEST_CASE("davidson: without ties it is bradley_terry, far ahead and far behind") {
    davidson const loss{.nu = 1e-300};
    for (double const m : {-1000.0, -2.0, 0.0, 2.0, 40.0}) {
        CAPTURE(m);
        auto const y = value_and_grad(loss, scores(m, 0));
        auto const expected = value_and_grad(prefer::loss::bradley_terry{}, scores(m, 0));
        CHECK_CLOSE(y.loss, expected.loss, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, expected.d_chosen, family::gradient);
    }
}

TEST_CASE("davidson: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, 0.0, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(davidson{.nu = bad}.validate(), prefer::value_error,
                             "prefer::loss::davidson: nu is ");
    }
    CHECK_THROWS_MESSAGE(davidson{.nu = 0}.validate(), prefer::value_error,
                         "must be finite and positive");
}
