// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The list of all pair losses.

#include "support/losses/absolute.hpp"
#include "support/losses/modified.hpp"
#include "support/losses/reference_free.hpp"
#include "support/losses/reward_models.hpp"
#include "support/losses/with_reference.hpp"

#include <tuple>
#include <utility>

namespace prefer::test {

template <class... Lists>
using concatenated = decltype(std::tuple_cat(std::declval<Lists>()...));

/// Every pair loss of the library, and some of its losses that are made of losses.
using pair_losses = concatenated<with_reference_losses, absolute_losses, reference_free_losses,
                                 reward_models_losses, modified_losses>;

}  // namespace prefer::test
