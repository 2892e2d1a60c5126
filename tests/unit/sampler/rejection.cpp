// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/scripted_generator.hpp"
#include "support/threads.hpp"

#include <prefer/sampler/rejection.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

using prefer::philox;
using prefer::shape_error;
using prefer::value_error;
using prefer::sampler::drawn;
using prefer::sampler::duplicates;
using prefer::sampler::non_finite;
using prefer::sampler::rejection;
using prefer::sampler::rejection_maximum;
using prefer::sampler::short_pool;
using prefer::test::family;
using prefer::test::scripted_uniforms;
using prefer::test::threads;

namespace {

using indices = std::vector<std::size_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Rewards in steps, so that some are equal.
std::vector<double> some_rewards(philox& rng, std::size_t n) {
    std::vector<double> out(n);
    for (double& r : out) r = std::floor(prefer::uniform01<double>(rng) * 24) / 6;
    return out;
}

}  // namespace

TEST_CASE("rejection: the golden vectors of algorithm 1") {
    // Rewards, β and uniforms worked out by hand: in the first sweep the probabilities are
    // 0.135335, 0.018316, 1, 0.002479. The second number, 0.01, accepts candidate 1.
    std::vector<double> const rewards{1, 0, 2, -1};
    struct row {
        std::size_t count;
        indices accepted;
        std::size_t draws;
        std::size_t sweeps;
    };
    for (row const& r : {row{0, {}, 0, 0}, row{1, {1}, 2, 1}, row{2, {1, 2}, 3, 1},
                         row{3, {1, 2, 0}, 5, 2}, row{4, {1, 2, 0, 3}, 6, 2}}) {
        CAPTURE(r.count);
        auto rng = scripted_uniforms({0.5, 0.01, 0.99, 0.05, 0.7, 0.01});
        drawn const d = rejection{.beta = 0.5, .count = r.count}(rewards, rng);
        CHECK(d.indices == r.accepted);
        CHECK(d.draws == r.draws);
        CHECK(rng.calls() == r.draws);
        CHECK(d.sweeps == r.sweeps);
        CHECK(d.complete);
    }
    auto rng = scripted_uniforms({0.5, 0.01, 0.99, 0.05, 0.7, 0.01});
    drawn const d =
        rejection{.beta = 0.5, .count = 5, .short_pool = short_pool::truncate}(rewards, rng);
    CHECK(d.indices == indices{1, 2, 0, 3});
    CHECK(rng.calls() == 6);
    CHECK_FALSE(d.complete);
    CHECK_CLOSE(d.acceptance_rate, 4.0 / 6.0, family::elementwise);
}

TEST_CASE("rejection: a uniform number equal to the probability rejects") {
    std::vector<double> const rewards{1, 2};
    double const p = std::exp(-2.0);
    auto at = scripted_uniforms({p, 0.5});
    CHECK(rejection{.beta = 0.5, .count = 1}(rewards, at).indices == indices{1});
    // exp(-2) has a finer grid than the uniforms; the next lower one is below it.
    auto below = scripted_uniforms({p - 0x1p-53, 0.5});
    CHECK(rejection{.beta = 0.5, .count = 1}(rewards, below).indices == indices{0});
}

TEST_CASE("rejection: the maximum may follow each acceptance") {
    // Rewards 2, 1, 0, β = 1. u = 0.9 accepts 2. Of what is left the best is 1: with that maximum,
    // candidate 1 is accepted by u = 0.9 and then candidate 2 too. Algorithm 1 still measures
    // against 2: exp(-1) = 0.37 and exp(-2) = 0.14 are below 0.9.
    std::vector<double> const rewards{2, 1, 0};
    std::vector<double> const uniforms{0.9, 0.9, 0.9, 0.9, 0.9, 0.9};
    auto each_sweep = scripted_uniforms(uniforms);
    drawn const a = rejection{.beta = 1, .count = 3}(rewards, each_sweep);
    CHECK(a.indices == indices{0, 1, 2});
    CHECK(a.sweeps == 3);
    CHECK(a.draws == 6);
    auto each_acceptance = scripted_uniforms(uniforms);
    drawn const b = rejection{.beta = 1, .count = 3, .maximum = rejection_maximum::each_acceptance}(
        rewards, each_acceptance);
    CHECK(b.indices == indices{0, 1, 2});
    CHECK(b.sweeps == 1);
    CHECK(b.draws == 3);
}

TEST_CASE("rejection: the maximum after an acceptance is also of those passed before") {
    // 1 is passed (0.5 > exp(-1)), 2 accepted; now the best left is 1, and 0 meets exp(-1) = 0.37:
    // 0.3 accepts it, where exp(-2) = 0.14 would not.
    std::vector<double> const rewards{1, 2, 0};
    auto rng = scripted_uniforms({0.5, 0.5, 0.3});
    drawn const d = rejection{.beta = 1, .count = 2, .maximum = rejection_maximum::each_acceptance}(
        rewards, rng);
    CHECK(d.indices == indices{1, 2});
}

TEST_CASE("rejection: β = 0 is the exact top, β = infinity the order") {
    std::vector<double> const rewards{1, 3, 2, 3, 0, 2};
    for (auto const maximum : {rejection_maximum::each_sweep, rejection_maximum::each_acceptance}) {
        philox rng(1);
        CHECK(rejection{.beta = 0, .count = 4, .maximum = maximum}(rewards, rng).indices.size() ==
              4);
    }
    philox rng(1);
    CHECK(rejection{.beta = 0, .count = 4}(rewards, rng).indices == indices{1, 3, 2, 5});
    CHECK(rejection{.beta = infinity, .count = 4}(rewards, rng).indices == indices{0, 1, 2, 3});
    // Denormal, tiny and huge β have no usable reciprocal or product; the limits still hold.
    CHECK(rejection{.beta = 5e-324, .count = 4}(rewards, rng).indices == indices{1, 3, 2, 5});
    CHECK(rejection{.beta = 7e-309, .count = 4}(rewards, rng).indices == indices{1, 3, 2, 5});
    std::vector<double> const far{-1e308, 1e308, 0};
    CHECK(
        rejection{.beta = 0.5, .count = 3, .maximum = rejection_maximum::each_acceptance}(far, rng)
            .indices == indices{1, 2, 0});
    CHECK(rejection{.beta = infinity, .count = 2}(far, rng).indices == indices{0, 1});
    CHECK(rejection{.beta = 1e-300, .count = 2}(far, rng).indices == indices{1, 2});
    CHECK(rejection{.beta = 1e300, .count = 1}(far, rng).indices == indices{1});
}

TEST_CASE("rejection: duplicates by key") {
    // Candidates 0, 2 and 3 are the same text, with other rewards.
    std::vector<double> const rewards{0, 1, 5, 3};
    std::vector<int> const keys{7, 8, 7, 7};
    philox rng(1);
    rejection sampler{.beta = 0, .count = 2};
    CHECK(sampler(rewards, keys, rng).indices == indices{2, 3});
    sampler.duplicates = duplicates::merge_first;
    drawn const first = sampler(rewards, keys, rng);
    CHECK(first.indices == indices{1, 0});
    CHECK(first.merged == 2);
    sampler.duplicates = duplicates::merge_last;
    CHECK(sampler(rewards, keys, rng).indices == indices{3, 1});
    // In the place of the first: with β = ∞ the text comes first, by the index of its last.
    sampler.beta = infinity;
    CHECK(sampler(rewards, keys, rng).indices == indices{3, 1});
    sampler.count = 3;
    CHECK_THROWS_AS(sampler(rewards, keys, rng), value_error);
    CHECK_THROWS_WITH(sampler(rewards, rng), Catch::Contains("needs keys"));
    std::vector<int> const too_few{7, 8, 7};
    CHECK_THROWS_AS(sampler(rewards, too_few, rng), shape_error);
}

TEST_CASE("rejection: non-finite rewards are an error or dropped, never chosen") {
    std::vector<double> const rewards{not_a_number, 1, infinity, 0, -infinity, 2};
    philox rng(5);
    philox const before = rng;
    rejection sampler{.beta = 0.5, .count = 3};
    CHECK_THROWS_WITH(sampler(rewards, rng),
                      Catch::Contains("rewards[0] is") && Catch::Contains("but must be finite"));
    CHECK(rng == before);
    sampler.non_finite = non_finite::drop;
    drawn const d = sampler(rewards, rng);
    CHECK(d.dropped == 3);
    CHECK(std::set<std::size_t>(d.indices.begin(), d.indices.end()) ==
          std::set<std::size_t>{1, 3, 5});
}

TEST_CASE("rejection: short pools, empty pools, wrong options") {
    philox rng(5);
    philox const before = rng;
    std::vector<double> const two{1, 1}, none;
    CHECK_THROWS_WITH((rejection{.count = 5}(two, rng)),
                      Catch::Contains("count is 5, but only 2 candidates"));
    CHECK_THROWS_AS((rejection{.count = 1}(none, rng)), value_error);
    CHECK_THROWS_AS((rejection{.beta = -0.5, .count = 1}(two, rng)), value_error);
    CHECK_THROWS_AS((rejection{.beta = not_a_number, .count = 1}(two, rng)), value_error);
    CHECK_THROWS_AS((rejection{.count = 1, .max_sweeps = 0}(two, rng)), value_error);
    CHECK(rng == before);
    CHECK(rejection{.count = 0}(none, rng).complete);
    drawn const d = rejection{.count = 1, .short_pool = short_pool::truncate}(none, rng);
    CHECK(d.indices.empty());
    CHECK_FALSE(d.complete);
    CHECK_SAME(d.acceptance_rate, 0.0);
    // One sweep at most: of a gap that no number bridges, only the best.
    std::vector<double> const gap{0, -1e6};
    drawn const one = rejection{.beta = 1, .count = 2, .max_sweeps = 1}(gap, rng);
    CHECK(one.indices == indices{0});
    CHECK_FALSE(one.complete);
}

TEST_CASE("rejection: any rewards, any sizes") {
    philox rng(20260301);
    for (int trial = 0; trial < 2000; ++trial) {
        std::size_t const n = prefer::uniform_index(rng, 130);
        auto const rewards = some_rewards(rng, n);
        rejection const sampler{
            .beta = std::vector<double>{0, 0.05, 0.5, 5, infinity}[prefer::uniform_index(rng, 5)],
            .count = prefer::uniform_index(rng, n + 3),
            .maximum =
                trial % 2 == 0 ? rejection_maximum::each_sweep : rejection_maximum::each_acceptance,
            .short_pool = short_pool::truncate};
        philox const start = rng;
        drawn const d = sampler(rewards, rng);
        CAPTURE(trial, n, sampler.beta, sampler.count);
        REQUIRE(d.indices.size() == std::min(n, sampler.count));
        REQUIRE(d.complete == (sampler.count <= n));
        REQUIRE(d.sweeps <= sampler.count);
        std::set<std::size_t> const distinct(d.indices.begin(), d.indices.end());
        REQUIRE(distinct.size() == d.indices.size());
        REQUIRE((distinct.empty() || *distinct.rbegin() < n));
        // One uniform for each visit, and nothing else, was drawn.
        philox expected = start;
        expected.discard(2 * d.draws);
        REQUIRE(rng == expected);
        // A generator that cannot look ahead chooses the same.
        std::vector<double> uniforms(d.draws);
        philox again = start;
        for (double& u : uniforms) u = prefer::uniform01<double>(again);
        auto script = scripted_uniforms(uniforms);
        REQUIRE(sampler(rewards, script).indices == d.indices);
        REQUIRE(script.calls() == d.draws);
        // The best is in, unless the last sweep was cut before it.
        if (d.sweeps > 1) {
            auto const best = static_cast<std::size_t>(
                std::max_element(rewards.begin(), rewards.end()) - rewards.begin());
            REQUIRE(distinct.contains(best));
        }
    }
}

TEST_CASE("rejection: a shift of all rewards, or a common scale of them and β, changes nothing") {
    philox rng(20260302);
    auto const rewards = some_rewards(rng, 64);
    std::vector<double> shifted = rewards, scaled = rewards;
    for (double& r : shifted) r += 1024;
    for (double& r : scaled) r *= 8;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        philox a(seed), b(seed), c(seed);
        auto const expected = rejection{.beta = 0.5}(rewards, a).indices;
        CHECK(rejection{.beta = 0.5}(shifted, b).indices == expected);
        CHECK(rejection{.beta = 4}(scaled, c).indices == expected);
    }
}

TEST_CASE("rejection: views of all kinds") {
    std::vector<float> const every_other{1, 9, 0, 9, 2, 9, -1, 9};
    std::vector<prefer::bfloat16> const narrow{prefer::bfloat16(1.0F), prefer::bfloat16(0.0F),
                                               prefer::bfloat16(2.0F), prefer::bfloat16(-1.0F)};
    auto rng = scripted_uniforms({0.5, 0.01, 0.99, 0.05, 0.7});
    CHECK(rejection{.count = 3}(prefer::vector_view<float const>(every_other.data(), 4, 2), rng)
              .indices == indices{1, 2, 0});
    auto again = scripted_uniforms({0.5, 0.01, 0.99, 0.05, 0.7});
    CHECK(rejection{.count = 3}(narrow, again).indices == indices{1, 2, 0});
}

TEST_CASE("rejection: many prompts at once are the prompts one by one") {
    philox rng(20260303);
    std::vector<double> rewards;
    std::vector<std::size_t> offsets{0};
    std::vector<int> keys;
    for (int p = 0; p < 700; ++p) {
        auto const some = some_rewards(rng, prefer::uniform_index(rng, 40));
        rewards.insert(rewards.end(), some.begin(), some.end());
        for (std::size_t i = 0; i < some.size(); ++i) {
            keys.push_back(static_cast<int>(prefer::uniform_index(rng, 20)));
        }
        offsets.push_back(rewards.size());
    }
    rewards[100] = not_a_number;
    rejection const sampler{.beta = 0.5,
                            .count = 8,
                            .duplicates = duplicates::merge_last,
                            .non_finite = non_finite::drop,
                            .short_pool = short_pool::truncate};
    philox start(99, 1000);
    start.discard(3);
    auto const batch = sampler.per_prompt(prefer::backend::plain{}, rewards, keys, offsets, start);
    REQUIRE(batch.offsets.size() == offsets.size());
    std::size_t draws = 0, sweeps = 0, merged = 0, short_prompts = 0;
    for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
        std::size_t const n = offsets[p + 1] - offsets[p];
        philox one(99, 1000 + p);
        one.discard(3);
        drawn d = sampler(prefer::vector_view<double const>(rewards.data() + offsets[p], n),
                          prefer::vector_view<int const>(keys.data() + offsets[p], n), one);
        for (auto& index : d.indices) index += offsets[p];
        indices const part(batch.indices.begin() + static_cast<std::ptrdiff_t>(batch.offsets[p]),
                           batch.indices.begin() +
                               static_cast<std::ptrdiff_t>(batch.offsets[p + 1]));
        REQUIRE(part == d.indices);
        draws += d.draws;
        sweeps += d.sweeps;
        merged += d.merged;
        short_prompts += d.complete ? 0 : 1;
    }
    for (std::size_t const n : {1U, 2U, 3U}) {
        auto const same = sampler.per_prompt(threads{n}, rewards, keys, offsets, start);
        CHECK(same.indices == batch.indices);
        CHECK(same.offsets == batch.offsets);
        CHECK(same.draws == batch.draws);
        CHECK(same.dropped == batch.dropped);
    }
    CHECK(batch.draws == draws);
    CHECK(batch.sweeps == sweeps);
    CHECK(batch.merged == merged);
    CHECK(batch.dropped == 1);
    CHECK(batch.short_prompts == short_prompts);
    CHECK(short_prompts > 0);
    CHECK(short_prompts < 700);
}

TEST_CASE("rejection: what is wrong with a batch names the first prompt") {
    std::vector<double> rewards(20, 1.0);
    std::vector<std::size_t> const offsets{0, 8, 16, 20};
    philox const rng(1);
    prefer::backend::plain const on;
    CHECK_THROWS_WITH((rejection{.count = 8}.per_prompt(on, rewards, offsets, rng)),
                      Catch::Contains("only 4") && Catch::Contains("prompt 2"));
    rewards[9] = infinity;
    rewards[17] = not_a_number;
    CHECK_THROWS_WITH((rejection{.count = 4}.per_prompt(on, rewards, offsets, rng)),
                      Catch::Contains("rewards[9] is inf"));
    std::vector<std::size_t> const falling{0, 8, 4, 20}, short_ones{0, 8};
    CHECK_THROWS_AS((rejection{.count = 4}.per_prompt(on, rewards, falling, rng)), shape_error);
    CHECK_THROWS_AS((rejection{.count = 4}.per_prompt(on, rewards, short_ones, rng)), shape_error);
    std::vector<std::size_t> const nobody{0};
    std::vector<double> const nothing;
    CHECK(rejection{}.per_prompt(on, nothing, nobody, rng).indices.empty());
}

TEST_CASE("expected_acceptance: the mean probability of the first sweep") {
    std::vector<double> const rewards{1, 0, 2, -1};
    // (e^-2 + e^-4 + 1 + e^-6) / 4, by a 30-digit evaluation.
    CHECK_CLOSE(prefer::sampler::expected_acceptance(rewards, 0.5), 0.28903241857550,
                family::quoted);
    CHECK_SAME(prefer::sampler::expected_acceptance(rewards, 0), 0.25);
    CHECK_SAME(prefer::sampler::expected_acceptance(rewards, infinity), 1.0);
    std::vector<double> const none, bad{1, not_a_number};
    CHECK_THROWS_AS(prefer::sampler::expected_acceptance(none, 1), value_error);
    CHECK_THROWS_AS(prefer::sampler::expected_acceptance(bad, 1), value_error);
    CHECK_THROWS_AS(prefer::sampler::expected_acceptance(rewards, -1), value_error);
}
