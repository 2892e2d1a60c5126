// SPDX-License-Identifier: MIT
// Known failure A5: the view would outlive the vector.
// expect: "a view of this temporary container would dangle"
#include <vector>

#include <prefer/core/view.hpp>

int main() {
    std::vector<float> x(3);
#if defined(PREFER_CONTROL)
    return static_cast<int>(prefer::as_vector(x).size());
#else
    return static_cast<int>(prefer::as_vector(std::vector<float>(x)).size());
#endif
}
