// SPDX-License-Identifier: MIT
// expect: "gradients are written, so they are not const"
#include <vector>

#include <prefer/core/pair_batch.hpp>

int main() {
    std::vector<float> chosen(3);
#if defined(PREFER_CONTROL)
    std::vector<float> rejected(3);
#else
    std::vector<float> const rejected(3);
#endif
    prefer::pair_gradients gradients{chosen, rejected};
    return static_cast<int>(gradients.d_policy_chosen.size());
}
