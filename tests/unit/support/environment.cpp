// SPDX-License-Identifier: MIT
#include "support/environment.hpp"
#include "support/catch.hpp"

#include <filesystem>
#include <stdexcept>

TEST_CASE("the source folder is the one with this file") {
    CHECK(std::filesystem::exists(prefer::test::source_dir() / "unit/support/environment.cpp"));
}

TEST_CASE("the seed does not change during a run") {
    CHECK(prefer::test::seed() == prefer::test::seed());
}

TEST_CASE("throws_message: type and words must both be right") {
    using prefer::test::throws_message;
    auto const fails = [] { throw std::invalid_argument{"loss::dpo: beta must be positive"}; };
    CHECK(throws_message<std::invalid_argument>(fails, "beta must be"));
    CHECK_FALSE(throws_message<std::invalid_argument>(fails, "alpha"));
    CHECK_FALSE(throws_message<std::invalid_argument>(fails, ""));
    CHECK_FALSE(throws_message<std::out_of_range>(fails, "beta"));
    CHECK_FALSE(throws_message<std::logic_error>(fails, "beta"));  // a base class
    CHECK_FALSE(throws_message<std::invalid_argument>([] {}, "beta"));
    CHECK_FALSE(throws_message<std::invalid_argument>([] { throw 1; }, "beta"));
    CHECK_THROWS_MESSAGE(fails(), std::invalid_argument, "beta");
    REQUIRE_THROWS_MESSAGE(fails(), std::invalid_argument, "dpo");
}
