// A test case without assertions, which must fail.
#include "support/catch.hpp"

TEST_CASE("asserts nothing") {}
