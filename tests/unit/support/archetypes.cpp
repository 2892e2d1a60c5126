// SPDX-License-Identifier: MIT
#include "support/archetypes.hpp"
#include "support/catch.hpp"

#include <concepts>
#include <random>
#include <type_traits>

using prefer::test::move_only_generator;

TEST_CASE("move_only_generator: a random bit generator that cannot be copied") {
    STATIC_REQUIRE(std::uniform_random_bit_generator<move_only_generator>);
    STATIC_REQUIRE(std::move_constructible<move_only_generator>);
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<move_only_generator>);
    STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<move_only_generator>);
    STATIC_REQUIRE_FALSE(std::is_default_constructible_v<move_only_generator>);

    move_only_generator first{7};
    move_only_generator second{7};
    CHECK(first() == second());
    CHECK(first() == second());
    CHECK(first.calls() == 2);
    CHECK(move_only_generator{8}() != move_only_generator{7}());
}
