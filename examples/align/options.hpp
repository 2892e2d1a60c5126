// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "align/losses.hpp"
#include "align/reference_rule.hpp"

namespace align {

struct settings {
    std::filesystem::path data;  ///< empty: the embedded task
    named_loss loss = make_loss("dpo");
    reference_rule reference = prefer::reference::frozen{};
    std::string reference_text = "frozen";

    std::size_t sft_steps = 0;
    std::size_t steps = 0;
    std::size_t batch = 0;
    double sft_rate = 0;
    double rate = 0;
    std::size_t window = 0;
    std::size_t embedding = 0;
    std::size_t hidden = 0;
    std::uint64_t seed = 1;
    double hold_out = 0.1;
    std::size_t max_length = 2048;
    bool skip_bad = false;

    // What follows changes nothing about the results.
    std::size_t threads = 1;
    std::filesystem::path out = "align-out";
    std::size_t save_every = 0;
    bool resume = false;
    bool quiet = false;

    /// Everything that the results depend on, apart from the data, as "option: value".
    std::vector<std::pair<std::string, std::string>> fingerprint() const;
};

/// The settings of a command line; none where it only asked for help or the list of losses, which
/// is then printed.
/// Throws `usage_error`, or the library's `value_error` for a loss with bad parameters.
std::optional<settings> parse_options(int argc, char const* const* argv);

}  // namespace align
