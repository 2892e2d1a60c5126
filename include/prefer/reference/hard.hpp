// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include <prefer/errors.hpp>

namespace prefer::reference {

/// The hard update: every `every` optimiser steps (τ) the reference becomes the policy, bit for
/// bit; the first time after step τ.
///
/// Ranges: `every` at least 1. Source: arXiv:2404.09656, section 3.2, τ = 512 for large models.
struct hard {
    ::std::uint64_t every = 512;

    void validate() const {
        detail::require(every > 0, "reference::hard", "every", every, "at least 1");
    }
    double rate(::std::uint64_t step) const { return step % every == 0 ? 1 : 0; }

    ::std::vector<double> options() const { return {1, static_cast<double>(every)}; }
};

}  // namespace prefer::reference
