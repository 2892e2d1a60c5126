// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace align {

/// One preference, as bytes.
struct preference {
    std::string prompt;
    std::string chosen;
    std::string rejected;
    bool chosen_ends = true;  ///< false where the response goes on after what is kept of it
    bool rejected_ends = true;
};

/// A line that is no preference; `what()` is the reason.
class format_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Reads one line of JSON. Throws `format_error`.
///
/// Three shapes are understood. Strings: {"prompt", "chosen", "rejected"}. Chat: the same with
/// lists of {"role", "content"}, where chosen and rejected may repeat the prompt, or where the
/// prompt is left out and is what their lists have in common. Transcripts: {"chosen", "rejected"}
/// as strings that start with a common prompt (`split_transcripts`). Other keys are not looked at.
preference parse_preference(std::string_view line);

/// Two whole transcripts as prompt and responses: the prompt is their longest common prefix, cut
/// back to just behind its last "\n\nAssistant:"; where it has none, to just behind its last white
/// space. Either way the cut is behind an ASCII character, so never inside a UTF-8 sequence.
preference split_transcripts(std::string_view chosen, std::string_view rejected);

/// Shortens the responses, each from its own end, so that prompt and response have at most
/// `max_length` bytes; never inside a UTF-8 sequence. Returns how many responses were shortened.
std::size_t shorten(preference& p, std::size_t max_length);

struct reading_options {
    std::size_t max_length = 2048;  ///< bytes of prompt and response together
    bool skip_bad = false;          ///< count malformed lines and go on
};

/// A file of preferences, and everything about it that a reader should be told.
struct reading {
    std::vector<preference> pairs;
    std::size_t lines = 0;
    std::size_t blank = 0;
    std::size_t bad = 0;                   ///< malformed lines, skipped
    std::vector<std::string> bad_reasons;  ///< the first few of them
    std::size_t empty = 0;      ///< empty responses; the end of a response is still scored
    std::size_t shortened = 0;  ///< responses cut to max_length
    std::size_t no_room = 0;    ///< pairs left out: the prompt alone fills max_length
    std::size_t identical = 0;  ///< pairs left out: both responses are the same
};

/// Reads a JSONL file, plain or gzip. Throws `std::runtime_error` naming file, line and reason.
reading read_preferences(std::filesystem::path const& file, reading_options const& options);

}  // namespace align
