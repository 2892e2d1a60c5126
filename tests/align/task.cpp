// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include "align/jobs.hpp"
#include "align/task.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

using namespace align;

TEST_CASE("the true reward is what its description says") {
    CHECK(letter_task::reward("c3", "ccc") == 3);
    CHECK(letter_task::reward("c3", "bcd") == 2);
    CHECK(letter_task::reward("c3", "") == -3);
    CHECK(letter_task::reward("a2", "aabb") == 0.5);
}

TEST_CASE("all responses are listed once") {
    auto const all = letter_task::responses();
    CHECK(all.size() == 1 + 6 + 36 + 216 + 1296);
    CHECK(std::set<std::string>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("labels are drawn from the Bradley-Terry model") {
    prefer::philox rng(11);
    double expected = 0;
    double variance = 0;
    double won = 0;
    auto const pairs = letter_task::draw(20'000, rng);
    for (auto const& p : pairs) {
        CHECK(p.chosen != p.rejected);
        double const difference =
            letter_task::reward(p.prompt, p.chosen) - letter_task::reward(p.prompt, p.rejected);
        double const better = 1 / (1 + std::exp(-std::abs(difference)));
        if (std::abs(difference) > 0) {
            expected += better;
            variance += better * (1 - better);
            won += difference > 0 ? 1 : 0;
        }
    }
    CHECK(std::abs(won - expected) < 5 * std::sqrt(variance));
}

TEST_CASE("win rate and KL come from the whole distributions") {
    // Rewards for "a2": "aa" 2, "a" 0, "b" -1, "ba" 1.
    std::vector<std::string> const responses{"aa", "a", "b", "ba"};
    std::vector<double> const before{0.1, 0.2, 0.3, 0.4};
    std::vector<double> const after{0.4, 0.3, 0.2, 0.1};
    std::vector<double> log_before;
    std::vector<double> log_after;
    double kl = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        log_before.push_back(std::log(before[i]));
        log_after.push_back(std::log(after[i]));
        kl += after[i] * std::log(after[i] / before[i]);
    }
    auto const o = compare_exactly("a2", responses, log_before, log_after);
    // aa beats 0.9 and ties 0.1, ba beats 0.5 and ties 0.4, a beats 0.3 and ties 0.2, b ties 0.3
    CHECK(std::abs(o.win_rate - (0.4 * 0.95 + 0.1 * 0.7 + 0.3 * 0.4 + 0.2 * 0.15)) < 1e-12);
    CHECK(std::abs(o.kl - kl) < 1e-12);
    CHECK(std::abs(o.reward_before - (0.2 + 0 - 0.3 + 0.4)) < 1e-12);
    CHECK(std::abs(o.reward_after - (0.8 + 0 - 0.2 + 0.1)) < 1e-12);
    auto const same = compare_exactly("a2", responses, log_before, log_before);
    CHECK(std::abs(same.win_rate - 0.5) < 1e-12);
    CHECK(same.kl == 0);
}

TEST_CASE("a split keeps prompts together when there are many, and loses nothing") {
    std::vector<preference> all;
    for (int i = 0; i < 300; ++i) {
        all.push_back({.prompt = "prompt " + std::to_string(i / 3),
                       .chosen = std::to_string(i),
                       .rejected = ""});
    }
    job work(vocabulary::all_bytes());
    split(all, 0.1, 1, work);
    CHECK(work.held_out.size() == 30);
    CHECK(work.training.size() == 270);
    for (auto const& h : work.held_out) {
        CHECK(std::none_of(work.training.begin(), work.training.end(),
                           [&](preference const& t) { return t.prompt == h.prompt; }));
    }
    job two(vocabulary::all_bytes());
    split({all[0], all[1]}, 0.99, 1, two);
    CHECK(two.training.size() == 1);
    CHECK(two.held_out.size() == 1);
    job none(vocabulary::all_bytes());
    split(all, 0, 1, none);
    CHECK(none.held_out.empty());
}

TEST_CASE("the unigram baseline is a distribution with one more of each") {
    auto const words = letter_task::words();  // six letters and the end
    std::vector<preference> const training{{.prompt = "a2", .chosen = "aa", .rejected = "b"}};
    unigram const u(words, training);
    // counts: a 3, end 2, five others 1; ten in all
    CHECK(std::abs(u.perplexity(training) - std::pow(0.3 * 0.3 * 0.2, -1.0 / 3)) < 1e-12);
}
