// SPDX-License-Identifier: MIT
#include <prefer/core/backend.hpp>

#include "token_kl_battery.hpp"

TEST_CASE("the plain loop gives what every backend must give") {
    prefer::test::check_kl_backend(prefer::backend::plain{});
}
