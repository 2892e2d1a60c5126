// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace prefer::test {

/// A generator that gives the numbers it was given, and throws `std::out_of_range` after the last.
template <class Word>
class scripted {
public:
    using result_type = Word;
    explicit scripted(std::vector<Word> words) : words_(std::move(words)) {}
    static constexpr Word min() { return 0; }
    static constexpr Word max() { return std::numeric_limits<Word>::max(); }
    Word operator()() { return words_.at(calls_++); }
    [[nodiscard]] std::size_t calls() const { return calls_; }

private:
    std::vector<Word> words_;
    std::size_t calls_ = 0;
};

/// A generator whose `uniform01<double>` gives these numbers, rounded down to multiples of 2^-53.
inline scripted<std::uint64_t> scripted_uniforms(std::vector<double> const& uniforms) {
    std::vector<std::uint64_t> words;
    for (double const u : uniforms) {
        words.push_back(static_cast<std::uint64_t>(u * 0x1p53) << 11);
    }
    return scripted<std::uint64_t>(std::move(words));
}

}  // namespace prefer::test
