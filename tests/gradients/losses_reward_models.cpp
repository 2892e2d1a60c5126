// SPDX-License-Identifier: MIT
#include "support/losses/reward_models.hpp"

using group = prefer::test::reward_models_losses;

#include "loss_battery.hpp"
