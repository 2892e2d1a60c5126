// SPDX-License-Identifier: MIT

/// \file
/// Which losses are differences of scores; each reject has, beside it, what makes it one.

#include "support/catch.hpp"

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/f_divergence.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/mixture.hpp>
#include <prefer/loss/robust_dpo.hpp>
#include <prefer/loss/slic.hpp>
#include <prefer/loss/with_nll.hpp>
#include <prefer/loss/xpo.hpp>

using prefer::pair;
using prefer::score_difference_loss;
using prefer::loss::dpo;
using prefer::loss::hinge_norm;
using prefer::loss::mixture;
using prefer::loss::robust_dpo;
using prefer::loss::slic;
using prefer::loss::with_divergence;
namespace divergence = prefer::loss::divergence;

namespace {

struct declares {
    static constexpr bool score_difference = true;
    template <class S>
    S operator()(pair<S> const& p) const {
        return -p.margin();
    }
};

struct says_nothing {
    template <class S>
    S operator()(pair<S> const& p) const {
        return -p.margin();
    }
};

struct denies {
    static constexpr bool score_difference = false;
    template <class S>
    S operator()(pair<S> const& p) const {
        return -p.margin();
    }
};

}  // namespace

TEST_CASE("score_difference_loss: what declares it, and mixtures of nothing else") {
    STATIC_REQUIRE(score_difference_loss<declares>);
    STATIC_REQUIRE(score_difference_loss<declares const>);
    STATIC_REQUIRE(score_difference_loss<dpo>);
    STATIC_REQUIRE(score_difference_loss<robust_dpo>);
    STATIC_REQUIRE(score_difference_loss<mixture<dpo>>);
    STATIC_REQUIRE(score_difference_loss<mixture<dpo, hinge_norm, declares>>);
}

TEST_CASE("score_difference_loss: what does not, and what contains it") {
    STATIC_REQUIRE(!score_difference_loss<says_nothing>);
    STATIC_REQUIRE(!score_difference_loss<denies>);
    STATIC_REQUIRE(!score_difference_loss<int>);
    STATIC_REQUIRE(!score_difference_loss<slic>);
    STATIC_REQUIRE(!score_difference_loss<mixture<slic>>);
    STATIC_REQUIRE(!score_difference_loss<mixture<slic, dpo>>);
    STATIC_REQUIRE(!score_difference_loss<mixture<dpo, hinge_norm, denies>>);
    STATIC_REQUIRE(!score_difference_loss<prefer::loss::with_nll<dpo>>);
    STATIC_REQUIRE(!score_difference_loss<prefer::loss::xpo<dpo>>);
    STATIC_REQUIRE(!score_difference_loss<with_divergence<dpo, divergence::reverse_kl>>);
    STATIC_REQUIRE(
        !score_difference_loss<mixture<dpo, with_divergence<dpo, divergence::forward_kl>>>);
}

TEST_CASE("modified losses: pair losses themselves, over structs and lambdas") {
    STATIC_REQUIRE(prefer::pair_loss<with_divergence<declares, divergence::alpha>>);
    STATIC_REQUIRE(prefer::pair_loss<mixture<dpo, says_nothing>>);
    STATIC_REQUIRE(prefer::pair_loss<prefer::loss::xpo<says_nothing>>);
    auto const lambda = [](auto const& p) { return 1 - 0.1 * p.margin(); };
    STATIC_REQUIRE(prefer::pair_loss<prefer::loss::with_nll<decltype(lambda)>>);
}
