// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/math/sigmoid.hpp>

#include "align/preferences.hpp"
#include "align/vocabulary.hpp"

namespace align {

/// The embedded task: preferences with a known true reward, over a space of responses that is small
/// enough to be listed whole.
///
/// A prompt such as "c3" asks for letters c and for a length of 3. Responses are all strings of 0
/// to 4 of the letters a to f. Pairs come from a writer who only half listens; the preferred one is
/// drawn with probability σ(reward difference), the Bradley-Terry model that the losses assume.
class letter_task {
public:
    static constexpr std::string_view letters = "abcdef";
    static constexpr std::string_view lengths = "234";
    static constexpr std::size_t max_length = 4;

    static vocabulary words() { return vocabulary(letters, lengths); }

    static std::vector<std::string> prompts() {
        std::vector<std::string> out;
        for (char const letter : letters) {
            for (char const length : lengths) out.push_back({letter, length});
        }
        return out;
    }

    /// All responses, 1 + 6 + 36 + 216 + 1296 of them.
    static std::vector<std::string> responses() {
        std::vector<std::string> out{""};
        for (std::size_t i = 0; i < out.size(); ++i) {
            if (out[i].size() == max_length) continue;
            for (char const letter : letters) out.push_back(out[i] + letter);
        }
        return out;
    }

    /// A response of the greatest length ends by itself: its end is not a token that is said.
    static bool ends(std::string_view response) { return response.size() < max_length; }

    /// +1 for each letter asked for, -1 for each letter too many or too few, +1/2 for each letter
    /// that is followed by a later one of the alphabet.
    static double reward(std::string_view prompt, std::string_view response) {
        int const wanted = prompt[1] - '0';
        double r = -std::abs(static_cast<double>(response.size()) - wanted);
        for (std::size_t i = 0; i < response.size(); ++i) {
            if (response[i] == prompt[0]) r += 1;
            if (i + 1 < response.size() && response[i] < response[i + 1]) r += 0.5;
        }
        return r;
    }

    /// Draws `count` preferences between different responses.
    static std::vector<preference> draw(std::size_t count, prefer::philox& rng) {
        auto const all_prompts = prompts();
        std::vector<preference> out;
        while (out.size() < count) {
            std::string const& prompt = all_prompts[prefer::uniform_index(rng, all_prompts.size())];
            std::string first = write(prompt, rng);
            std::string second = write(prompt, rng);
            if (first == second) continue;
            double const difference = reward(prompt, first) - reward(prompt, second);
            if (prefer::uniform01<double>(rng) >= prefer::math::sigmoid(difference)) {
                std::swap(first, second);
            }
            out.push_back({prompt, first, second, ends(first), ends(second)});
        }
        return out;
    }

private:
    /// One time in two the wanted length, else any from 1 to 4; each letter one time in four the
    /// one asked for, else any.
    static std::string write(std::string_view prompt, prefer::philox& rng) {
        std::size_t length = 1 + prefer::uniform_index(rng, max_length);
        if (prefer::uniform_index(rng, 2) == 0) length = static_cast<std::size_t>(prompt[1] - '0');
        std::string out;
        while (out.size() < length) {
            char const any = letters[prefer::uniform_index(rng, letters.size())];
            out += prefer::uniform_index(rng, 4) == 0 ? prompt[0] : any;
        }
        return out;
    }
};

/// What is true of one prompt, by listing every response; nothing is sampled.
struct exact_outcome {
    std::string prompt;
    double win_rate = 0;       ///< P(aligned response better than SFT response), ties count 1/2
    double kl = 0;             ///< KL(aligned ‖ SFT), in nats
    double reward_before = 0;  ///< mean true reward of the SFT policy
    double reward_after = 0;
    double mass_before = 0;  ///< total probability of all responses: 1, up to rounding
    double mass_after = 0;
};

/// From the log-probs of all `responses` under both policies.
inline exact_outcome compare_exactly(std::string const& prompt,
                                     std::vector<std::string> const& responses,
                                     std::vector<double> const& log_probs_before,
                                     std::vector<double> const& log_probs_after) {
    struct weighted {
        double reward;
        double before;
        double after;
    };
    exact_outcome out{.prompt = prompt};
    std::vector<weighted> all;
    for (std::size_t i = 0; i < responses.size(); ++i) {
        weighted const w{letter_task::reward(prompt, responses[i]), std::exp(log_probs_before[i]),
                         std::exp(log_probs_after[i])};
        out.kl += w.after * (log_probs_after[i] - log_probs_before[i]);
        out.reward_before += w.before * w.reward;
        out.reward_after += w.after * w.reward;
        out.mass_before += w.before;
        out.mass_after += w.after;
        all.push_back(w);
    }
    std::sort(all.begin(), all.end(),
              [](weighted const& a, weighted const& b) { return a.reward < b.reward; });
    double below = 0;  // SFT probability of all smaller rewards
    for (auto it = all.begin(); it != all.end();) {
        double before = 0;
        double after = 0;
        double const reward = it->reward;
        for (; it != all.end() && !(it->reward > reward); ++it) {
            before += it->before;
            after += it->after;
        }
        out.win_rate += after * (below + before / 2);
        below += before;
    }
    return out;
}

}  // namespace align
