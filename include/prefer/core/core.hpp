// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What every family stands on: views, element types, layouts, reductions, randomness, saved state.

#include <prefer/core/backend.hpp>
#include <prefer/core/communicator.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/example_batch.hpp>
#include <prefer/core/lanes.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/list_batch.hpp>
#include <prefer/core/multiply.hpp>
#include <prefer/core/pair.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/core/random.hpp>
#include <prefer/core/reduction.hpp>
#include <prefer/core/state.hpp>
#include <prefer/core/view.hpp>
