// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Eigen: its dense types as views, its 16-bit types as elements, and the fast backend for the
/// host. Needs Eigen 3.4 or newer.

#include <cstddef>
#include <cstdint>

#include <prefer/backend/eigen/token_rows.hpp>
#include <prefer/backend/eigen/views.hpp>
#include <prefer/backend/parallel_rows.hpp>
#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::backend {

/// The host backend: Eigen's vector instructions along a row, rows spread over threads.
///
/// It replaces the plain loops of `token_log_probs` and `token_log_probs_backward` for elements
/// that are computed in float or double (so double, float and the 16-bit types) and any strides;
/// rows that are contiguous are read where they lie, others are gathered block by block. Arithmetic
/// and special values are those of the plain loop: float for the narrow types, row sums in double,
/// everything relative to the row's maximum; an exponential is within 2 ULP. The forward pass reads
/// the logits once, the backward pass twice.
///
/// `threads` is at least 1; the caller's thread is one of them, and small inputs use fewer. Errors:
/// `value_error` for `threads` outside [1, 1024], before anything is written. Nothing is allocated
/// but the threads; a block of 4 kB (8 in double) lies on the stack of each. A row's result depends
/// on its logits alone: neither the number of threads nor strides nor addresses change a bit of it.
///
/// ```cpp
/// prefer::token_log_probs(prefer::backend::eigen{.threads = 2}, logits, labels, token_logp);
/// ```
struct eigen {
    using backend_concept = backend_tag;

    int threads = 1;

    template <detail::eigen_computes T, index_element Label, element O>
    void token_log_probs(matrix_view<T const> logits, vector_view<Label const> labels,
                         vector_view<O> token_logp, token_options const& options) const {
        check("token_log_probs");
        auto const rows = [&](::std::size_t first, ::std::size_t last) {
            for (::std::size_t i = first; i < last; ++i) {
                auto const label = static_cast<::std::int64_t>(labels[i]);
                if (label == options.ignore_index) {
                    token_logp[i] = static_cast<O>(compute_t<O>(0));
                    continue;
                }
                auto const row = logits.row(i);
                auto const logit =
                    static_cast<compute_t<T>>(row[static_cast<::std::size_t>(label)]);
                auto const log_prob = detail::eigen_normalize_row<T>(row).log_prob(logit);
                token_logp[i] = static_cast<O>(static_cast<compute_t<O>>(log_prob));
            }
        };
        detail::parallel_rows(threads, logits.rows(), logits.columns(), rows);
    }

    template <detail::eigen_computes T, index_element Label, element G, element D>
    void token_log_probs_backward(matrix_view<T const> logits, vector_view<Label const> labels,
                                  vector_view<G const> d_token_logp, matrix_view<D> d_logits,
                                  token_options const& options) const {
        check("token_log_probs_backward");
        auto const rows = [&](::std::size_t first, ::std::size_t last) {
            for (::std::size_t i = first; i < last; ++i) {
                auto const label = static_cast<::std::int64_t>(labels[i]);
                auto const g = static_cast<math::wide_t<compute_t<T>>>(
                    static_cast<compute_t<G>>(d_token_logp[i]));
                auto const d_row = d_logits.row(i);
                if (label == options.ignore_index || (g >= 0 && g <= 0)) {
                    for (::std::size_t j = 0; j < d_row.size(); ++j) {
                        d_row[j] = static_cast<D>(compute_t<D>(0));
                    }
                    continue;
                }
                auto const row = logits.row(i);
                detail::eigen_gradient_row<T, D>(row, static_cast<::std::size_t>(label),
                                                 detail::eigen_normalize_row<T>(row), g, d_row);
            }
        };
        detail::parallel_rows(threads, logits.rows(), logits.columns(), rows);
    }

private:
    void check(char const* function) const {
        detail::require(threads >= 1 && threads <= 1024, function, "threads", threads,
                        "in [1, 1024]");
    }
};

}  // namespace prefer::backend
