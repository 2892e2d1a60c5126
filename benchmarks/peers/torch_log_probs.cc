// SPDX-License-Identifier: MIT
//
// The library's side of torch_log_probs.py: a shared library that works on the caller's tensors.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include <prefer/backend/eigen.hpp>
#include <prefer/prefer.hpp>

namespace {

template <class T>
int run(T* logits, std::size_t rows, std::size_t columns, std::int64_t const* labels, float* out,
        float const* upstream, T* d_logits, int threads) {
    try {
        prefer::backend::eigen const on{.threads = threads};
        prefer::matrix_view const x(logits, rows, columns);
        prefer::vector_view const y(labels, rows);
        prefer::vector_view const token_logp(out, rows);
        if (d_logits == nullptr) {
            prefer::token_log_probs(on, x, y, token_logp);
            return 0;
        }
        std::vector<prefer::row_normalizer<float>> kept(rows);
        prefer::token_log_probs(on, x, y, prefer::token_outputs(token_logp).with_normalizers(kept));
        prefer::token_log_probs_backward(on, x, y, prefer::vector_view(upstream, rows), kept,
                                         prefer::matrix_view(d_logits, rows, columns));
        return 0;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "torch_log_probs: %s\n", error.what());
        return 1;
    }
}

}  // namespace

extern "C" {

/// Log-probs [rows]; with `d_logits`, the gradient for `upstream` too. 0, or 1 when refused.
int log_probs_float(float* logits, std::size_t rows, std::size_t columns,
                    std::int64_t const* labels, float* out, float const* upstream, float* d_logits,
                    int threads) {
    return run(logits, rows, columns, labels, out, upstream, d_logits, threads);
}

int log_probs_bfloat16(prefer::bfloat16* logits, std::size_t rows, std::size_t columns,
                       std::int64_t const* labels, float* out, float const* upstream,
                       prefer::bfloat16* d_logits, int threads) {
    return run(logits, rows, columns, labels, out, upstream, d_logits, threads);
}

}  // extern "C"
