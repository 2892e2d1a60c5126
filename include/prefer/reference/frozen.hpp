// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace prefer::reference {

/// The reference stays what it is, as in DPO itself.
struct frozen {
    void validate() const {}
    double rate(::std::uint64_t) const { return 0; }
    ::std::vector<double> options() const { return {2}; }
};

}  // namespace prefer::reference
