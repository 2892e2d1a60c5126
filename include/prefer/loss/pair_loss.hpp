// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <prefer/config.hpp>
#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/dual.hpp>

namespace prefer {

/// \file
/// What a pair loss is, and what the library makes of it.
///
/// A loss is a formula: a struct of hyper-parameters, or a lambda, that maps `pair<S>` to the loss
/// in `S`, for whatever scalar `S` (float, double, dual numbers). It has no `if` on values: it says
/// `select`, `min`, `max`. Everything else follows from that. It may also have
///
///     static constexpr pair_inputs inputs();   // what it reads; checked against the batch
///     void validate() const;                   // throws value_error for bad hyper-parameters
///     double beta;                             // scales the reported rewards
///
/// ```cpp
/// auto cubic = [](auto const& pair) {
///     auto gap = 1 - 0.1 * pair.margin();
///     return gap * gap * gap;
/// };
/// auto [value, d_chosen, d_rejected] = prefer::loss::value_and_grad(cubic, p);
/// ```

/// What a loss reads besides the policy's log-probs.
struct pair_inputs {
    bool reference = false;
    bool lengths = false;
};

namespace detail {

/// The scalar of gradients: derivatives with respect to the chosen and the rejected log-prob.
template <class T>
using pair_dual = math::dual<T, 2>;

}  // namespace detail

/// A formula over pairs: callable with `pair<S>`, for S a number and for S a dual number, and
/// giving a number of that kind.
template <class L>
concept pair_loss =
    requires(L const& loss, pair<double> const& p, pair<detail::pair_dual<double>> const& q) {
        { loss(p) } -> ::std::convertible_to<double>;
        { loss(q) } -> ::std::same_as<detail::pair_dual<double>>;  // a number has no gradient
    };

namespace loss {

/// A loss and its derivatives with respect to log π(y_w) and log π(y_l).
template <class T>
struct pair_gradient {
    T loss;
    T d_chosen;
    T d_rejected;
};

/// The loss of one pair with its exact gradient, by dual numbers. `T` is float, double, or a dual
/// number again (then the gradient has derivatives too). Runs on a device; checks nothing.
template <class L, class T>
PREFER_HOST_DEVICE pair_gradient<T> value_and_grad(L const& loss, pair<T> const& p) {
    using S = detail::pair_dual<T>;
    pair<S> const q{{S::variable(p.chosen.policy, 0), p.chosen.reference, p.chosen.length},
                    {S::variable(p.rejected.policy, 1), p.rejected.reference, p.rejected.length}};
    S const y = static_cast<S>(loss(q));
    return {y.value, y.gradient[0], y.gradient[1]};
}

/// The implicit reward that is reported for a response: β·(log π - log π_ref); without the log
/// π_ref for losses without a reference, and with β = 1 for losses without a member `beta`. On
/// summed log-probs for every loss, as trainers report it.
template <class L, class T>
PREFER_HOST_DEVICE T reward(L const& loss, response<T> const& r, bool with_reference) {
    T const raw = with_reference ? r.log_ratio() : r.policy;
    if constexpr (requires { static_cast<T>(loss.beta); }) {
        return static_cast<T>(loss.beta) * raw;
    } else {
        return raw;
    }
}

// The ranges that hyper-parameters of losses have, for their `validate()`.

inline void require_positive(char const* loss, char const* field, double value) {
    detail::require(math::is_finite(value) && value > 0, loss, field, value, "finite and positive");
}

inline void require_not_negative(char const* loss, char const* field, double value) {
    detail::require(math::is_finite(value) && value >= 0, loss, field, value, "finite and >= 0");
}

inline void require_flip_rate(char const* loss, char const* field, double value) {
    detail::require(value >= 0 && value < 0.5, loss, field, value, "in [0, 0.5)");
}

inline void require_enumerator(char const* loss, char const* field, int value, int count) {
    detail::require(value >= 0 && value < count, loss, field, value, "a named enumerator");
}

}  // namespace loss
}  // namespace prefer
