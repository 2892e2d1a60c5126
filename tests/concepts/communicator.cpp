// SPDX-License-Identifier: MIT
#include <prefer/core/communicator.hpp>

#include <cstddef>
#include <span>

#include <support/catch.hpp>
#include <support/in_process_communicator.hpp>

namespace {

struct functions {
    std::size_t size() const { return 1; }
    std::size_t rank() const { return 0; }
    void all_reduce_sum(std::span<double>) const {}
    void all_reduce_max(std::span<double>) const {}
};

/// As one of the user's own: functions for any type are functions for double.
struct generic : functions {
    using communicator_concept = prefer::communicator_tag;
    template <class T>
    void all_reduce_sum(std::span<T>) const {}
};

struct other_tag : functions {
    using communicator_concept = int;
};

struct without_max {
    using communicator_concept = prefer::communicator_tag;
    std::size_t size() const { return 1; }
    std::size_t rank() const { return 0; }
    void all_reduce_sum(std::span<double>) const {}
};

struct changed_by_use {
    using communicator_concept = prefer::communicator_tag;
    std::size_t size() const { return 1; }
    std::size_t rank() const { return 0; }
    void all_reduce_sum(std::span<double>) {}
    void all_reduce_max(std::span<double>) {}
};

struct signed_rank : functions {
    using communicator_concept = prefer::communicator_tag;
    int rank() const { return 0; }
};

TEST_CASE("a communicator says that it is one, and has four functions") {
    STATIC_REQUIRE(prefer::communicator_like<prefer::single_rank>);
    STATIC_REQUIRE(prefer::communicator_like<prefer::single_rank const&>);
    STATIC_REQUIRE(prefer::communicator_like<prefer::test::in_process_communicator>);
    STATIC_REQUIRE(prefer::communicator_like<generic>);
    STATIC_REQUIRE_FALSE(prefer::communicator_like<functions>);
    STATIC_REQUIRE_FALSE(prefer::communicator_like<other_tag>);
    STATIC_REQUIRE_FALSE(prefer::communicator_like<without_max>);
    STATIC_REQUIRE_FALSE(prefer::communicator_like<changed_by_use>);
    STATIC_REQUIRE_FALSE(prefer::communicator_like<signed_rank>);
    STATIC_REQUIRE_FALSE(prefer::communicator_like<int>);
}

}  // namespace
