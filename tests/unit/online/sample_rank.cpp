// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/online/sample_rank.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using prefer::philox;
using prefer::online::rso_sample_rank;
using prefer::online::sft_sample_rank;
using prefer::sampler::index_pair;

namespace {

/// Says the prompt, with 0, 1, 2, … marks.
std::vector<std::string> generate(std::string const& prompt, std::size_t n) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(prompt + std::string(i * 5 % 7, '!'));
    return out;
}

std::vector<float> by_length(std::string const&, std::vector<std::string> const& responses) {
    std::vector<float> out;
    for (auto const& r : responses) out.push_back(static_cast<float>(r.size()));
    return out;
}

}  // namespace

TEST_CASE("sft_sample_rank: responses two by two") {
    // Marks: 0, 5, 3, 1, 6.
    auto const ranked = sft_sample_rank(std::string("hm"), 5, generate, by_length);
    CHECK(ranked.pairs.pairs == std::vector<index_pair>{{1, 0}, {2, 3}});
    CHECK(ranked.pairs.unpaired == 1);
    CHECK(ranked.responses[1] == "hm!!!!!");
    CHECK_SAME(ranked.scores[4], 8.0);
}

TEST_CASE("rso_sample_rank: what rejection accepts, two by two") {
    philox rng(1);
    prefer::sampler::rejection const top{.beta = 0, .count = 4};
    auto const ranked = rso_sample_rank(std::string("hm"), 7, top, generate, by_length, rng);
    // The best four of 0, 5, 3, 1, 6, 4, 2: indices 4, 1, 5, 2.
    CHECK(ranked.pairs.pairs == std::vector<index_pair>{{4, 1}, {5, 2}});
}

TEST_CASE("sample_rank: a model that gives something else than it was asked for") {
    auto const short_one = [](std::string const& prompt, std::size_t n) {
        return generate(prompt, n - 1);
    };
    auto const one_score = [](std::string const&, std::vector<std::string> const&) {
        return std::vector<float>{1};
    };
    auto const bad_score = [](std::string const&, std::vector<std::string> const& responses) {
        return std::vector<double>(responses.size(), std::nan(""));
    };
    std::string const prompt = "hm";
    CHECK_THROWS_WITH(sft_sample_rank(prompt, 4, short_one, by_length),
                      Catch::Contains("what generate gave has size 3"));
    CHECK_THROWS_AS(sft_sample_rank(prompt, 4, generate, one_score), prefer::shape_error);
    CHECK_THROWS_AS(sft_sample_rank(prompt, 4, generate, bad_score), prefer::value_error);
}
