// SPDX-License-Identifier: MIT

/// \file
/// Compiled once for each instruction set, with ISA_ENTRY as the name of the function below and,
/// but for the baseline, with the library renamed: -Dprefer=prefer_avx2. What is not the entry is
/// in an unnamed namespace.

#include "kernels.hpp"

#include <cstring>
#include <vector>

#include <prefer/prefer.hpp>

namespace {

using prefer::matrix_view;
using prefer::vector_view;

template <class T>
void log_probs(isa::input const& in, T const* logits, float* log_prob, float* d_logits) {
    matrix_view const x(logits, in.rows, in.columns);
    vector_view const labels(in.labels, in.rows);
    prefer::token_log_probs(x, labels, vector_view(log_prob, in.rows));
    std::vector<float> const upstream(in.rows, 0.5F);
    prefer::token_log_probs_backward(x, labels, upstream,
                                     matrix_view(d_logits, in.rows, in.columns));
}

}  // namespace

namespace isa {

void ISA_ENTRY(input const& in, output const& out) {
    log_probs(in, in.logits, out.log_prob, out.d_logits);
    std::vector<prefer::bfloat16> narrow(in.rows * in.columns);
    for (std::size_t i = 0; i < narrow.size(); ++i) narrow[i].bits = in.bits[i];
    log_probs(in, narrow.data(), out.log_prob + in.rows, out.d_logits + in.rows * in.columns);

    vector_view const policy_chosen(in.log_probs, in.pairs);
    vector_view const policy_rejected(in.log_probs + in.pairs, in.pairs);
    vector_view const reference_chosen(in.log_probs + 2 * in.pairs, in.pairs);
    vector_view const reference_rejected(in.log_probs + 3 * in.pairs, in.pairs);
    vector_view const d_chosen(out.pair_gradients, in.pairs);
    vector_view const d_rejected(out.pair_gradients + in.pairs, in.pairs);
    prefer::pair_batch const batch{policy_chosen, policy_rejected, reference_chosen,
                                   reference_rejected};
    prefer::pair_gradients const gradients{d_chosen, d_rejected};
    *out.pair_loss = prefer::evaluate_pairs(prefer::loss::dpo{}, batch, gradients).loss;
}

}  // namespace isa
