// SPDX-License-Identifier: MIT
// expect: "cannot be viewed as a vector"
#include <list>
#include <vector>

#include <prefer/core/pair_batch.hpp>

int main() {
    std::vector<float> chosen(3);
#if defined(PREFER_CONTROL)
    std::vector<float> rejected(3);
#else
    std::list<float> rejected(3);
#endif
    prefer::pair_batch batch{chosen, rejected};
    return static_cast<int>(batch.size());
}
