// SPDX-License-Identifier: MIT
// expect: "a view of this temporary container would dangle"
#include <vector>

#include <prefer/core/pair_batch.hpp>

int main() {
    std::vector<float> chosen(3);
    std::vector<float> rejected(3);
#if defined(PREFER_CONTROL)
    prefer::pair_batch batch{chosen, rejected};
#else
    prefer::pair_batch batch{chosen, std::vector<float>(rejected)};
#endif
    return static_cast<int>(batch.size());
}
