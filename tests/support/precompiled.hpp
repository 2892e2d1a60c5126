// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What the build may compile once for all test programs. No test relies on it: each includes what
/// it uses.

#include <prefer/prefer.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>
