// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The online family: what decides which data a trainer sees next.

#include <prefer/online/policy_pairs.hpp>
#include <prefer/online/preference_journal.hpp>
#include <prefer/online/preference_record.hpp>
#include <prefer/online/preference_store.hpp>
#include <prefer/online/replay_reader.hpp>
#include <prefer/online/sample_rank.hpp>
