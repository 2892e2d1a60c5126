// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/random.hpp>
#include <prefer/online/policy_pairs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

using namespace prefer::online;

TEST_CASE("policy_pairs: sft against step 800") {
    // Prompt 1: two of each. Prompt 2: one of sft, two of 800. Prompt 3: none of sft.
    std::vector<scored_response> const responses{
        {1, 10, 0, 0.5}, {2, 20, 0, 3.0},   {1, 11, 800, 0.7}, {1, 12, 400, 9.0}, {2, 21, 800, 2.0},
        {1, 13, 0, 1.0}, {2, 22, 800, 5.0}, {3, 30, 800, 1.0}, {1, 14, 800, 1.0},
    };
    auto const made = policy_pairs(responses, 0, 800, label_source::reward_model, 17);
    REQUIRE(made.records.size() == 2);
    CHECK(made.records[0] == preference_record{.prompt = 1,
                                               .chosen = 11,
                                               .rejected = 10,
                                               .chosen_score = 0.7,
                                               .rejected_score = 0.5,
                                               .chosen_version = 800,
                                               .rejected_version = 0,
                                               .source = label_source::reward_model,
                                               .step = 17});
    CHECK(made.records[1].chosen == 20);
    CHECK(made.records[1].rejected == 21);
    CHECK(made.ties == 1);      // 13 and 14
    CHECK(made.unpaired == 2);  // 22 and 30
    // The other way round, the same records.
    CHECK(policy_pairs(responses, 800, 0, label_source::reward_model, 17).records == made.records);
}

TEST_CASE("policy_pairs: a version against itself, two by two") {
    std::vector<scored_response> const responses{{1, 10, 8, 1}, {2, 20, 8, 1}, {1, 11, 8, 2},
                                                 {1, 12, 8, 3}, {1, 13, 8, 0}, {1, 14, 8, 5}};
    auto const made = policy_pairs(responses, 8, 8);
    REQUIRE(made.records.size() == 2);
    CHECK(made.records[0].chosen == 11);
    CHECK(made.records[0].rejected == 10);
    CHECK(made.records[1].chosen == 12);
    CHECK(made.records[1].rejected == 13);
    CHECK(made.unpaired == 2);
}

TEST_CASE("policy_pairs: nothing, and scores that are none") {
    std::vector<scored_response> responses;
    CHECK(policy_pairs(responses, 0, 1).records.empty());
    double const nan_score = std::numeric_limits<double>::quiet_NaN();
    responses = {{1, 1, 0, 1}, {1, 2, 5, nan_score}};
    CHECK(policy_pairs(responses, 0, 1).unpaired == 1);
    CHECK_THROWS_AS(policy_pairs(responses, 0, 5), prefer::value_error);
}

TEST_CASE("policy_pairs: any responses are all accounted for") {
    prefer::philox rng(20260601);
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<scored_response> responses(prefer::uniform_index(rng, 60));
        std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> counts;
        std::size_t members = 0;
        for (std::size_t i = 0; i < responses.size(); ++i) {
            responses[i] = {prefer::uniform_index(rng, 8), i, prefer::uniform_index(rng, 3),
                            static_cast<double>(prefer::uniform_index(rng, 5))};
            auto& count = counts[responses[i].prompt];
            count.first += responses[i].version == 0 ? 1U : 0U;
            count.second += responses[i].version == 2 ? 1U : 0U;
            members += responses[i].version != 1 ? 1U : 0U;
        }
        std::size_t expected = 0;
        for (auto const& [prompt, count] : counts) {
            expected += std::min(count.first, count.second);
        }
        auto const made = policy_pairs(responses, 0, 2);
        REQUIRE(made.records.size() + made.ties == expected);
        REQUIRE(2 * expected + made.unpaired == members);
        std::set<std::uint64_t> once;
        for (auto const& r : made.records) {
            REQUIRE(r.chosen_score > r.rejected_score);
            REQUIRE(r.chosen_version + r.rejected_version == 2);
            REQUIRE(responses[r.chosen].prompt == responses[r.rejected].prompt);
            REQUIRE(once.insert(r.chosen).second);
            REQUIRE(once.insert(r.rejected).second);
        }
    }
}
