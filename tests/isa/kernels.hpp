// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Between main.cpp and the units built for one instruction set each. It says nothing of `prefer`:
/// the library has another name in every unit, so only plain types go across.

#include <cstddef>

namespace isa {

struct input {
    float const* logits;         // [rows, columns], then the same rows as bits of bfloat16
    unsigned short const* bits;  //
    long long const* labels;     // [rows]
    float const* log_probs;      // [4, pairs]: policy and reference, chosen and rejected
    std::size_t rows, columns, pairs;
};

struct output {
    float* log_prob;        // [2, rows]: of float logits, of bfloat16 logits
    float* d_logits;        // [2, rows, columns]
    float* pair_gradients;  // [2, pairs]
    double* pair_loss;      // [1]
};

using kernel = void(input const&, output const&);

kernel baseline, avx2, avx512;

}  // namespace isa
