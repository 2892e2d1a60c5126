// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <functional>

#include <prefer/loss/evaluate_pairs.hpp>

namespace align {

/// Any loss over pairs behind one type, so that the trainer is compiled once and not once for each
/// loss. Of what a loss does, a trainer needs no more than this.
class any_loss {
public:
    using pairs = prefer::pair_batch<double>;
    using gradients = prefer::pair_gradients<double>;

    template <prefer::pair_loss Loss>
        requires(!std::same_as<Loss, any_loss>)
    any_loss(Loss const& loss)
        : evaluate_([loss](pairs const& batch, gradients const* d) {
              return d == nullptr ? prefer::evaluate_pairs(loss, batch)
                                  : prefer::evaluate_pairs(loss, batch, *d);
          }) {}

    /// Loss and metrics of a batch.
    prefer::pair_summary evaluate(pairs const& batch) const { return evaluate_(batch, nullptr); }

    /// The same, and the gradients of its log-probs.
    prefer::pair_summary evaluate(pairs const& batch, gradients const& d) const {
        return evaluate_(batch, &d);
    }

private:
    std::function<prefer::pair_summary(pairs const&, gradients const*)> evaluate_;
};

}  // namespace align
