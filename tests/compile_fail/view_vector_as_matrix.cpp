// SPDX-License-Identifier: MIT
// Logits have two extents, and a flat vector has one.
// expect: "cannot be viewed as a matrix"
#include <vector>

#include <prefer/logprob/token_log_probs.hpp>

int main() {
    std::vector<float> logits(6);
    std::vector<int> labels(2);
    std::vector<float> out(2);
#if defined(PREFER_CONTROL)
    prefer::token_log_probs(prefer::matrix_view{logits.data(), 2, 3}, labels, out);
#else
    prefer::token_log_probs(logits, labels, out);
#endif
}
