// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/math/log_sum_exp.hpp>

#include "align/model.hpp"
#include "align/vocabulary.hpp"
#include "align/workers.hpp"

namespace align {

/// Draws a token from softmax(logits): the first whose cumulated probability exceeds a uniform
/// number.
template <class Scalar>
token draw_token(Scalar const* logits, std::size_t count, prefer::philox& rng) {
    double const u = prefer::uniform01<double>(rng);
    double const normalizer =
        static_cast<double>(prefer::math::log_sum_exp(logits, logits + count));
    double cumulated = 0;
    for (std::size_t t = 0; t + 1 < count; ++t) {
        cumulated += std::exp(static_cast<double>(logits[t]) - normalizer);
        if (u < cumulated) return static_cast<token>(t);
    }
    return static_cast<token>(count - 1);
}

/// One response to each prompt, at temperature 1, of at most `max_length` bytes. Every prompt has
/// its own part of the random numbers, so two models that agree say the same.
template <class Scalar>
std::vector<std::string> sample_responses(model<Scalar> const& m,
                                          parameter_vector<Scalar> const& parameters,
                                          vocabulary const& words,
                                          std::vector<std::string> const& prompts,
                                          std::size_t max_length, prefer::philox const& rng,
                                          workers const& on) {
    struct conversation {
        std::vector<token> tokens;
        std::string response;
        prefer::philox rng;
        bool ended = false;
    };
    constexpr std::uint64_t numbers_each = 1U << 20;
    std::size_t const window = m.shape().window;
    std::vector<conversation> all;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        prefer::philox own = rng;
        own.discard(i * numbers_each);
        all.push_back({words.encode(prompts[i], "", false, window).tokens, "", own});
    }
    typename model<Scalar>::activations a;
    for (std::size_t length = 0; length < max_length; ++length) {
        a.rows = all.size();
        a.contexts.assign(all.size() * window, words.nothing());
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const& tokens = all[i].tokens;
            std::size_t const seen = std::min(window, tokens.size());
            std::copy(tokens.end() - static_cast<std::ptrdiff_t>(seen), tokens.end(),
                      a.contexts.begin() + static_cast<std::ptrdiff_t>((i + 1) * window - seen));
        }
        m.forward(parameters, a, on);
        bool ended = true;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].ended) continue;
            auto const logits = m.logits(parameters, a, i);
            token const t = draw_token(logits.data(), m.shape().outputs, all[i].rng);
            all[i].ended = t == words.end();
            if (!all[i].ended) {
                all[i].tokens.push_back(t);
                all[i].response += words.byte(t);
                ended = false;
            }
        }
        if (ended) break;
    }
    std::vector<std::string> out;
    for (auto& c : all) out.push_back(std::move(c.response));
    return out;
}

}  // namespace align
