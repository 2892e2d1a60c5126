// SPDX-License-Identifier: MIT
// expect: "temporary tensor would dangle"
#include <vector>

#include <prefer/reference/parameters.hpp>

int main() {
    prefer::reference::policy_parameters set;
#if defined(PREFER_CONTROL)
    std::vector<float> const weights(3);
    set.add("w", weights);
#else
    set.add("w", std::vector<float>(3));
#endif
}
