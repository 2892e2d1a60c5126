// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/config.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer {

/// Whether a loss looks at a response's summed log-prob, or at its average over the tokens. The two
/// give different losses, gradients and scales; the field calls both "the log-prob".
enum class log_probs { summed, averaged };

/// What is known of one response: the numbers a loss formula works on.
///
/// `policy` is the summed log-prob log π(y|x), in nats; it is the differentiated one. `reference`
/// is log π_ref(y|x), `length` the number of counted tokens, and `score` what a reward model or an
/// annotator says of the response; these are constants of the formula. What was not given is NaN,
/// so a formula that reads it anyway shows it.
template <class S>
struct response {
    using real = math::primal_t<S>;

    S policy{};
    real reference = real(math::quiet_nan<math::lane_t<S>>);
    real length = real(math::quiet_nan<math::lane_t<S>>);
    real score = real(math::quiet_nan<math::lane_t<S>>);

    /// log π(y|x) - log π_ref(y|x)
    PREFER_HOST_DEVICE constexpr S log_ratio() const { return policy - reference; }

    /// `policy` per token; 0 for an empty response.
    PREFER_HOST_DEVICE constexpr S mean_policy() const { return per_token(policy); }

    /// `log_ratio()` per token; 0 for an empty response.
    PREFER_HOST_DEVICE constexpr S mean_log_ratio() const { return per_token(log_ratio()); }

private:
    PREFER_HOST_DEVICE constexpr S per_token(S const& total) const {
        using math::select;
        return total * select(length <= real(0), real(0), real(1) / length);
    }
};

/// A preference: the chosen and the rejected response to one prompt.
///
/// `label` is what the annotation says of the pair, and `offset` what it asks of the margin. Both
/// are constants, and each loss that reads them says how; their defaults are what a pair means
/// without them: the chosen response is the better one, by any margin.
template <class S>
struct pair {
    using real = math::primal_t<S>;

    response<S> chosen;
    response<S> rejected;
    real label = real(1);
    real offset = real(0);

    /// The log-ratio margin h = chosen.log_ratio() - rejected.log_ratio(), in nats.
    PREFER_HOST_DEVICE constexpr S margin() const {
        return chosen.log_ratio() - rejected.log_ratio();
    }

    /// The same of the per-token averages.
    PREFER_HOST_DEVICE constexpr S mean_margin() const {
        return chosen.mean_log_ratio() - rejected.mean_log_ratio();
    }
};

/// A response by itself, labelled: 1 is desirable, 0 undesirable; losses on soft labels say so.
template <class S>
struct example {
    using real = math::primal_t<S>;

    response<S> completion;
    real label = real(1);
};

}  // namespace prefer
