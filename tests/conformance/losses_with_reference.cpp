// SPDX-License-Identifier: MIT
#include "support/losses/with_reference.hpp"

using group = prefer::test::with_reference_losses;

#include "evaluate_pairs_battery.hpp"
