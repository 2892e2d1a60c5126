// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <prefer/config.hpp>

namespace prefer {

/// A class is a communicator when it says `using communicator_concept = prefer::communicator_tag;`
/// and has
///
///     std::size_t size() const;                                // ranks, at least 1
///     std::size_t rank() const;                                // of this process, below size()
///     void all_reduce_sum(std::span<double> numbers) const;    // in place
///     void all_reduce_max(std::span<double> numbers) const;    // in place
///
/// It is a handle on a group of ranks (processes or threads), as MPI, NCCL and Gloo have it. Each
/// rank calls the same functions in the same order, with spans of one size, which may be 0; a call
/// returns when `numbers[i]` is the sum (the maximum) over the ranks of what each passed as
/// `numbers[i]`.
///
/// What is asked of it:
///
/// - every rank gets the *same bits*. Better still, `all_reduce_sum` adds in rank order, whatever
///   the size: then a run can be repeated bit for bit;
/// - infinities are numbers. A NaN that is summed gives NaN; the library never passes one to
///   `all_reduce_max`, where MPI leaves the outcome open;
/// - a failure is an exception, on every rank.
///
/// Only double is asked for: what the library exchanges is small (a few numbers for each row, or
/// for each batch) and is accumulated in double; a maximum of floats survives the way there and
/// back. Gradients of parameters are summed by the trainer, not here.
struct communicator_tag {};

/// True for types that opted in with `communicator_concept`; they have the functions above.
template <class C>
concept communicator_like =
    ::std::same_as<typename ::std::remove_cvref_t<C>::communicator_concept, communicator_tag> &&
    requires(::std::remove_cvref_t<C> const& c, ::std::span<double> numbers) {
        { c.size() } -> ::std::same_as<::std::size_t>;
        { c.rank() } -> ::std::same_as<::std::size_t>;
        c.all_reduce_sum(numbers);
        c.all_reduce_max(numbers);
    };

/// The communicator of a program of one rank: what is reduced stays as it is.
struct single_rank {
    using communicator_concept = communicator_tag;

    ::std::size_t size() const { return 1; }
    ::std::size_t rank() const { return 0; }
    void all_reduce_sum(::std::span<double>) const {}
    void all_reduce_max(::std::span<double>) const {}
};

}  // namespace prefer
