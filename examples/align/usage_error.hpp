// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace align {

/// Options that make no sense; `what()` says which.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace align
