// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/sampler/sampler.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <vector>

using prefer::philox;
using prefer::value_error;
using namespace prefer::sampler;

namespace {

using indices = std::vector<std::size_t>;
using pairs = std::vector<index_pair>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Calls `check` with the result of every builder on these candidates.
template <class Check>
void for_each_builder(indices const& list, std::vector<double> const& rewards, philox& rng,
                      Check const& check) {
    check("first_round", first_round(list, rewards));
    check("first_round, shuffled", first_round(list, rewards, rng));
    check("sorted_adjacent", sorted_adjacent(list, rewards));
    check("tournament", tournament(list, rewards));
    check("tournament, shuffled", tournament(list, rewards, rng));
    check("best_worst", best_worst(list, rewards));
    check("max_random", max_random(list, rewards, rng));
    check("random_pair", random_pair(list, rewards, rng));
    check("all_pairs", all_pairs(list, rewards));
    check("all_pairs, margin", all_pairs(list, rewards, 1.5));
}

}  // namespace

TEST_CASE("pairs: what each builder makes of the same candidates") {
    std::vector<double> const rewards{3, 5, 1, 4, 2, 9};
    indices const drawn{4, 1, 0, 2, 3};  // rewards 2, 5, 3, 1, 4
    CHECK(first_round(drawn, rewards).pairs == pairs{{1, 4}, {0, 2}});
    CHECK(first_round(drawn, rewards).unpaired == 1);
    CHECK(sorted_adjacent(drawn, rewards).pairs == pairs{{1, 3}, {0, 4}});
    CHECK(sorted_adjacent(drawn, rewards).unpaired == 1);
    // Round one: 5 beats 2, 3 beats 1, 4 goes on. Round two: 5 beats 3. Round three: 5 beats 4.
    CHECK(tournament(drawn, rewards).pairs == pairs{{1, 4}, {0, 2}, {1, 0}, {1, 3}});
    CHECK(tournament(drawn, rewards).unpaired == 0);
    CHECK(best_worst(drawn, rewards).pairs == pairs{{1, 2}});
    CHECK(best_worst(drawn, rewards).unpaired == 3);
    CHECK(all_pairs(drawn, rewards, 2).pairs == pairs{{1, 4}, {1, 2}, {3, 2}});
    CHECK(all_pairs(drawn, rewards, 2).ties == 7);
    CHECK(all_pairs(drawn, rewards).pairs.size() == 10);
}

TEST_CASE("pairs: equal rewards give no pair, and the first is the best") {
    std::vector<double> const equal{2, 2, 2}, two_best{1, 3, 3}, one{2};
    for (auto const& rewards : {equal, one}) {
        philox rng(3);
        for_each_builder(index_range(0, rewards.size()), rewards, rng,
                         [](char const* name, pair_list const& list) {
                             CAPTURE(name);
                             CHECK(list.pairs.empty());
                         });
    }
    CHECK(best_worst(index_range(0, 3), equal).ties == 1);
    CHECK(tournament(index_range(0, 3), equal).ties == 2);
    CHECK(best_worst(index_range(0, 3), two_best).pairs == pairs{{1, 0}});
    // A reward of 0 is a reward.
    std::vector<double> const zero{0, 1};
    CHECK(best_worst(index_range(0, 2), zero).pairs == pairs{{1, 0}});
}

TEST_CASE("pairs: any rewards, any sizes") {
    philox rng(20260401);
    for (int trial = 0; trial < 500; ++trial) {
        std::vector<double> rewards(20);
        for (double& r : rewards) r = static_cast<double>(prefer::uniform_index(rng, 6));
        indices list = index_range(0, 20);
        prefer::detail::shuffle(list, rng);
        list.resize(prefer::uniform_index(rng, 21));
        std::set<std::size_t> const named(list.begin(), list.end());
        std::size_t const n = list.size();
        for_each_builder(list, rewards, rng, [&](char const* name, pair_list const& made) {
            CAPTURE(name, n);
            for (auto const& pair : made.pairs) {
                REQUIRE(rewards[pair.chosen] > rewards[pair.rejected]);
                REQUIRE((named.contains(pair.chosen) && named.contains(pair.rejected)));
            }
        });
        for (auto const& made : {first_round(list, rewards), first_round(list, rewards, rng),
                                 sorted_adjacent(list, rewards)}) {
            REQUIRE(2 * (made.pairs.size() + made.ties) + made.unpaired == n);
            std::set<std::size_t> once;
            for (auto const& pair : made.pairs) {
                once.insert(pair.chosen);
                once.insert(pair.rejected);
            }
            REQUIRE(once.size() == 2 * made.pairs.size());
        }
        for (auto const& made : {tournament(list, rewards), tournament(list, rewards, rng)}) {
            REQUIRE(made.pairs.size() + made.ties == (n == 0 ? 0 : n - 1));
            // Whoever loses is out: rejected at most once.
            std::set<std::size_t> lost;
            for (auto const& pair : made.pairs) REQUIRE(lost.insert(pair.rejected).second);
        }
        auto const all = all_pairs(list, rewards);
        REQUIRE(all.pairs.size() + all.ties == n * (n - (n > 0 ? 1 : 0)) / 2);
        // The order of the candidates does not matter to sorted_adjacent, but for equals.
        if (n >= 2) {
            auto const best = best_worst(list, rewards);
            for (std::size_t const i : list) {
                if (best.pairs.empty()) break;
                REQUIRE(rewards[i] <= rewards[best.pairs[0].chosen]);
                REQUIRE(rewards[i] >= rewards[best.pairs[0].rejected]);
            }
        }
    }
}

TEST_CASE("pairs: oriented by raw rewards, chosen by shaped ones") {
    // Raw 5, 4, 1; a length penalty makes that 2, 3, 1. Shaped best against shaped worst is
    // candidate 1 against 2; of the shaped best against the raw best, the raw rewards turn it.
    std::vector<double> const raw{5, 4, 1}, shaped{2, 3, 1};
    auto const all = all_pairs(index_range(0, 3), shaped);
    CHECK(all.pairs == pairs{{1, 0}, {0, 2}, {1, 2}});
    CHECK(oriented_by(all, raw).pairs == pairs{{0, 1}, {0, 2}, {1, 2}});
    std::vector<double> const flat{4, 4, 1};
    auto const turned = oriented_by(all, flat);
    CHECK(turned.pairs == pairs{{0, 2}, {1, 2}});
    CHECK(turned.ties == 1);
    std::vector<double> const short_one{5, 4};
    CHECK_THROWS_AS(oriented_by(all, short_one), value_error);
}

TEST_CASE("pairs: identical texts leave") {
    std::vector<double> const rewards{5, 4, 1};
    std::vector<int> const keys{7, 7, 8};
    auto list = all_pairs(index_range(0, 3), rewards);
    CHECK(drop_identical(list, keys) == 1);
    CHECK(list.pairs == pairs{{0, 2}, {1, 2}});
    std::vector<int> const too_few{7, 7};
    CHECK_THROWS_AS(drop_identical(list, too_few), value_error);
    CHECK(list.pairs.size() == 2);
}

TEST_CASE("pairs: wrong indices, rewards and margins") {
    std::vector<double> const rewards{1, not_a_number, 3};
    philox rng(1);
    philox const before = rng;
    indices const far{0, 3}, bad{0, 1}, good{2, 0};
    CHECK_THROWS_WITH(first_round(far, rewards), Catch::Contains("indices[1] is 3"));
    CHECK_THROWS_WITH(tournament(bad, rewards, rng), Catch::Contains("rewards[1] is nan"));
    CHECK_THROWS_AS(first_round(far, rewards, rng), value_error);
    CHECK_THROWS_AS(sorted_adjacent(bad, rewards), value_error);
    CHECK_THROWS_AS(best_worst(bad, rewards), value_error);
    CHECK_THROWS_AS(max_random(bad, rewards, rng), value_error);
    CHECK_THROWS_AS(random_pair(far, rewards, rng), value_error);
    CHECK_THROWS_AS(all_pairs(bad, rewards), value_error);
    CHECK_THROWS_AS(all_pairs(good, rewards, -1), value_error);
    CHECK_THROWS_AS(all_pairs(good, rewards, not_a_number), value_error);
    CHECK(rng == before);
    // A reward that nobody names may be anything.
    CHECK(best_worst(good, rewards).pairs == pairs{{2, 0}});
}
