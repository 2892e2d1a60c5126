// SPDX-License-Identifier: MIT

/// \file
/// The table of losses in include/prefer/loss/README.md is made here, from the structs and from
/// what the tests know of them. With the variable PREFER_UPDATE_TABLES set, the test rewrites it.

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/examples.hpp"
#include "support/losses.hpp"

#include <prefer/loss/loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace loss = prefer::loss;
using prefer::test::example_facts;
using prefer::test::loss_facts;

namespace {

std::string const begin_mark = "<!-- losses: begin, written by tests/unit/loss/table.cpp -->\n";
std::string const end_mark = "<!-- losses: end -->\n";

std::filesystem::path folder() {
    return prefer::test::source_dir() / ".." / "include" / "prefer" / "loss";
}

std::string read(std::filesystem::path const& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

/// How a hyper-parameter is printed.
std::string text(double x) {
    std::ostringstream out;
    out << x;
    return out.str();
}
std::string text(std::size_t x) {
    return std::to_string(x);
}
std::string text(prefer::log_probs x) {
    return x == prefer::log_probs::summed ? "summed" : "averaged";
}
std::string text(loss::ipo_target x) {
    return x == loss::ipo_target::half_beta ? "β/2" : "1/(2β)";
}
std::string text(loss::simpo_gamma x) {
    return x == loss::simpo_gamma::ratio ? "as γ/β" : "as γ";
}
std::string text(loss::rpo_divergence x) {
    switch (x) {
        case loss::rpo_divergence::backward_kl: return "backward KL";
        case loss::rpo_divergence::forward_kl: return "forward KL";
        case loss::rpo_divergence::squared: return "squared";
    }
    return "?";
}

template <class L>
std::string defaults() {
    std::string all;
    auto const add = [&](auto const& parameter) {
        L const defaulted{};
        using T = std::remove_cvref_t<decltype(defaulted.*parameter.member)>;
        if constexpr (requires(T const& x) { text(x); }) {
            if (!all.empty()) all += ", ";
            all += std::string("`") + parameter.name + "` " + text(defaulted.*parameter.member);
        }
    };
    std::apply([&](auto const&... p) { (add(p), ...); }, L::parameters());
    return all.empty() ? "none" : all;
}

template <class L>
std::string reads(bool scores_of_a_model) {
    if constexpr (requires { loss_facts<L>::reads_text(); }) return loss_facts<L>::reads_text();
    prefer::pair_inputs const in = L{}.inputs();
    std::string all = scores_of_a_model ? "a model's scores" : in.lengths ? "averages" : "sums";
    if (in.reference) all += ", reference";
    if (in.scores) all += ", scores";
    if (in.labels) all += ", labels";
    if (in.offsets) all += ", offsets";
    return all;
}

std::string limit(long double x) {
    if (std::isinf(x)) return x > 0 ? "∞" : "-∞";
    return text(std::round(static_cast<double>(x) * 1e4) / 1e4);
}

std::string join(std::vector<std::string> const& words) {
    std::string all;
    for (std::string const& w : words) all += (all.empty() ? "" : ", ") + w;
    return all;
}

std::string file_of(std::string const& name) {
    std::string const stem = name.substr(0, name.find('<'));
    return stem == "with_divergence" ? "f_divergence.hpp" : stem + ".hpp";
}

std::string row(std::vector<std::string> const& cells) {
    std::string line = "|";
    for (std::string const& cell : cells) line += " " + cell + " |";
    return line + "\n";
}

std::string link(std::string const& name) {
    return "[`" + name + "`](" + file_of(name) + ")";
}

template <class L>
std::string pair_row(bool scores) {
    using facts = loss_facts<L>;
    L const defaulted = facts::instances().front();
    std::vector<std::string> holds;
    if (facts::monotone(defaulted)) holds.emplace_back("monotone");
    if (facts::convex(defaulted)) holds.emplace_back("convex");
    if constexpr (requires { L::score_difference; }) holds.emplace_back("of the margin only");
    auto const limits = facts::at_infinity(defaulted);
    holds.emplace_back(limit(limits.below) + " ← h → " + limit(limits.above));
    return row({link(facts::name()), facts::formula(), reads<L>(scores), defaults<L>(),
                facts::at_zero_text(), join(holds), facts::source()});
}

template <class L>
std::string example_row() {
    using facts = example_facts<L>;
    L const defaulted = facts::instances().front();
    std::vector<std::string> holds;
    if (facts::monotone(defaulted)) holds.emplace_back("monotone");
    if (facts::convex(defaulted)) holds.emplace_back("convex");
    return row({link(facts::name()), facts::formula(), reads<L>(false), defaults<L>(),
                facts::at_zero_text(), join(holds), facts::source()});
}

std::string head(std::string const& title, std::string const& zero) {
    return "\n### " + title + "\n\n" +
           row({"Loss", "Formula", "Reads", "Defaults", zero, "Holds (defaults)", "Source"}) +
           "|---|---|---|---|---|---|---|\n";
}

template <class List>
std::string pair_rows(bool scores = false) {
    std::string all;
    auto const add = [&]<class L>(L const&) { all += pair_row<L>(scores); };
    std::apply([&](auto const&... l) { (add(l), ...); }, List{});
    return all;
}

std::string table() {
    using namespace prefer::test;
    std::string all = head("Pairs, with a reference", "At h = 0");
    all += pair_rows<with_reference_losses>() + pair_rows<absolute_losses>();
    all += head("Pairs, without a reference", "At equal log-probs");
    all += pair_rows<reference_free_losses>();
    all += head("Reward and preference models, as losses of pairs of scores", "At equal scores");
    all += pair_rows<reward_models_losses>(true);
    all += head("Losses made of losses (examples; any valid loss may stand inside)", "At h = 0");
    all += pair_rows<modified_losses>();
    all += head("Single responses", "At d = 0, label 1");
    std::apply(
        [&](auto const&... l) { ((all += example_row<std::remove_cvref_t<decltype(l)>>()), ...); },
        example_losses{});
    all += row({link("reward_regression"), "`(r - score)²`", "a model's scores, scores", "none",
                "score²", "convex", "2405.07863"});
    all += head("Ranked lists", "At equal log-ratios");
    all +=
        row({link("plackett_luce"), "`Σ_k [log Σ_{j>=k} e^(s_j) - s_k]`, `s = β·d`, k below `top`",
             reads<loss::plackett_luce>(false), defaults<loss::plackett_luce>(), "log K!", "convex",
             "Plackett 1975; Rafailov 2023 A.3"});
    return all + "\n";
}

}  // namespace

TEST_CASE("losses: the table of the README is what the structs and the tests say") {
    auto const path = folder() / "README.md";
    std::string document = read(path);
    std::size_t const first = document.find(begin_mark);
    std::size_t const last = document.find(end_mark);
    REQUIRE(first != std::string::npos);
    REQUIRE(last != std::string::npos);
    std::size_t const from = first + begin_mark.size();
    std::string const expected = table();
    if (std::getenv("PREFER_UPDATE_TABLES") != nullptr) {
        document.replace(from, last - from, expected);
        std::ofstream(path) << document;
        return;
    }
    INFO("PREFER_UPDATE_TABLES=1 makes this test write the table");
    std::istringstream lines(expected);
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(document.find(line + "\n", from) < last);
    }
    CHECK(document.substr(from, last - from) == expected);
}

TEST_CASE("losses: every header of the folder is linked from its README") {
    std::string const document = read(folder() / "README.md");
    for (auto const& entry : std::filesystem::directory_iterator(folder())) {
        std::string const name = entry.path().filename().string();
        if (entry.path().extension() != ".hpp" || name == "loss.hpp") continue;
        CAPTURE(name);
        CHECK(document.find("](" + name + ")") != std::string::npos);
    }
}

TEST_CASE("losses: every struct with a formula over pairs is in the list of tested losses") {
    // A header whose struct declares hyper-parameters and reads pairs belongs to a loss.
    std::vector<std::string> listed{"plackett_luce", "reward_regression"};
    auto const add = [&](std::string const& name) {
        listed.push_back(name.substr(0, name.find('<')));
    };
    std::apply(
        [&](auto const&... l) { (add(loss_facts<std::remove_cvref_t<decltype(l)>>::name()), ...); },
        prefer::test::pair_losses{});
    std::apply(
        [&](auto const&... l) {
            (add(example_facts<std::remove_cvref_t<decltype(l)>>::name()), ...);
        },
        prefer::test::example_losses{});
    listed.emplace_back("f_divergence");
    for (auto const& entry : std::filesystem::directory_iterator(folder())) {
        std::string const stem = entry.path().stem().string();
        if (entry.path().extension() != ".hpp") continue;
        if (read(entry.path()).find("static constexpr auto parameters()") == std::string::npos)
            continue;
        if (stem == "pair_loss") continue;  // where the member is described
        CAPTURE(stem);
        CHECK(std::find(listed.begin(), listed.end(), stem) != listed.end());
    }
}
