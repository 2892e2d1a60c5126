// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Everything but the backends, which are included one by one.

#include <prefer/config.hpp>
#include <prefer/core/core.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/logprob.hpp>
#include <prefer/loss/loss.hpp>
#include <prefer/math/math.hpp>
#include <prefer/online/online.hpp>
#include <prefer/reference/reference.hpp>
#include <prefer/reward/reward.hpp>
#include <prefer/sampler/sampler.hpp>
#include <prefer/version.hpp>
