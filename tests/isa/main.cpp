// SPDX-License-Identifier: MIT

/// \file
/// One program with units for several instruction sets, of which it takes what the processor has;
/// it uses the library itself, too. See docs/instruction-sets.md.
///
/// Every set that can run here must give what the baseline gives, to rounding, and a bad label must
/// arrive as an exception that this unit, which knows the library by another name, can catch.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <prefer/prefer.hpp>

#include "kernels.hpp"

namespace {

int failures = 0;

void check(bool holds, std::string const& what) {
    if (holds) return;
    ++failures;
    std::printf("failed: %s\n", what.c_str());
}

/// All numbers that the kernels give.
struct results {
    std::vector<float> log_prob, d_logits, pair_gradients;
    double pair_loss = 0;
};

struct problem {
    std::size_t rows = 7, columns = 1003, pairs = 301;
    std::vector<float> logits, log_probs;
    std::vector<unsigned short> bits;
    std::vector<long long> labels;

    problem() {
        prefer::philox rng(2026);
        for (std::size_t i = 0; i < rows * columns; ++i) {
            // Row 0 is flat: the log-probs are -log(1003), which is known.
            float const x = i < columns ? 0.0F : 8 * prefer::uniform01<float>(rng) - 4;
            prefer::bfloat16 const narrow(x);
            logits.push_back(static_cast<float>(narrow));
            bits.push_back(narrow.bits);
        }
        for (std::size_t i = 0; i < rows; ++i) {
            labels.push_back(static_cast<long long>(i * 149 % columns));
        }
        for (std::size_t i = 0; i < 4 * pairs; ++i) {
            log_probs.push_back(-20 * prefer::uniform01<float>(rng));
        }
    }

    results run(isa::kernel& kernel) const {
        results r{std::vector<float>(2 * rows), std::vector<float>(2 * rows * columns),
                  std::vector<float>(2 * pairs)};
        isa::input const in{logits.data(), bits.data(), labels.data(), log_probs.data(),
                            rows,          columns,     pairs};
        kernel(in, {r.log_prob.data(), r.d_logits.data(), r.pair_gradients.data(), &r.pair_loss});
        return r;
    }
};

void compare(std::string const& what, std::vector<float> const& a, std::vector<float> const& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        float const allowed = 1e-6F * std::fabs(b[i]) + 1e-7F;
        if (!(std::fabs(a[i] - b[i]) <= allowed)) {
            check(false, what + "[" + std::to_string(i) + "]: " + std::to_string(a[i]) +
                             ", the baseline has " + std::to_string(b[i]));
            return;
        }
    }
}

void try_set(char const* name, bool available, isa::kernel& kernel) {
    if (!available) {
        std::printf("%s: not on this processor\n", name);
        return;
    }
    problem p;
    results const expected = p.run(isa::baseline);
    results const actual = p.run(kernel);
    for (std::size_t const i : {std::size_t{0}, p.rows}) {
        check(std::fabs(actual.log_prob[i] + 6.910750788F) < 1e-5F, "log-prob of a flat row");
    }
    compare("log_prob", actual.log_prob, expected.log_prob);
    compare("d_logits", actual.d_logits, expected.d_logits);
    compare("pair_gradients", actual.pair_gradients, expected.pair_gradients);
    check(std::fabs(actual.pair_loss - expected.pair_loss) < 1e-6, "pair_loss");

    p.labels[2] = 1003;
    std::string words;
    try {
        p.run(kernel);
    } catch (std::invalid_argument const& e) {
        words = e.what();
    }
    check(words.find("prefer::token_log_probs: labels[2] is 1003") == 0, "exception: " + words);
    std::printf("%s: checked\n", name);
}

}  // namespace

int main() {
    __builtin_cpu_init();
    try_set("baseline", true, isa::baseline);
#if defined(ISA_HAS_AVX2)
    try_set("avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), isa::avx2);
#endif
#if defined(ISA_HAS_AVX512)
    try_set("avx512",
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
            isa::avx512);
#endif
    return failures == 0 ? 0 : 1;
}
