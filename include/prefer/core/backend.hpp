// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <prefer/config.hpp>

namespace prefer {

/// A class is a backend when it says `using backend_concept = prefer::backend_tag;`.
///
/// The batch functions that do real work (`token_log_probs` and its backward, `evaluate_pairs`)
/// take a backend as their optional first argument. Where the backend has a member of the
/// function's name that takes the same arguments, as views and already checked, that member runs;
/// where it has none, the header's own loop does. So a backend overrides only what it does
/// better, and is tested against the plain one.
///
/// A host backend need not override whole functions. Their loops are made of tasks, for which it
/// may bring threads:
///
///     std::size_t workers() const;                        // at least 1
///     void for_each_task(std::size_t tasks, work) const;
///
/// calls `work(task, worker)` once for each task, with a worker below `workers()` that is in no
/// other task at that time; `work` does not throw, and no result depends on who does which task.
struct backend_tag {};

/// True for types that opted in with `backend_concept`.
template <class B>
concept backend_like =
    ::std::same_as<typename ::std::remove_cvref_t<B>::backend_concept, backend_tag>;

namespace backend {

/// The backend that overrides nothing: plain loops, one thread, only the standard library.
struct plain {
    using backend_concept = backend_tag;
};

}  // namespace backend

namespace detail {

/// The number of workers of `for_each_task`: so many workspaces are needed.
template <backend_like B>
::std::size_t workers_of(B const& on) {
    if constexpr (requires { on.workers(); }) {
        return on.workers();
    } else {
        return 1;
    }
}

/// Calls `work(task, worker)` for every task below `tasks`: on the threads of the backend if it has
/// any, otherwise one after the other.
template <backend_like B, class Work>
void for_each_task(B const& on, ::std::size_t tasks, Work const& work) {
    if constexpr (requires { on.for_each_task(tasks, work); }) {
        on.for_each_task(tasks, work);
    } else {
        for (::std::size_t task = 0; task < tasks; ++task) work(task, ::std::size_t{0});
    }
}

}  // namespace detail
}  // namespace prefer
