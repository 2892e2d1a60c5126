// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The numerical ground: stable scalar functions, dual numbers and packs of lanes, host and device.

#include <prefer/math/dual.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log1mexp.hpp>
#include <prefer/math/log_sigmoid.hpp>
#include <prefer/math/log_sum_exp.hpp>
#include <prefer/math/logaddexp.hpp>
#include <prefer/math/logit.hpp>
#include <prefer/math/pack.hpp>
#include <prefer/math/sigmoid.hpp>
#include <prefer/math/softplus.hpp>
