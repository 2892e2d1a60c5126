// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The reward family: rewards of responses, made from comparisons, shaped and examined.

#include <prefer/reward/clip_rewards.hpp>
#include <prefer/reward/length_bias.hpp>
#include <prefer/reward/length_penalty.hpp>
#include <prefer/reward/normalize_rewards.hpp>
#include <prefer/reward/pairwise_reward.hpp>
