// SPDX-License-Identifier: MIT
#include "align/jobs.hpp"

#include "align/shuffle.hpp"
#include "align/task.hpp"
#include "align/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string_view>

namespace align {
namespace {

constexpr std::size_t embedded_pairs = 2000;
constexpr std::size_t prompts_to_split_by = 50;
constexpr std::size_t samples = 12;

/// "3 responses", "1 response"
std::string count(std::size_t n, std::string const& noun) {
    return std::to_string(n) + ' ' + noun + (n == 1 ? "" : "s");
}

std::string describe(settings const& s, reading const& r) {
    std::string out = s.data.string() + ": " + count(r.lines, "line") + ", " +
                      count(r.pairs.size(), "preference") + ".\n";
    if (r.blank > 0) out += "  " + count(r.blank, "blank line") + ".\n";
    if (r.bad > 0) {
        out += "  " + count(r.bad, "malformed line") + " skipped:\n";
        for (auto const& reason : r.bad_reasons) out += "    " + reason + '\n';
        if (r.bad > r.bad_reasons.size()) {
            out += "    and " + std::to_string(r.bad - r.bad_reasons.size()) + " more\n";
        }
    }
    if (r.empty > 0) out += "  " + count(r.empty, "empty response") + ", kept.\n";
    if (r.shortened > 0) {
        out += "  " + count(r.shortened, "response") + " cut so that prompt and response have " +
               std::to_string(s.max_length) + " bytes.\n";
    }
    if (r.no_room > 0) {
        out += "  " + count(r.no_room, "preference") +
               " left out: the prompt alone is longer than --max-length.\n";
    }
    if (r.identical > 0) {
        out += "  " + count(r.identical, "preference") + " left out: both responses are the same" +
               (r.shortened > 0 ? " (after cutting).\n" : ".\n");
    }
    return out;
}

/// Distinct prompts, held-out ones first, in order of appearance.
std::vector<std::string> first_prompts(job const& work, std::size_t limit) {
    std::vector<std::string> out;
    for (auto const* const side : {&work.held_out, &work.training}) {
        for (auto const& p : *side) {
            if (out.size() == limit) return out;
            if (std::find(out.begin(), out.end(), p.prompt) == out.end()) out.push_back(p.prompt);
        }
    }
    return out;
}

}  // namespace

void split(std::vector<preference> const& all, double hold_out, std::uint64_t seed, job& out) {
    std::map<std::string, std::vector<std::size_t>> by_prompt;
    for (std::size_t i = 0; i < all.size(); ++i) by_prompt[all[i].prompt].push_back(i);
    bool const whole_prompts = by_prompt.size() >= prompts_to_split_by;

    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!whole_prompts) {
            groups.push_back({i});
        } else if (by_prompt[all[i].prompt].front() == i) {
            groups.push_back(by_prompt[all[i].prompt]);
        }
    }
    prefer::philox rng = generator(seed, stream::split);
    shuffle(groups, rng);

    auto const wanted =
        static_cast<std::size_t>(std::ceil(hold_out * static_cast<double>(all.size())));
    std::vector<bool> is_held_out(all.size(), false);
    std::size_t held_out = 0;
    for (std::size_t g = 0; g + 1 < groups.size() && held_out < wanted; ++g) {
        for (std::size_t const i : groups[g]) is_held_out[i] = true;
        held_out += groups[g].size();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        (is_held_out[i] ? out.held_out : out.training).push_back(all[i]);
    }
    out.description += "Training on " + std::to_string(out.training.size()) + " of them, " +
                       std::to_string(out.held_out.size()) + " held out" +
                       (out.held_out.empty() ? "."
                        : whole_prompts      ? " (with their prompts)."
                                             : " (split by preference).");
}

job make_job(settings const& s) {
    job out(s.data.empty() ? letter_task::words() : vocabulary::all_bytes());
    if (s.data.empty()) {
        prefer::philox rng = generator(s.seed, stream::task);
        out.embedded = true;
        out.description = "The embedded task: " + count(embedded_pairs, "generated preference") +
                          " to " + count(letter_task::prompts().size(), "prompt") + ".\n";
        split(letter_task::draw(embedded_pairs, rng), s.hold_out, s.seed, out);
        out.sample_prompts = letter_task::prompts();
        out.sample_length = letter_task::max_length;
        return out;
    }
    reading const file = read_preferences(s.data, {s.max_length, s.skip_bad});
    out.description = describe(s, file);
    if (file.pairs.empty()) {
        throw std::runtime_error(s.data.string() + " has no preference to train on (" +
                                 count(file.lines, "line") + ", " + count(file.bad, "malformed") +
                                 ", " + count(file.identical + file.no_room, "pair") +
                                 " left out)");
    }
    split(file.pairs, s.hold_out, s.seed, out);
    out.sample_prompts = first_prompts(out, samples);
    out.sample_length = 200;
    return out;
}

std::string data_digest(job const& work) {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    auto const add = [&](std::string_view bytes) {
        for (char const c : bytes) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        }
    };
    for (auto const* const side : {&work.training, &work.held_out}) {
        add(std::to_string(side->size()));
        for (auto const& p : *side) {
            for (auto const* const text : {&p.prompt, &p.chosen, &p.rejected}) {
                add(' ' + std::to_string(text->size()) + ' ');
                add(*text);
            }
            add(p.chosen_ends ? "+" : "-");
            add(p.rejected_ends ? "+" : "-");
        }
    }
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

unigram::unigram(vocabulary const& words, std::vector<preference> const& training)
    : words_(words), log_probs_(words.outputs(), 1.0) {
    double total = static_cast<double>(words.outputs());
    for (auto const& p : training) {
        for (char const c : p.chosen) log_probs_[static_cast<std::size_t>(words.of(c))] += 1;
        total += static_cast<double>(p.chosen.size());
        if (p.chosen_ends) {
            log_probs_[static_cast<std::size_t>(words.end())] += 1;
            total += 1;
        }
    }
    for (double& x : log_probs_) x = std::log(x / total);
}

double unigram::perplexity(std::vector<preference> const& preferences) const {
    double sum = 0;
    double tokens = 0;
    for (auto const& p : preferences) {
        for (char const c : p.chosen) sum += log_probs_[static_cast<std::size_t>(words_.of(c))];
        tokens += static_cast<double>(p.chosen.size());
        if (p.chosen_ends) {
            sum += log_probs_[static_cast<std::size_t>(words_.end())];
            tokens += 1;
        }
    }
    return std::exp(-sum / tokens);
}

}  // namespace align
