// SPDX-License-Identifier: MIT
#include <prefer/core/backend.hpp>

#include <vector>

#include <support/catch.hpp>

namespace {

struct opted_in {
    using backend_concept = prefer::backend_tag;
};

struct other_tag {
    using backend_concept = int;
};

TEST_CASE("a backend says that it is one") {
    STATIC_REQUIRE(prefer::backend_like<prefer::backend::plain>);
    STATIC_REQUIRE(prefer::backend_like<prefer::backend::plain const&>);
    STATIC_REQUIRE(prefer::backend_like<opted_in>);
    STATIC_REQUIRE_FALSE(prefer::backend_like<other_tag>);
    STATIC_REQUIRE_FALSE(prefer::backend_like<std::vector<float>>);
    STATIC_REQUIRE_FALSE(prefer::backend_like<int>);
    STATIC_REQUIRE_FALSE(prefer::backend_like<float(&)[2]>);
    STATIC_REQUIRE_FALSE(prefer::backend_like<float*>);
}

}  // namespace
