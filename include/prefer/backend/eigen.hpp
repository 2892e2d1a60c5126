// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Eigen: its dense types as views, its 16-bit types as elements, and the fast backend for the
/// host. Needs Eigen 3.4 or newer.

#include <cstddef>

#include <prefer/backend/eigen/multiply.hpp>
#include <prefer/backend/eigen/views.hpp>
#include <prefer/backend/parallel_tasks.hpp>
#include <prefer/core/backend.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/row_packs.hpp>

namespace prefer::detail {

template <>
struct layout_of<Eigen::bfloat16> {
    using type = bfloat16;
};
template <>
struct layout_of<Eigen::half> {
    using type = half;
};

}  // namespace prefer::detail

namespace prefer::backend {

/// The host backend: the library's loops on threads, and Eigen's matrix products.
///
/// `threads` is at least 1; the caller's thread is one of them, and small inputs use fewer. Errors:
/// `value_error` for `threads` outside [1, 1024], before anything is written. Nothing is allocated
/// but the threads and what Eigen's products pack. The number of threads does not change a bit of
/// any result.
///
/// ```cpp
/// prefer::token_log_probs(prefer::backend::eigen{.threads = 2}, logits, labels, token_logp);
/// ```
struct eigen {
    using backend_concept = backend_tag;

    int threads = 1;

    ::std::size_t workers() const {
        detail::require(threads >= 1 && threads <= 1024, "backend::eigen", "threads", threads,
                        "in [1, 1024]");
        return static_cast<::std::size_t>(threads);
    }

    template <class Work>
    void for_each_task(::std::size_t tasks, Work const& work) const {
        detail::parallel_tasks(workers(), tasks, work);
    }

    template <class C>
    void multiply(matrix_view<C const> a, matrix_view<C const> b, matrix_view<C> c,
                  bool add) const {
        detail::eigen_multiply(a, b, c, add);
    }
};

}  // namespace prefer::backend
