// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The list of all pair losses.

#include "support/losses/reference_free.hpp"
#include "support/losses/with_reference.hpp"

#include <tuple>

namespace prefer::test {

template <class... Lists>
using concatenated = decltype(std::tuple_cat(std::declval<Lists>()...));

/// Every pair loss of the library.
using pair_losses = concatenated<with_reference_losses, reference_free_losses>;

}  // namespace prefer::test
