// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/pair_loss.hpp>

namespace prefer::loss {

/// Supervised fine-tuning: the negative log-likelihood of the responses that won.
///
///     loss = -w·label·log π(y)
///
/// of the summed log-prob, or of its average over the tokens. The label is 1 (the default, also of
/// a batch without labels) for a response to learn from and 0 for one to leave alone. What is
/// called by other names is this loss on a choice of responses:
///
///     Bo2   the winner of each pair: `chosen_examples(pairs)`
///     RAFT  the best of n candidates of a prompt: weights by `raft_weights`
///     ReST  every candidate above a score: weights by `rest_weights`
///
/// A batch weight of 0 masks the response: it is not read and not counted in the mean; a label of 0
/// counts it as an example with loss 0.
///
/// Inputs: log-probs, no reference; lengths for averages; labels in [0, 1] where given. Ranges: w
/// >= 0 finite. Invariants: -w·label as slope in log π(y) (per token, for averages), so never
/// rising; linear; an empty response has average 0. Errors: `validate()` throws `value_error`.
/// Source: Bo2: L. Gao et al. 2023 and 2405.08448, section 5.4 (the loss is the bare log-prob of
/// the winner: summed, w = 1). RAFT: H. Dong et al. 2023. ReST: C. Gulcehre et al. 2023.
struct sft {
    double weight = 1.0;
    log_probs of = log_probs::summed;

    constexpr pair_inputs inputs() const {
        return {.lengths = of == log_probs::averaged, .labels = true};
    }

    static constexpr bool labels_optional = true;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"weight", &sft::weight}, parameter{"of", &sft::of}};
    }

    void validate() const {
        require_not_negative("loss::sft", "weight", weight);
        require_enumerator("loss::sft", "of", static_cast<int>(of), 2);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(example<S> const& x) const {
        using real = math::primal_t<S>;
        S const log_likelihood =
            of == log_probs::averaged ? x.completion.mean_policy() : x.completion.policy;
        return real(-weight) * x.label * log_likelihood;
    }
};

}  // namespace prefer::loss
