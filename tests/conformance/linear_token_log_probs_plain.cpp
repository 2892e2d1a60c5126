// SPDX-License-Identifier: MIT
#include "linear_token_log_probs_battery.hpp"

TEST_CASE("the plain loop gives what every backend must give") {
    prefer::test::check_linear(prefer::backend::plain{});
}
