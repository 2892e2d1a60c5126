// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/loss/pair_loss.hpp>

namespace prefer::detail {

/// \file
/// What losses that are made of other losses need: `with_divergence`, `with_nll`, `mixture`, `xpo`.
///
/// Such a modifier is a pair loss itself. It reads what its parts read, checks them where it is
/// checked, and hands the reported reward on to one of them (`rewarded()`).

/// A loss that says what it reads; a lambda does not.
template <class L>
concept declares_inputs = requires(L const& loss) { static_cast<pair_inputs>(loss.inputs()); };

/// What a loss says that it reads; nothing where it does not say.
template <class L>
constexpr pair_inputs inputs_of(L const& loss) {
    if constexpr (declares_inputs<L>) {
        return loss.inputs();
    } else {
        return {};
    }
}

/// What at least one of two reads.
constexpr pair_inputs either_inputs(pair_inputs a, pair_inputs b) {
    return {.reference = a.reference || b.reference,
            .lengths = a.lengths || b.lengths,
            .scores = a.scores || b.scores,
            .labels = a.labels || b.labels,
            .offsets = a.offsets || b.offsets};
}

template <class L>
void validate_loss(L const& loss) {
    if constexpr (requires { loss.validate(); }) loss.validate();
}

}  // namespace prefer::detail
