// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/orpo.hpp>
#include <prefer/math/dual.hpp>

#include <cmath>
#include <limits>

using prefer::log_probs;
using prefer::pair;
using prefer::loss::orpo;
using prefer::loss::value_and_grad;
using prefer::test::family;

namespace {

double const none = std::numeric_limits<double>::quiet_NaN();  // not given
double const log_2 = 0.693147180559945309;

/// The odds term alone, with weight 1.
orpo const odds{.beta = 1, .nll_weight = 0};

/// One token each.
template <class T>
pair<T> tokens(T chosen, T rejected) {
    auto const missing = std::numeric_limits<T>::quiet_NaN();
    return {{chosen, missing, T(1)}, {rejected, missing, T(1)}};
}

}  // namespace

TEST_CASE("orpo: defaults and inputs") {
    orpo const loss;
    CHECK_SAME(loss.beta, 0.1);
    CHECK_SAME(loss.nll_weight, 1.0);
    CHECK(loss.nll_of == log_probs::averaged);
    STATIC_REQUIRE(orpo::inputs().lengths);
    STATIC_REQUIRE(!orpo::inputs().reference);
}

TEST_CASE("orpo: the log odds ratio of averages, with its gradient (F7)") {
    auto const y = value_and_grad(odds, pair<double>{{-3, none, 3}, {-10, none, 5}});  // -1, -2
    CHECK_CLOSE(y.loss, 0.238183026413828255, family::pair_loss);  // log(1 + e^-1.31326169)
    CHECK_CLOSE(y.d_chosen, -0.335286607367832438 / 3, family::pair_loss);
    CHECK_CLOSE(y.d_rejected, 0.245114150616004104 / 5, family::pair_loss);
    auto const weighted = value_and_grad(orpo{}, pair<double>{{-3, none, 3}, {-10, none, 5}});
    CHECK_CLOSE(weighted.loss, 1.0238183026413828, family::pair_loss);
    CHECK_CLOSE(weighted.d_chosen, -0.0335286607367832438 / 3 - 1 / 3.0, family::pair_loss);
}

TEST_CASE("orpo: the log-odds keep their digits near probability 1, in float too (F7)") {
    // Against probability 1/2, of log-odds 0, the loss of a rejected response with log-prob x is
    // log(1 + e^logit(x)) = -log(1 - e^x), and that of a chosen one is -x.
    struct row {
        double x;
        double expected;
        double biased;  // log-odds with an epsilon inside
    };
    for (row const& r :
         {row{-1e-8, 18.4206807489523655, 9.2104}, row{-1e-3, 6.90825523731547073, 6.8119},
          row{-1, 0.458675145387081891, 0.4586}, row{-30, 9.35762296884061243e-14, 0}}) {
        CAPTURE(r.x);
        CHECK_CLOSE(odds(tokens(-log_2, r.x)), r.expected, family::gradient);
        CHECK_CLOSE(odds(tokens(r.x, -log_2)), -r.x, family::gradient);
        if (r.x > -1) CHECK_DISTINGUISHES(r.expected, r.biased, family::quoted);
        float const x = static_cast<float>(r.x);
        float const half = static_cast<float>(-log_2);
        CHECK_CLOSE(odds(tokens(half, x)), r.expected, family::gradient);
        auto const y = value_and_grad(odds, tokens(half, x));
        CHECK(std::isfinite(y.d_rejected));
    }
    // The slope there is σ(-lo)/(1 - e^x): at 1e-8 close to 1e8.
    CHECK_CLOSE(value_and_grad(odds, tokens(-log_2, -1e-8)).d_rejected, 1e8, family::quoted);
}

TEST_CASE("orpo: a certain response has finite loss and slope, the documented limit (F7)") {
    // Chosen: the limits are 0 and -e^logit_l, the odds of the rejected.
    auto const sure = value_and_grad(odds, tokens(0.0, -2.0));
    CHECK(sure.loss >= 0);
    CHECK(sure.loss < 1e-150);
    CHECK_CLOSE(sure.d_chosen, -0.156517642749665652, family::gradient);
    CHECK(sure.d_rejected >= 0);
    CHECK(sure.d_rejected < 1e-150);
    // Rejected: as at -2^-511 or -2^-63.
    auto const wrong = value_and_grad(odds, tokens(-1.0, 0.0));
    CHECK_CLOSE(wrong.loss, 354.739534120744971, family::pair_loss);
    CHECK_CLOSE(wrong.d_chosen, -1.58197670686932642, family::pair_loss);  // -1/(1 - e^-1)
    CHECK_CLOSE(wrong.d_rejected, 6.70390396497129855e+153, family::pair_loss);
    auto const narrow = value_and_grad(odds, tokens(-1.0F, 0.0F));
    CHECK_CLOSE(narrow.loss, 44.2095972298894726, family::pair_loss);
    CHECK_CLOSE(narrow.d_rejected, 9.22337203685477581e+18, family::pair_loss);
    auto const both = value_and_grad(orpo{}, tokens(0.0, 0.0));
    CHECK_CLOSE(both.loss, 0.1 * log_2, family::pair_loss);
    CHECK(std::isfinite(both.d_chosen));
    CHECK(both.d_chosen < 0);
    // Sums that rounding lifted above 0 count as 0.
    for (double const above : {1e-320, 1e-12, 0.5, 3.0}) {
        CAPTURE(above);
        CHECK_SAME_BITS(odds(tokens(above, -2.0)), sure.loss);
        auto const y = value_and_grad(odds, tokens(above, -2.0));
        CHECK_SAME_BITS(y.d_chosen, sure.d_chosen);
        CHECK_SAME_BITS(odds(tokens(-1.0, above)), wrong.loss);
        auto const z = value_and_grad(odds, tokens(static_cast<float>(above), -2.0F));
        CHECK_CLOSE(z.d_chosen, -0.156517642749665652, family::gradient);
    }
}

TEST_CASE("orpo: hopeless responses have finite derivatives, the second ones too") {
    using S = prefer::math::dual<double, 2>;
    for (double const far : {79.0, 81.0, 710.0, 1e4}) {
        CAPTURE(far);
        pair<S> const p{{S::variable(-far, 0), none, 1.0}, {S::variable(-2 * far, 1), none, 1.0}};
        auto const y = value_and_grad(odds, p);
        CHECK_CLOSE(y.loss.value, std::exp(-far), family::quoted);  // log(1 + e^-far)
        for (double const second : {y.d_chosen.gradient[0], y.d_chosen.gradient[1],
                                    y.d_rejected.gradient[0], y.d_rejected.gradient[1]}) {
            CHECK(std::isfinite(second));
        }
    }
}

TEST_CASE("orpo: the likelihood is of the counted tokens, averaged or summed (F6)") {
    pair<double> const response{{-0.5 - 1.5, none, 2}, {-2, none, 2}};
    orpo const averaged{.beta = 0};
    CHECK_CLOSE(averaged(response), 1.0, family::pair_loss);
    CHECK_CLOSE(value_and_grad(averaged, response).d_chosen, -0.5, family::pair_loss);
    // With a prompt of log-probs -3 and -3 the scope is the caller's, by what is counted.
    pair<double> const with_prompt{{-3 - 3 - 0.5 - 1.5, none, 4}, {-2, none, 2}};
    CHECK_CLOSE(averaged(with_prompt), 2.0, family::pair_loss);
    orpo const summed{.beta = 0, .nll_weight = 0.5, .nll_of = log_probs::summed};
    CHECK_CLOSE(summed(response), 1.0, family::pair_loss);
    CHECK_CLOSE(value_and_grad(summed, response).d_chosen, -0.5, family::pair_loss);
}

TEST_CASE("orpo: an empty response has gradient 0 and no likelihood term") {
    auto const y = value_and_grad(orpo{}, pair<double>{{0, none, 0}, {-4, none, 2}});
    CHECK(y.loss >= 0);
    CHECK(y.loss < 1e-150);
    CHECK_SAME(y.d_chosen, 0.0);
    auto const z = value_and_grad(orpo{}, pair<double>{{-2, none, 2}, {0, none, 0}});
    CHECK_CLOSE(z.loss, 1 + 35.4739534120744971, family::pair_loss);
    CHECK_SAME(z.d_rejected, 0.0);
    CHECK(std::isnan(orpo{}(pair<double>{{-2, none, none}, {-1, none, 1}})));  // a missing length
}

TEST_CASE("orpo: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-0.1, inf, none}) {
        CAPTURE(bad);
        CHECK_THROWS_MESSAGE(orpo{.beta = bad}.validate(), prefer::value_error,
                             "prefer::loss::orpo: beta is ");
        CHECK_THROWS_MESSAGE(orpo{.nll_weight = bad}.validate(), prefer::value_error,
                             "prefer::loss::orpo: nll_weight is ");
    }
    CHECK_THROWS_MESSAGE(orpo{.nll_of = static_cast<log_probs>(2)}.validate(), prefer::value_error,
                         "prefer::loss::orpo: nll_of is 2, but must be a named enumerator");
    CHECK_NOTHROW((orpo{0, 0, log_probs::summed}.validate()));
}
