// SPDX-License-Identifier: MIT
// A std::vector<bool> has no array of bool in it.
// expect: "cannot be viewed as a vector"
#include <vector>

#include <prefer/core/view.hpp>

#if defined(PREFER_CONTROL)
using mask = std::vector<char>;
#else
using mask = std::vector<bool>;
#endif

int main() {
    mask x(3);
    return static_cast<int>(prefer::as_vector(x).size());
}
