// SPDX-License-Identifier: MIT
// expect: "labels are integers"
#include <vector>

#include <prefer/logprob/token_log_probs.hpp>

#if defined(PREFER_CONTROL)
using label = short;
#else
using label = float;
#endif

int main() {
    std::vector<float> logits(6);
    std::vector<label> labels(2);
    std::vector<float> out(2);
    prefer::token_log_probs(prefer::matrix_view{logits.data(), 2, 3}, labels, out);
}
