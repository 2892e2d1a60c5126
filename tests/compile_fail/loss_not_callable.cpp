// SPDX-License-Identifier: MIT
// expect: "a loss is callable with prefer::pair<S>"
#include <vector>

#include <prefer/core/pair_batch.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>

#if defined(PREFER_CONTROL)
using loss = prefer::loss::dpo;
#else
struct loss {
    double beta = 0.1;
};
#endif

int main() {
    std::vector<double> x(3);
    prefer::pair_batch batch{x, x, x, x};
    return static_cast<int>(prefer::evaluate_pairs(loss{}, batch).loss);
}
