// SPDX-License-Identifier: MIT
#include "support/losses/modified.hpp"

using group = prefer::test::modified_losses;

#include "evaluate_pairs_battery.hpp"
