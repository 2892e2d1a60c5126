// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/losses/facts.hpp"

#include <prefer/loss/bernoulli_kl.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::bernoulli_kl;
using prefer::math::dual;
using prefer::test::family;

TEST_CASE("bernoulli_kl: the divergence of two coins") {
    CHECK_CLOSE(bernoulli_kl(2.0, 1.0), 0.06713075445313278167L, family::pair_loss);
    CHECK_CLOSE(bernoulli_kl(-2.0, -1.0), 0.06713075445313278167L, family::pair_loss);
    CHECK_CLOSE(bernoulli_kl(5.0, -3.0), 2.988329195690345145668L, family::pair_loss);
    CHECK_CLOSE(bernoulli_kl(2.0f, 1.0f), 0.06713075445313278167L, family::pair_loss);
    CHECK_SAME(bernoulli_kl(0.75, 0.75), 0.0);
    CHECK_SAME(bernoulli_kl(-40.0, -40.0), 0.0);
}

TEST_CASE("bernoulli_kl: no cancellation where the two are close") {
    CHECK_CLOSE(bernoulli_kl(30.0, 30.015625), 1.136361711086103693086e-17L, family::quoted);
    CHECK_CLOSE(bernoulli_kl(-30.0, -30.015625), 1.136361711340721327074e-17L, family::quoted);
    CHECK_CLOSE(bernoulli_kl(0.5, 0.5 + 0x1p-20), 1.068673072517242200205e-13L, family::quoted);
}

TEST_CASE("bernoulli_kl: the form for close logits meets the other one") {
    double const below = std::nextafter(1.0, 0.0);
    for (double const a : {-20.0, -1.5, 0.0, 0.25, 1.5, 20.0}) {
        CAPTURE(a);
        CHECK_CLOSE(bernoulli_kl(a, a - 1), bernoulli_kl(a, a - below), family::pair_loss);
        CHECK_CLOSE(bernoulli_kl(a, a + 1), bernoulli_kl(a, a + below), family::pair_loss);
    }
}

TEST_CASE("bernoulli_kl: slopes q - p in the second logit, and of the variance in the first") {
    using S = dual<double>;
    for (double const b : {-3.0, 1.75, 2.5, 30.0}) {
        CAPTURE(b);
        double const p = 0.880797077977882444;  // σ(2)
        double const q = 1 / (1 + std::exp(-b));
        CHECK_CLOSE(bernoulli_kl(S(2.0), S::variable(b)).gradient[0], q - p, family::gradient);
        CHECK_CLOSE(bernoulli_kl(S::variable(2.0), S(b)).gradient[0], p * (1 - p) * (2 - b),
                    family::gradient);
    }
}

TEST_CASE("bernoulli_kl: any finite logits give a number") {
    for (double const a : {-1e6, -800.0, 0.0, 800.0, 1e6}) {
        for (double const b : {-1e6, -800.0, 0.0, 800.0, 1e6}) {
            CAPTURE(a, b);
            CHECK(std::isfinite(bernoulli_kl(a, b)));
            CHECK(bernoulli_kl(a, b) >= 0);
            auto const y =
                bernoulli_kl(dual<double, 2>::variable(a, 0), dual<double, 2>::variable(b, 1));
            CHECK(std::isfinite(y.gradient[0]));
            CHECK(std::isfinite(y.gradient[1]));
            CHECK(std::isfinite(bernoulli_kl(static_cast<float>(a), static_cast<float>(b))));
        }
    }
    CHECK_CLOSE(bernoulli_kl(-1e6, 1e6), 1e6, family::pair_loss);
}
