// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Types that offer what a requirement asks for and nothing more. A template that compiles with
/// them asks for no more than it says.

#include <cstdint>
#include <limits>

namespace prefer::test {

/// A source of 64 random bits that cannot be copied, assigned, compared or default-constructed; it
/// counts its calls. The bits are a Weyl sequence through a 64-bit mixer, enough for tests.
class move_only_generator {
public:
    using result_type = std::uint64_t;

    explicit move_only_generator(std::uint64_t seed) : state_{seed} {}

    move_only_generator(move_only_generator&&) = default;
    move_only_generator(move_only_generator const&) = delete;
    move_only_generator& operator=(move_only_generator const&) = delete;
    move_only_generator& operator=(move_only_generator&&) = delete;
    ~move_only_generator() = default;

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

    result_type operator()() {
        ++calls_;
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t bits = state_;
        bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
        return bits ^ (bits >> 31U);
    }

    [[nodiscard]] std::uint64_t calls() const { return calls_; }

private:
    std::uint64_t state_;
    std::uint64_t calls_ = 0;
};

}  // namespace prefer::test
