// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "align/preferences.hpp"

namespace align {

using token = std::int32_t;

/// Tokens of one prompt and response; the first `prompt_length` of them are given, not scored.
struct sequence {
    std::vector<token> tokens;
    std::int64_t prompt_length = 0;
};

struct sequence_pair {
    sequence chosen;
    sequence rejected;
};

/// Bytes as tokens. The model can say the `spoken` bytes and `end()`; it can read, besides, the
/// bytes that only prompts use, `answer()` between prompt and response, and `nothing()` before the
/// start.
class vocabulary {
public:
    explicit vocabulary(std::string_view spoken, std::string_view only_read = "")
        : spoken_(spoken), only_read_(only_read) {
        tokens_.fill(unknown);
        token next = 0;
        for (char const c : spoken_) tokens_[static_cast<unsigned char>(c)] = next++;
        next = nothing() + 1;
        for (char const c : only_read_) tokens_[static_cast<unsigned char>(c)] = next++;
    }

    static vocabulary all_bytes() {
        std::string bytes;
        for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
        return vocabulary(bytes);
    }

    token end() const { return static_cast<token>(spoken_.size()); }
    token answer() const { return end() + 1; }
    token nothing() const { return end() + 2; }

    std::size_t outputs() const { return spoken_.size() + 1; }
    std::size_t inputs() const { return outputs() + 2 + only_read_.size(); }

    token of(char c) const {
        token const t = tokens_[static_cast<unsigned char>(c)];
        if (t == unknown) throw std::invalid_argument("a byte is not in the vocabulary");
        return t;
    }

    /// The byte of a token that the model said; not for `end()`.
    char byte(token t) const { return spoken_[static_cast<std::size_t>(t)]; }

    /// prompt · answer · response (· end). A model that sees `window` tokens does not see what is
    /// further back in the prompt, so that part is left out.
    sequence encode(std::string_view prompt, std::string_view response, bool ends,
                    std::size_t window) const {
        if (prompt.size() + 1 > window) prompt.remove_prefix(prompt.size() + 1 - window);
        sequence out;
        out.tokens.reserve(prompt.size() + response.size() + 2);
        for (char const c : prompt) out.tokens.push_back(of(c));
        out.tokens.push_back(answer());
        out.prompt_length = static_cast<std::int64_t>(out.tokens.size());
        for (char const c : response) out.tokens.push_back(of(c));
        if (ends) out.tokens.push_back(end());
        return out;
    }

    sequence_pair encode(preference const& p, std::size_t window) const {
        return {encode(p.prompt, p.chosen, p.chosen_ends, window),
                encode(p.prompt, p.rejected, p.rejected_ends, window)};
    }

private:
    static constexpr token unknown = -1;

    std::string spoken_;
    std::string only_read_;
    std::array<token, 256> tokens_{};
};

}  // namespace align
