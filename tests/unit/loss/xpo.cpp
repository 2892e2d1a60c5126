// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/xpo.hpp>

#include <cmath>
#include <limits>

using prefer::pair;
using prefer::loss::dpo;
using prefer::loss::ipo;
using prefer::loss::value_and_grad;
using prefer::loss::xpo;
using prefer::test::family;

namespace {

/// h = 6; `label` says whether the chosen response was drawn from the reference.
pair<double> drawn(double label) {
    return {{-3, -6, 2}, {-20, -17, 5}, label};
}

/// Reads the label for something else.
struct labelled {
    static constexpr prefer::pair_inputs inputs() { return {.labels = true}; }
    template <class S>
    S operator()(pair<S> const& p) const {
        return p.label * p.margin();
    }
};

}  // namespace

TEST_CASE("xpo: defaults and inputs") {
    xpo const loss;
    CHECK_SAME(loss.alpha, 1e-5);
    CHECK_SAME(loss.loss.beta, 0.1);
    CHECK(loss.inputs().labels);
    CHECK(loss.inputs().reference);
    CHECK_FALSE(loss.inputs().lengths);
    CHECK(xpo{ipo{}}.inputs().lengths);
}

TEST_CASE("xpo: the bonus is on the response that the reference drew") {
    auto const plain = value_and_grad(dpo{}, drawn(1));
    for (double const alpha : {1e-5, 0.5}) {
        auto const chosen = value_and_grad(xpo{dpo{}, alpha}, drawn(1));
        CHECK_CLOSE(chosen.loss, plain.loss - 3 * alpha, family::gradient);
        CHECK_CLOSE(chosen.d_chosen, plain.d_chosen + alpha, family::gradient);
        CHECK_SAME_BITS(chosen.d_rejected, plain.d_rejected);
        auto const rejected = value_and_grad(xpo{dpo{}, alpha}, drawn(0));
        CHECK_CLOSE(rejected.loss, plain.loss - 20 * alpha, family::gradient);
        CHECK_SAME_BITS(rejected.d_chosen, plain.d_chosen);
        CHECK_CLOSE(rejected.d_rejected, plain.d_rejected + alpha, family::gradient);
    }
}

TEST_CASE("xpo: a step down pushes the policy off the reference's response") {
    // Far beyond the margin, the preference is silent and the bonus alone is left.
    pair<double> p = drawn(1);
    p.rejected.policy = -2000;
    auto const y = value_and_grad(xpo{}, p);
    CHECK(y.d_chosen > 0);
    CHECK_CLOSE(y.d_chosen, 1e-5, family::gradient);
}

TEST_CASE("xpo: with any loss, whose rewards it reports") {
    CHECK_CLOSE((xpo{ipo{}, 0.5}(drawn(0))), ipo{}(drawn(0))-10, family::gradient);
    CHECK_SAME(prefer::loss::reward(xpo{dpo{.beta = 0.5}}, drawn(1).chosen, true), 1.5);
}

TEST_CASE("xpo: hyper-parameters out of range are refused in words") {
    double const inf = std::numeric_limits<double>::infinity();
    for (double const bad : {-1e-5, inf, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_MESSAGE((xpo{dpo{}, bad}.validate()), prefer::value_error,
                             "prefer::loss::xpo: alpha is ");
    }
    CHECK_THROWS_MESSAGE((xpo{dpo{.beta = 0}}.validate()), prefer::value_error,
                         "prefer::loss::dpo: beta is 0");
    CHECK_THROWS_MESSAGE((xpo{labelled{}}.validate()), prefer::value_error,
                         "prefer::loss::xpo: its loss reads labels");
    CHECK_NOTHROW((xpo{dpo{}, 0}.validate()));
}
