// SPDX-License-Identifier: MIT
// expect: "cannot be viewed as a vector"
#include <list>
#include <vector>

#include <prefer/core/view.hpp>

#if defined(PREFER_CONTROL)
using numbers = std::vector<float>;
#else
using numbers = std::list<float>;
#endif

int main() {
    numbers x(3);
    return static_cast<int>(prefer::as_vector(x).size());
}
