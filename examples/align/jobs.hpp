// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "align/options.hpp"
#include "align/preferences.hpp"
#include "align/vocabulary.hpp"

namespace align {

/// What a run works on.
struct job {
    explicit job(vocabulary const& spoken_and_read) : words(spoken_and_read) {}

    vocabulary words;
    std::vector<preference> training;
    std::vector<preference> held_out;
    std::vector<std::string> sample_prompts;
    std::size_t sample_length = 0;  ///< bytes, at most
    bool embedded = false;          ///< the letter task, whose truth is known
    std::string description;        ///< lines about the data, for the reader
};

/// The job that the settings ask for: reads the file, or generates the embedded task, and splits.
job make_job(settings const& s);

/// Splits preferences in two. A prompt goes whole to one side, so that nothing about a held-out
/// prompt has been seen in training; with fewer than 50 prompts single preferences are split. Where
/// something is to be held out, both sides get something, provided there are two to divide.
void split(std::vector<preference> const& all, double hold_out, std::uint64_t seed, job& out);

/// A checksum over all preferences of a job, in their order and on their side.
std::string data_digest(job const& work);

/// The baseline: every byte with its own probability, fitted on chosen responses, with one more of
/// each so that none is impossible.
class unigram {
public:
    unigram(vocabulary const& words, std::vector<preference> const& training);

    /// Perplexity per token, ends included where there is one.
    double perplexity(std::vector<preference> const& preferences) const;

private:
    vocabulary words_;
    std::vector<double> log_probs_;
};

}  // namespace align
