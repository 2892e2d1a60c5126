// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The loss family: formulas over pairs, and what evaluates them.

#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/hinge_norm.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/loss/robust_dpo.hpp>
#include <prefer/loss/slic.hpp>
