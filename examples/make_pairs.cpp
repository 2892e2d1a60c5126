// SPDX-License-Identifier: MIT

/// \file
/// Scored candidates in, preference pairs out: a tool for a data pipeline.
///
///     make_pairs --in scored.jsonl --out pairs.jsonl [--sample 8 --beta 0.5] [--pairs first-round]
///
/// Each input line is {"prompt": …, "responses": […], "rewards": […]}; each output line is what
/// TRL reads, {"prompt": …, "chosen": …, "rejected": …}, with "score_chosen" and "score_rejected".
/// Without --in it runs on a small embedded file, and checks what it makes.

#include "support/atomic_file.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <prefer/prefer.hpp>

namespace {

using nlohmann::json;
using indices = std::vector<std::size_t>;
using prefer::sampler::pair_list;

/// One prompt with its candidates.
struct scored_prompt {
    std::string prompt;
    std::vector<std::string> responses;
    std::vector<double> rewards;
};

/// Reads a line; whatever is wrong with it is said in words.
scored_prompt parse(std::string const& line) {
    json const object = json::parse(line);
    scored_prompt out{object.at("prompt").get<std::string>(),
                      object.at("responses").get<std::vector<std::string>>(),
                      object.at("rewards").get<std::vector<double>>()};
    if (out.responses.size() != out.rewards.size()) {
        throw std::invalid_argument("there are " + std::to_string(out.responses.size()) +
                                    " responses, but " + std::to_string(out.rewards.size()) +
                                    " rewards");
    }
    return out;
}

/// The same number for the same text.
std::vector<std::size_t> keys_of(std::vector<std::string> const& texts) {
    std::map<std::string, std::size_t> known;
    std::vector<std::size_t> keys;
    for (auto const& text : texts) keys.push_back(known.emplace(text, known.size()).first->second);
    return keys;
}

struct settings {
    std::string in;
    std::string out;
    std::size_t sample = 0;  // 0: all candidates take part
    double beta = 0.5;
    std::string pairs = "best-worst";
    double margin = 0;
    std::uint64_t seed = 0;
};

struct totals {
    std::size_t prompts = 0, pairs = 0, ties = 0, identical = 0, short_prompts = 0, draws = 0,
                accepted = 0;
};

using builder = std::function<pair_list(indices const&, scored_prompt const&, prefer::philox&)>;

std::map<std::string, builder> builders(settings const& s) {
    namespace sampler = prefer::sampler;
    return {
        {"first-round", [](auto const& drawn, auto const& p,
                           auto&) { return sampler::first_round(drawn, p.rewards); }},
        {"sorted-adjacent", [](auto const& drawn, auto const& p,
                               auto&) { return sampler::sorted_adjacent(drawn, p.rewards); }},
        {"tournament", [](auto const& drawn, auto const& p,
                          auto&) { return sampler::tournament(drawn, p.rewards); }},
        {"best-worst", [](auto const& drawn, auto const& p,
                          auto&) { return sampler::best_worst(drawn, p.rewards); }},
        {"max-random", [](auto const& drawn, auto const& p,
                          auto& rng) { return sampler::max_random(drawn, p.rewards, rng); }},
        {"random", [](auto const& drawn, auto const& p,
                      auto& rng) { return sampler::random_pair(drawn, p.rewards, rng); }},
        {"all",
         [margin = s.margin](auto const& drawn, auto const& p, auto&) {
             return sampler::all_pairs(drawn, p.rewards, margin);
         }},
    };
}

/// All lines of `in`. The prompt of line n draws from stream n, so its pairs do not depend on the
/// lines before it.
totals make_pairs(settings const& s, std::istream& in, std::ostream& out) {
    builder const build = builders(s).at(s.pairs);
    totals sum;
    std::string line;
    for (std::uint64_t number = 1; std::getline(in, line); ++number) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        try {
            auto const prompt = parse(line);
            auto const keys = keys_of(prompt.responses);
            prefer::philox rng(s.seed, number);
            indices chosen = prefer::sampler::index_range(0, prompt.responses.size());
            if (s.sample > 0) {
                prefer::sampler::rejection const sampler{
                    .beta = s.beta,
                    .count = s.sample,
                    .duplicates = prefer::sampler::duplicates::merge_first,
                    .short_pool = prefer::sampler::short_pool::truncate};
                auto const drawn = sampler(prompt.rewards, keys, rng);
                chosen = drawn.indices;
                sum.draws += drawn.draws;
                sum.accepted += drawn.indices.size();
                sum.short_prompts += drawn.complete ? 0U : 1U;
            }
            auto list = build(chosen, prompt, rng);
            sum.identical += prefer::sampler::drop_identical(list, keys);
            sum.ties += list.ties;
            sum.pairs += list.pairs.size();
            ++sum.prompts;
            for (auto const& pair : list.pairs) {
                nlohmann::ordered_json const made{
                    {"prompt", prompt.prompt},
                    {"chosen", prompt.responses[pair.chosen]},
                    {"rejected", prompt.responses[pair.rejected]},
                    {"score_chosen", prompt.rewards[pair.chosen]},
                    {"score_rejected", prompt.rewards[pair.rejected]}};
                out << made.dump() << '\n';
            }
        } catch (std::exception const& error) {
            throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
        }
    }
    return sum;
}

void report(settings const& s, totals const& sum) {
    std::printf("%zu prompts, %zu pairs; %zu ties, %zu pairs of identical texts dropped\n",
                sum.prompts, sum.pairs, sum.ties, sum.identical);
    if (s.sample == 0) return;
    std::printf("accepted %zu of %zu draws; %zu prompts had fewer than %zu candidates\n",
                sum.accepted, sum.draws, sum.short_prompts, s.sample);
}

char const* const embedded =
    R"({"prompt":"2+2?","responses":["4","5","4","22"],"rewards":[1,-1,1,-3]}
{"prompt":"A colour?","responses":["blue","blue"],"rewards":[0.5,0.25]}

{"prompt":"Hm?","responses":["yes","no"],"rewards":[0,0]}
{"prompt":"Say \"hi\"","responses":["hi"],"rewards":[2]}
)";

/// What the embedded file must give.
bool self_test() {
    settings s;
    std::istringstream in(embedded);
    std::ostringstream out;
    auto const best_worst = make_pairs(s, in, out);
    report(s, best_worst);
    bool right = out.str() == R"({"prompt":"2+2?","chosen":"4","rejected":"22","score_chosen":1.0,)"
                              R"("score_rejected":-3.0})"
                              "\n" &&
                 best_worst.prompts == 4 && best_worst.ties == 1 && best_worst.identical == 1;

    // With β = 0 and both copies of "4" merged, the best two are "4" and "5".
    s.sample = 2;
    s.beta = 0;
    s.pairs = "first-round";
    std::istringstream again(embedded);
    std::ostringstream sampled;
    auto const first_round = make_pairs(s, again, sampled);
    report(s, first_round);
    right = right && first_round.pairs == 1 && first_round.short_prompts == 2 &&
            json::parse(sampled.str()).at("rejected") == "5";

    std::istringstream wrong(R"({"prompt":"x","responses":["a"],"rewards":[1,2]})");
    try {
        make_pairs(s, wrong, out);
        right = false;
    } catch (std::runtime_error const& error) {
        right = right && std::string(error.what()).starts_with("line 1: there are 1 responses");
    }
    return right;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Preference pairs from scored candidates (JSONL to JSONL)"};
    auto* const in = app.add_option("--in", s.in, "scored candidates; without, a self-test runs");
    app.add_option("--out", s.out, "pairs, written whole or not at all; needed with --in");
    app.add_option("--sample", s.sample, "rejection sampling of so many candidates first (0: all)");
    app.add_option("--beta", s.beta, "of the rejection sampling; 0 is the exact top")
        ->capture_default_str();
    std::vector<std::string> names;
    for (auto const& [name, build] : builders(s)) names.push_back(name);
    app.add_option("--pairs", s.pairs, "how pairs are made")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    auto* const margin = app.add_option("--margin", s.margin, "the least difference, for all");
    app.add_option("--seed", s.seed, "of everything random")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        if (in->count() == 0) {
            if (argc > 1) throw std::invalid_argument("--in is needed");
            return self_test() ? 0 : 1;
        }
        if (s.out.empty()) throw std::invalid_argument("--out is needed");
        if (margin->count() > 0 && s.pairs != "all") {
            throw std::invalid_argument("--margin is for --pairs all");
        }
        std::ifstream input(s.in, std::ios::binary);
        if (!input) throw std::runtime_error("cannot read " + s.in);
        std::ostringstream output;
        auto const sum = make_pairs(s, input, output);
        if (!input.eof()) throw std::runtime_error("cannot read all of " + s.in);
        support::write_file(std::filesystem::path(s.out), output.str());
        report(s, sum);
        return 0;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "make_pairs: %s\n", error.what());
        return 1;
    }
}
