// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/bradley_terry.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::bradley_terry;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

/// Scores of a model; there is nothing else to know of a response.
pair<double> scores(double chosen, double rejected, double label = 1, double offset = 0) {
    return {{chosen}, {rejected}, label, offset};
}

}  // namespace

TEST_CASE("bradley_terry: defaults and inputs") {
    CHECK_SAME(bradley_terry{}.label_smoothing, 0.0);
    CHECK_SAME(bradley_terry{}.center, 0.0);
    STATIC_REQUIRE(!bradley_terry::inputs().reference);
    STATIC_REQUIRE(!bradley_terry::inputs().lengths);
    STATIC_REQUIRE(!bradley_terry::inputs().scores);
    STATIC_REQUIRE(bradley_terry::inputs().labels);
    STATIC_REQUIRE(bradley_terry::inputs().offsets);
}

TEST_CASE("bradley_terry: a margin for each pair, 0 where none is given (M1)") {
    // Scores [1, 2] and [0, 0], margins [0.5, 1.5]: both losses log(1 + e^-0.5).
    double const first = bradley_terry{}(scores(1, 0, 1, 0.5));
    double const second = bradley_terry{}(scores(2, 0, 1, 1.5));
    CHECK_CLOSE(first, 0.474076984180106681, family::pair_loss);
    CHECK_CLOSE(second, 0.474076984180106681, family::pair_loss);
    CHECK_DISTINGUISHES(0.474076984, 0.530911058, family::quoted);  // over all combinations
    pair<double> missing;
    missing.chosen.policy = 1;
    missing.rejected.policy = 0;
    CHECK_CLOSE(bradley_terry{}(missing), 0.313261687518222834, family::pair_loss);
}

TEST_CASE("bradley_terry: the loss of last-token scores (M4)") {
    CHECK_CLOSE(bradley_terry{}(scores(2, 0)), 0.126928011042972496, family::pair_loss);
}

TEST_CASE("bradley_terry: far ahead and far behind keep their digits, either way round (G1)") {
    for (bool const flipped : {false, true}) {
        CAPTURE(flipped);
        auto const at = [&](double m) {
            return value_and_grad(bradley_terry{}, flipped ? scores(0, m, 0) : scores(m, 0, 1));
        };
        CHECK_CLOSE(at(20).loss, 2.0611536203143807e-9, family::pair_loss);
        CHECK_CLOSE(at(40).loss, 4.24835425529158899e-18, family::pair_loss);
        CHECK_CLOSE(at(-300).loss, 300.0, family::pair_loss);
        CHECK_CLOSE(at(-1000).loss, 1000.0, family::pair_loss);
        double const sign = flipped ? 1 : -1;
        CHECK_SAME(at(-1000).d_chosen, sign);
        CHECK_SAME(at(1000).d_chosen, 0.0);
        CHECK_SAME(at(1000).loss, 0.0);
    }
}

TEST_CASE("bradley_terry: the centring term, with its gradient") {
    auto const y = value_and_grad(bradley_terry{.center = 0.01}, scores(1, 2));
    CHECK_CLOSE(y.loss, 1.40326168751822283, family::pair_loss);  // log(1 + e) + 0.01·9
    CHECK_CLOSE(y.d_chosen, -0.731058578630004879 + 0.06, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.731058578630004879 + 0.06, family::pair_loss);
}

TEST_CASE("bradley_terry: soft labels and smoothing") {
    auto const y = value_and_grad(bradley_terry{}, scores(3, 1, 0.75));
    CHECK_CLOSE(y.loss, 0.626928011042972496, family::pair_loss);
    CHECK_CLOSE(y.d_chosen, 0.130797077977882444, family::pair_loss);  // σ(2) - 0.75
    CHECK_CLOSE(y.d_rejected, -0.130797077977882444, family::pair_loss);
    // Smoothing is the label 1 - ε, and it is not ignored (F12).
    bradley_terry const smoothed{.label_smoothing = 0.1};
    CHECK_CLOSE(smoothed(scores(3, 1)), 0.326928011042972496, family::pair_loss);
    CHECK_CLOSE(smoothed(scores(3, 1)), bradley_terry{}(scores(3, 1, 0.9)), family::pair_loss);
    CHECK_CLOSE(smoothed(scores(3, 1, 0)), bradley_terry{}(scores(3, 1, 0.1)), family::pair_loss);
    // The minimum is where the model says the label.
    CHECK_CLOSE(value_and_grad(bradley_terry{}, scores(std::log(3.0), 0, 0.75)).d_chosen, 0.0,
                family::gradient);
}

TEST_CASE("bradley_terry: exchanging the responses, the label and the offset changes nothing") {
    bradley_terry const loss{.label_smoothing = 0.125, .center = 0.5};
    for (double const label : {0.0, 0.25, 0.5, 1.0}) {
        CAPTURE(label);
        auto const y = value_and_grad(loss, scores(1.5, -0.25, label, 0.5));
        auto const z = value_and_grad(loss, scores(-0.25, 1.5, 1 - label, -0.5));
        CHECK_CLOSE(y.loss, z.loss, family::pair_loss);
        CHECK_CLOSE(y.d_chosen, z.d_rejected, family::pair_loss);
        CHECK_CLOSE(y.d_rejected, z.d_chosen, family::pair_loss);
    }
}

TEST_CASE("bradley_terry: the reported reward is the score") {
    prefer::response<double> const r{2.5};
    CHECK_SAME(prefer::loss::reward(bradley_terry{}, r, false), 2.5);
}

TEST_CASE("bradley_terry: hyper-parameters out of range are refused in words") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, nan}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(bradley_terry{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::bradley_terry: label_smoothing is ");
        CHECK_THROWS_MESSAGE(bradley_terry{.center = bad}.validate(), prefer::value_error,
                             "prefer::loss::bradley_terry: center is ");
    }
    CHECK_THROWS_MESSAGE(bradley_terry{.label_smoothing = 0.5}.validate(), prefer::value_error,
                         "must be in [0, 0.5)");
    CHECK_THROWS_MESSAGE(bradley_terry{.center = -1}.validate(), prefer::value_error,
                         "must be finite and >= 0");
    CHECK_NOTHROW((bradley_terry{0.499, 100}.validate()));
}
