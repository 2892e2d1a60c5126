// SPDX-License-Identifier: MIT
// Log-probs from hidden states and the head, and the way back, on the tensors of torch_linear.py.

#include <cstddef>
#include <cstdint>
#include <exception>

#include <prefer/backend/eigen.hpp>
#include <prefer/logprob/linear_token_log_probs.hpp>

/// Both passes; logits `[n, v]` are kept from one to the other, or computed again without room for
/// them. Returns 0, or 1 for what is refused.
extern "C" int linear_both(float const* hidden, float const* head, std::int64_t const* labels,
                           float const* upstream, float* log_probs, float* d_hidden, float* d_head,
                           float* logits, std::size_t n, std::size_t d, std::size_t v, int threads) {
    try {
        prefer::backend::eigen const on{.threads = threads};
        prefer::matrix_view const x(hidden, n, d);
        prefer::matrix_view const w(head, v, d);
        prefer::vector_view const y(labels, n);
        prefer::linear_kept<float> kept;
        if (logits != nullptr) {
            kept = prefer::linear_kept<float>(prefer::vector_view(logits, n * v));
        }
        prefer::linear_token_log_probs(on, x, w, y, prefer::vector_view(log_probs, n), kept);
        prefer::linear_token_log_probs_backward(on, x, w, y, prefer::vector_view(upstream, n), kept,
                                                prefer::matrix_view(d_hidden, n, d),
                                                prefer::matrix_view(d_head, v, d));
        return 0;
    } catch (std::exception const&) {
        return 1;
    }
}
