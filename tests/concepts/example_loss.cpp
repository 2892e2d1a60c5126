// SPDX-License-Identifier: MIT

/// \file
/// What is a loss of single responses or of ranked lists, and what is not.

#include "support/catch.hpp"
#include "support/examples.hpp"

#include <prefer/loss/loss.hpp>

using prefer::example;
using prefer::example_loss;
using prefer::list_loss;
using prefer::vector_view;

namespace {

struct generic {
    template <class S>
    S operator()(example<S> const& x) const {
        return -x.completion.policy;
    }
};

struct double_only {
    double operator()(example<double> const& x) const { return x.completion.policy; }
};

struct drops_the_gradient {
    template <class S>
    double operator()(example<S> const&) const {
        return 0;
    }
};

struct value_only {
    double operator()(vector_view<double const> d) const { return d[0]; }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("example_loss: every loss of single responses is one", "",
                        prefer::test::example_losses) {
    STATIC_REQUIRE(example_loss<TestType>);
    STATIC_REQUIRE(!prefer::pair_loss<TestType>);
}

TEST_CASE("example_loss: structs and lambdas are; what has no gradient or takes pairs is not") {
    STATIC_REQUIRE(example_loss<generic>);
    auto const lambda = [](auto const& x) { return -0.5 * x.completion.policy; };
    STATIC_REQUIRE(example_loss<decltype(lambda)>);
    STATIC_REQUIRE(example_loss<prefer::loss::reward_regression>);
    STATIC_REQUIRE(!example_loss<double_only>);
    STATIC_REQUIRE(!example_loss<drops_the_gradient>);
    STATIC_REQUIRE(!example_loss<prefer::loss::dpo>);
    STATIC_REQUIRE(!example_loss<int>);
}

TEST_CASE("list_loss: needs the value and the gradient of a list") {
    STATIC_REQUIRE(list_loss<prefer::loss::plackett_luce>);
    STATIC_REQUIRE(!list_loss<value_only>);
    STATIC_REQUIRE(!list_loss<prefer::loss::dpo>);
}
