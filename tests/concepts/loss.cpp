// SPDX-License-Identifier: MIT

/// \file
/// What is a pair loss, and what is not: each reject has, beside it, what makes it one.

#include "support/catch.hpp"
#include "support/losses.hpp"

#include <prefer/loss/loss.hpp>

using prefer::pair;
using prefer::pair_loss;

namespace {

/// Works for every scalar.
struct generic {
    template <class S>
    S operator()(pair<S> const& p) const {
        return p.margin();
    }
};

/// Only for double: no gradients.
struct double_only {
    double operator()(pair<double> const& p) const { return p.margin(); }
};

/// Gives a plain number also for dual ones: its gradient would be lost.
struct drops_the_gradient {
    template <class S>
    double operator()(pair<S> const& p) const {
        if constexpr (requires { p.margin().value; }) {
            return p.margin().value;
        } else {
            return p.margin();
        }
    }
};

struct returns_nothing {
    template <class S>
    void operator()(pair<S> const&) const {}
};

struct not_const {
    template <class S>
    S operator()(pair<S> const& p) {
        return p.margin();
    }
};

struct takes_scalars {
    template <class S>
    S operator()(S const& chosen, S const& rejected) const {
        return chosen - rejected;
    }
};

struct wants_to_write {
    template <class S>
    S operator()(pair<S>& p) const {
        return p.margin();
    }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("pair_loss: every loss of the library is one", "",
                        prefer::test::pair_losses) {
    STATIC_REQUIRE(pair_loss<TestType>);
    STATIC_REQUIRE(pair_loss<TestType const>);
    STATIC_REQUIRE(pair_loss<TestType&>);
}

TEST_CASE("pair_loss: structs and lambdas are") {
    STATIC_REQUIRE(pair_loss<generic>);
    auto const lambda = [](auto const& p) { return 1 - 0.1 * p.margin(); };
    STATIC_REQUIRE(pair_loss<decltype(lambda)>);
    double const beta = 0.5;
    auto const capturing = [beta](auto const& p) { return beta * p.margin(); };
    STATIC_REQUIRE(pair_loss<decltype(capturing)>);
}

TEST_CASE("pair_loss: what has no gradient, no result or no pair is not") {
    STATIC_REQUIRE(!pair_loss<double_only>);
    STATIC_REQUIRE(!pair_loss<drops_the_gradient>);
    STATIC_REQUIRE(!pair_loss<returns_nothing>);
    STATIC_REQUIRE(!pair_loss<not_const>);
    STATIC_REQUIRE(!pair_loss<takes_scalars>);
    STATIC_REQUIRE(!pair_loss<wants_to_write>);
    STATIC_REQUIRE(!pair_loss<int>);
    STATIC_REQUIRE(!pair_loss<double (*)(double)>);
    auto const of_double = [](pair<double> const& p) { return p.margin(); };
    STATIC_REQUIRE(!pair_loss<decltype(of_double)>);
    auto const text = [](auto const&) { return "loss"; };
    STATIC_REQUIRE(!pair_loss<decltype(text)>);
}
