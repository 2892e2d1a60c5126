// SPDX-License-Identifier: MIT
// expect: "indices of candidates are unsigned"
#include <vector>

#include <prefer/sampler/first_round.hpp>

#if defined(PREFER_CONTROL)
using index = unsigned;
#else
using index = int;
#endif

int main() {
    std::vector<index> const indices{0, 1};
    std::vector<float> const rewards{1, 2};
    prefer::sampler::first_round(indices, rewards);
}
