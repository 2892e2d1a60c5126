// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The reference family: a reference model that follows the policy, softly or hard.

#include <prefer/reference/bema.hpp>
#include <prefer/reference/frozen.hpp>
#include <prefer/reference/hard.hpp>
#include <prefer/reference/move.hpp>
#include <prefer/reference/on_signal.hpp>
#include <prefer/reference/parameters.hpp>
#include <prefer/reference/scheduled.hpp>
#include <prefer/reference/soft.hpp>
#include <prefer/reference/tracker.hpp>
