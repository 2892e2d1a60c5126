// SPDX-License-Identifier: MIT
// The call of the family's README, compiled and run.
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/prefer.hpp>

#include <vector>

TEST_CASE("README: a reference that follows") {
    std::vector<float> policy_embedding{0, 0}, policy_head{0};
    std::vector<float> reference_embedding{0, 0}, reference_head{0};
    int const steps = 2;
    auto const optimiser_step = [&] {
        for (float& w : policy_embedding) w += 1;
        policy_head[0] += 10;
    };

    // clang-format off
prefer::reference::policy_parameters from;
prefer::reference::reference_parameters to;
from.add("embedding", policy_embedding).add("head", policy_head);
to.add("embedding", reference_embedding).add("head", reference_head);
prefer::reference::tracker ref{prefer::reference::soft{.alpha = 0.6, .every = 1}};
for (int step = 0; step < steps; ++step) {
    optimiser_step();
    ref.after_step(from, to);  // true when it moved the reference
}
    // clang-format on

    // 0.6, then 0.6 + 0.6 · 1.4.
    CHECK_CLOSE(reference_embedding[1], 1.44, prefer::test::family::elementwise);
    CHECK_CLOSE(reference_head[0], 14.4, prefer::test::family::elementwise);
}
