// SPDX-License-Identifier: MIT
// The call of the family's README, compiled and run.
#include "support/catch.hpp"

#include <prefer/prefer.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

std::vector<double> score(std::vector<std::string> const& responses) {
    std::vector<double> out;
    for (auto const& text : responses) out.push_back(static_cast<double>(text.size()) / 4);
    return out;
}

}  // namespace

TEST_CASE("README: from responses to pairs") {
    std::vector<std::string> const responses{"a",  "bb",  "ccc", "dddd", "bb",
                                             "ee", "fff", "g",   "hhhhh"};
    std::vector<int> const keys{0, 1, 2, 3, 1, 4, 5, 6, 7};
    std::size_t learned = 0;
    auto const learn = [&](std::string const& chosen, std::string const& rejected) {
        CHECK(chosen.size() > rejected.size());
        ++learned;
    };
    prefer::philox rng(1);

    // clang-format off
    std::vector<double> const rewards = score(responses);       // of one prompt's candidates
    prefer::sampler::rejection const sampler{.beta = 0.5, .count = 8};
    auto const drawn = sampler(rewards, rng);                   // .indices .sweeps .draws …
    auto list = prefer::sampler::first_round(drawn.indices, rewards);
    prefer::sampler::drop_identical(list, keys);                // equal keys: the same text
    for (auto const& pair : list.pairs) learn(responses[pair.chosen], responses[pair.rejected]);
    // clang-format on

    CHECK(drawn.indices.size() == 8);
    CHECK(learned == list.pairs.size());
    CHECK(learned + list.ties == 4);
}
