// SPDX-License-Identifier: MIT
#include <prefer/logprob/token_divergence.hpp>

#include <support/catch.hpp>

namespace {

struct other {
    void validate() const {}
};

TEST_CASE("what token_kl measures") {
    STATIC_REQUIRE(prefer::token_divergence_like<prefer::token_divergence::reverse_kl>);
    STATIC_REQUIRE(prefer::token_divergence_like<prefer::token_divergence::forward_kl>);
    STATIC_REQUIRE(prefer::token_divergence_like<prefer::token_divergence::jensen_shannon>);
    STATIC_REQUIRE(prefer::token_divergence_like<prefer::token_divergence::alpha>);
    STATIC_REQUIRE_FALSE(prefer::token_divergence_like<other>);
    STATIC_REQUIRE_FALSE(prefer::token_divergence_like<double>);
}

}  // namespace
