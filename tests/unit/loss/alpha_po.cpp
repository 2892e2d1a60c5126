// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/alpha_po.hpp>
#include <prefer/loss/simpo.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::alpha_po;
using prefer::loss::simpo;
using prefer::loss::simpo_gamma;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

double const none = std::numeric_limits<double>::quiet_NaN();  // not given
double const log_2 = 0.693147180559945309;

}  // namespace

TEST_CASE("alpha_po: defaults and inputs") {
    alpha_po const loss;
    CHECK_SAME(loss.alpha, 0.25);
    CHECK_SAME(loss.beta, 2.0);
    CHECK_SAME(loss.gamma, 0.25);
    CHECK(loss.gamma_is == simpo_gamma::ratio);
    CHECK_SAME(loss.label_smoothing, 0.0);
    STATIC_REQUIRE(alpha_po::inputs().lengths);
    STATIC_REQUIRE(!alpha_po::inputs().reference);
}

TEST_CASE("alpha_po: the reward for average probabilities 1/2 and 1/4") {
    pair<double> const p{{-2 * log_2, none, 2}, {-6 * log_2, none, 3}};
    // α = 1: r = 1 - 1/p, so -1 and -3; slopes of r are 1/p.
    auto const inverse = value_and_grad(alpha_po{.alpha = 1, .beta = 1, .gamma = 0}, p);
    CHECK_CLOSE(inverse.loss, 0.126928011042972496, family::pair_loss);
    CHECK_CLOSE(inverse.d_chosen, -0.119202922022117556 * 2 / 2, family::pair_loss);
    CHECK_CLOSE(inverse.d_rejected, 0.119202922022117556 * 4 / 3, family::pair_loss);
    // α = -1: r = p - 1, so -1/2 and -3/4; slopes p.
    auto const linear = value_and_grad(alpha_po{.alpha = -1, .beta = 1, .gamma = 0}, p);
    CHECK_CLOSE(linear.loss, 0.575939419878843562, family::pair_loss);
    CHECK_CLOSE(linear.d_chosen, -0.437823499114201896 / 2 / 2, family::pair_loss);
    CHECK_CLOSE(linear.d_rejected, 0.437823499114201896 / 4 / 3, family::pair_loss);
}

TEST_CASE("alpha_po: at alpha 0 it is simpo, and it gets there continuously") {
    pair<double> const p{{-10, none, 5}, {-9, none, 3}};
    auto const expected = value_and_grad(simpo{2.5, 0.55}, p);
    for (double const alpha : {0.0, -0.0, 1e-300, -1e-26, 1e-24, -1e-20, 1e-16, 1e-12}) {
        CAPTURE(alpha);
        auto const y = value_and_grad(alpha_po{alpha, 2.5, 0.55}, p);
        CHECK_CLOSE(y.loss, expected.loss, family::quoted);
        CHECK_CLOSE(y.d_chosen, expected.d_chosen, family::quoted);
        CHECK_CLOSE(y.d_rejected, expected.d_rejected, family::quoted);
        auto const narrow =
            value_and_grad(alpha_po{alpha, 2.5, 0.55}, pair<float>{{-10, 0, 5}, {-9, 0, 3}});
        CHECK_CLOSE(narrow.loss, expected.loss, family::quoted);
        CHECK_CLOSE(narrow.d_chosen, expected.d_chosen, family::quoted);
    }
    // Both without gradients: compilers and the C library may differ in a constant's last digit.
    CHECK_SAME_BITS((alpha_po{0, 2.5, 0.55}(p)), (simpo{2.5, 0.55}(p)));
    // Both readings of gamma, as in simpo (F8).
    CHECK_CLOSE((alpha_po{0, 2.5, 1.375, simpo_gamma::absolute}(p)), 0.281150136248314776,
                family::pair_loss);
}

TEST_CASE("alpha_po: rewards that would overflow stay finite and in order") {
    auto const check = []<class T>(T far) {
        alpha_po const loss{.alpha = 1, .beta = 10, .gamma = 0, .label_smoothing = 0.1};
        auto const finite = [&](pair<T> const& p) {
            auto const y = value_and_grad(loss, p);
            CHECK(std::isfinite(y.loss));
            CHECK(std::isfinite(y.d_chosen));
            CHECK(std::isfinite(y.d_rejected));
            return y;
        };
        auto const ordered = finite(pair<T>{{-far, T(0), T(1)}, {T(-2) * far, T(0), T(1)}});
        auto const swapped = finite(pair<T>{{T(-2) * far, T(0), T(1)}, {-far, T(0), T(1)}});
        CHECK(ordered.loss < swapped.loss);
        CHECK(swapped.d_chosen < 0);
        CHECK(swapped.d_rejected > 0);
        auto const equal = finite(pair<T>{{-far, T(0), T(1)}, {-far, T(0), T(1)}});
        CHECK_CLOSE(equal.loss, 0.693147180559945309, family::pair_loss);
        finite(pair<T>{{T(-1), T(0), T(1)}, {-far, T(0), T(1)}});
        finite(pair<T>{{-far, T(0), T(1)}, {T(-1), T(0), T(1)}});
    };
    for (double const far : {599.0, 600.0, 601.0, 709.0, 710.0, 1e4}) check(far);
    for (float const far : {59.0F, 60.0F, 61.0F, 88.0F, 89.0F, 1e4F}) check(far);
}

TEST_CASE("alpha_po: an empty response has reward 0 and gradient 0") {
    auto const y = value_and_grad(alpha_po{.alpha = -1, .beta = 1, .gamma = 0},
                                  pair<double>{{-log_2, none, 1}, {0, none, 0}});
    CHECK_CLOSE(y.loss, 0.974076984180106681, family::pair_loss);  // log(1 + e^(1/2))
    CHECK_SAME(y.d_rejected, 0.0);
}

TEST_CASE("alpha_po: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {inf, -inf, none}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(alpha_po{.alpha = bad}.validate(), prefer::value_error,
                             "prefer::loss::alpha_po: alpha is ");
        CHECK_THROWS_MESSAGE(alpha_po{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::alpha_po: beta is ");
        CHECK_THROWS_MESSAGE(alpha_po{.gamma = bad}.validate(), prefer::value_error,
                             "prefer::loss::alpha_po: gamma is ");
        CHECK_THROWS_MESSAGE(alpha_po{.label_smoothing = bad}.validate(), prefer::value_error,
                             "prefer::loss::alpha_po: label_smoothing is ");
    }
    CHECK_THROWS_MESSAGE(alpha_po{.alpha = inf}.validate(), prefer::value_error, "must be finite");
    CHECK_THROWS_MESSAGE(alpha_po{.beta = 0}.validate(), prefer::value_error,
                         "must be finite and positive");
    CHECK_THROWS_MESSAGE(alpha_po{.gamma_is = static_cast<simpo_gamma>(2)}.validate(),
                         prefer::value_error,
                         "prefer::loss::alpha_po: gamma_is is 2, but must be a named enumerator");
    CHECK_NOTHROW((alpha_po{-3, 1e-300, 0, simpo_gamma::absolute, 0.499}.validate()));
}
