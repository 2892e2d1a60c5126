// SPDX-License-Identifier: MIT
#include "support/losses/reference_free.hpp"

using group = prefer::test::reference_free_losses;

#include "evaluate_pairs_battery.hpp"
