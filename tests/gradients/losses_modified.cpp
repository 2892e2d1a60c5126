// SPDX-License-Identifier: MIT
#include "support/losses/modified.hpp"

using group = prefer::test::modified_losses;

#include "loss_battery.hpp"
