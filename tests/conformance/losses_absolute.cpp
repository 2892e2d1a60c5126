// SPDX-License-Identifier: MIT
#include "support/losses/absolute.hpp"

using group = prefer::test::absolute_losses;

#include "evaluate_pairs_battery.hpp"
