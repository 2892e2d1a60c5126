// SPDX-License-Identifier: MIT
// Known failure G9: the policy in one precision and the reference in another.
// expect: "all log-probs and weights of a pair_batch have one element type"
#include <vector>

#include <prefer/core/pair_batch.hpp>

int main() {
    std::vector<float> policy(3);
#if defined(PREFER_CONTROL)
    std::vector<float> reference(3);
#else
    std::vector<double> reference(3);
#endif
    prefer::pair_batch batch{policy, policy, reference, reference};
    return static_cast<int>(batch.size());
}
