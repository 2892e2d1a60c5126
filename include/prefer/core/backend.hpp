// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <type_traits>

#include <prefer/config.hpp>

namespace prefer {

/// A class is a backend when it says `using backend_concept = prefer::backend_tag;`.
///
/// The batch functions that do real work (`token_log_probs` and its backward, `evaluate_pairs`)
/// take a backend as their optional first argument. Where the backend has a member of the
/// function's name that takes the same arguments, as views and already checked, that member runs;
/// where it has none, the header's plain loop does. So a backend overrides only what it does
/// better, and is tested against the plain loop.
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
}  // namespace prefer
