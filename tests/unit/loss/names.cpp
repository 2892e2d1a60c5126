// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/losses.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

TEST_CASE("losses: every one has a name of its own, valid defaults, and named parameters") {
    std::vector<std::string> names;
    auto const look = [&]<class L>(L const& loss) {
        names.emplace_back(prefer::test::loss_facts<L>::name());
        CAPTURE(names.back());
        loss.validate();
        std::vector<std::string> parameters;
        std::apply([&](auto const&... p) { (parameters.emplace_back(p.name), ...); },
                   L::parameters());
        std::sort(parameters.begin(), parameters.end());
        CHECK(std::unique(parameters.begin(), parameters.end()) == parameters.end());
    };
    std::apply([&](auto const&... loss) { (look(loss), ...); }, prefer::test::pair_losses{});
    std::sort(names.begin(), names.end());
    CHECK(std::unique(names.begin(), names.end()) == names.end());
}
