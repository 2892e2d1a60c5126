// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include <prefer/errors.hpp>

namespace prefer::reference {

/// The soft update: every `every` optimiser steps,
///
///     reference ← α · policy + (1 - α) · reference.
///
/// α is the update rate, the policy's share: 0.6 moves more than half of the way. It is the
/// complement of the decay of an exponential moving average, which many trainers call the
/// coefficient: decay 0.99 is α = 0.01.
/// Ranges: α in [0, 1]; 0 moves nothing, 1 copies. `every` at least 1.
/// Source: A. Gorbatovski et al., arXiv:2404.09656, section 3.2 (there τ = 1).
struct soft {
    double alpha = 0.6;
    ::std::uint64_t every = 1;

    void validate() const {
        detail::require(alpha >= 0 && alpha <= 1, "reference::soft", "alpha", alpha, "in [0, 1]");
        detail::require(every > 0, "reference::soft", "every", every, "at least 1");
    }

    /// The policy's share in optimiser step `step`, counted from 1; 0 where nothing moves.
    double rate(::std::uint64_t step) const { return step % every == 0 ? alpha : 0; }

    ::std::vector<double> options() const { return {0, alpha, static_cast<double>(every)}; }
};

}  // namespace prefer::reference
