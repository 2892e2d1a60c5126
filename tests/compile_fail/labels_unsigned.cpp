// SPDX-License-Identifier: MIT
// An unsigned label cannot hold the ignore index.
// expect: "labels are signed integers"
#include <vector>

#include <prefer/logprob/next_token_labels.hpp>

#if defined(PREFER_CONTROL)
using label = int;
#else
using label = unsigned;
#endif

int main() {
    std::vector<int> tokens(3);
    std::vector<int> offsets{0, 3};
    std::vector<int> prompts{1};
    std::vector<label> labels(3);
    prefer::next_token_labels(tokens, offsets, prompts, labels);
}
