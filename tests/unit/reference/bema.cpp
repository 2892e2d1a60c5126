// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/threads.hpp"

#include <prefer/core/state.hpp>
#include <prefer/reference/bema.hpp>

#include <cstddef>
#include <vector>

using prefer::bfloat16;
using prefer::value_error;
using namespace prefer::reference;
using prefer::test::family;

TEST_CASE("bema: worked out by hand") {
    // ρ = 2, γ = 2, κ = 0.5, η = 1, every step; policy 1, then 4, from 0.
    // t = 1: β = 1/2, α = 1/4: average 0.5, reference 0.5 + 1/4 · 1 = 0.75.
    // t = 2: β = 6^-½ = 0.4082482905, α = 1/6: average 0.5 + 0.4082482905 · 3.5 = 1.9288690167,
    // reference 1.9288690167 + 4/6 = 2.5955356834.
    std::vector<double> policy{1}, start{0}, average{0}, reference{0};
    policy_parameters p, s;
    reference_parameters a, r;
    p.add("w", policy);
    s.add("w", start);
    a.add("w", average);
    r.add("w", reference);
    bema ema{{.average_power = 0.5, .bias_power = 1, .lag = 2, .multiplier = 2, .every = 1}};
    CHECK(ema.after_step(p, s, a, r));
    CHECK_CLOSE(average[0], 0.5, family::elementwise);
    CHECK_CLOSE(reference[0], 0.75, family::elementwise);
    policy[0] = 4;
    CHECK(ema.after_step(p, s, a, r));
    CHECK_CLOSE(average[0], 1.9288690167, family::quoted);
    CHECK_CLOSE(reference[0], 2.5955356834, family::quoted);
}

TEST_CASE("bema: a policy that stays is its own average; only every so many steps") {
    std::vector<bfloat16> policy(100000, bfloat16(0.5F)), reference(100000, bfloat16(0.0F));
    std::vector<bfloat16> const start = policy;
    std::vector<float> average(100000, 0.5F);
    policy_parameters p, s;
    reference_parameters a, r;
    p.add("w", policy);
    s.add("w", start);
    a.add("w", average);
    r.add("w", reference);
    bema ema{{.every = 3}};
    for (int step = 1; step <= 6; ++step) {
        CHECK(ema.after_step(prefer::test::threads{2}, p, s, a, r) == (step % 3 == 0));
        CHECK_SAME(static_cast<float>(reference[99999]), step < 3 ? 0.0F : 0.5F);
        prefer::state_writer out;
        ema.save(out, "bema");
        auto const bytes = out.finish();
        prefer::state_reader in(bytes);
        bema loaded{{.every = 3}};
        loaded.load(in, "bema");
        ema = loaded;
        bema other{{.every = 4}};
        prefer::state_reader again(bytes);
        CHECK_THROWS_AS(other.load(again, "bema"), prefer::state_error);
    }
}

TEST_CASE("bema: wrong options and sets") {
    CHECK_THROWS_AS(bema{{.average_power = 1.5}}, value_error);
    CHECK_THROWS_AS(bema{{.bias_power = -0.1}}, value_error);
    CHECK_THROWS_AS(bema{{.lag = 0.5}}, value_error);
    CHECK_THROWS_AS(bema{{.multiplier = -1}}, value_error);
    CHECK_THROWS_AS(bema{{.every = 0}}, value_error);
    std::vector<bfloat16> const policy(4), start(4);
    std::vector<bfloat16> narrow(4), reference(4);
    std::vector<float> average(4), short_one(3);
    policy_parameters p, s;
    p.add("w", policy);
    s.add("w", start);
    bema ema{{.every = 1}};
    reference_parameters n, a, r, few;
    n.add("w", narrow);
    a.add("w", average);
    r.add("w", reference);
    few.add("w", short_one);
    CHECK_THROWS_WITH(ema.after_step(p, s, n, r), Catch::Contains("not in float or double"));
    CHECK_THROWS_AS(ema.after_step(p, s, few, r), prefer::shape_error);
    CHECK_THROWS_AS(ema.after_step(p, s, a, a), value_error);
    CHECK_THROWS_AS(ema.after_step(p, p, a, few), prefer::shape_error);
    CHECK(ema.steps() == 0);
    CHECK(ema.after_step(p, p, a, r));
}
