// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

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
///     static constexpr auto parameters();      // their names: a tuple of `parameter`
///     static constexpr bool score_difference = true;  // reads only margin() or mean_margin()
///     double beta;                             // scales the reported rewards
///     auto const& rewarded() const;            // or: report the rewards of this other loss
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
    bool scores = false;
    bool labels = false;
    bool offsets = false;
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

/// A formula over single responses: the same for `example<S>`.
template <class L>
concept example_loss =
    requires(L const& loss, example<double> const& x, example<math::dual<double>> const& y) {
        { loss(x) } -> ::std::convertible_to<double>;
        { loss(y) } -> ::std::same_as<math::dual<double>>;
    };

/// A pair loss that declares, by `score_difference`, that it reads the responses only through
/// `margin()` or `mean_margin()`: what both have in common cancels.
template <class L>
concept score_difference_loss = pair_loss<L> && requires { requires L::score_difference; };

namespace detail {

/// A loss that says that it reads no reference, whatever its hyper-parameters. Known to the
/// compiler, since `inputs()` is a function of the host.
template <class L>
concept declares_no_reference =
    ::std::same_as<::std::bool_constant<L{}.inputs().reference>, ::std::false_type>;

}  // namespace detail

namespace detail {

/// The loss of a pair as a dual number of its two log-probs.
template <class L, class T>
PREFER_HOST_DEVICE pair_dual<T> dual_of_loss(L const& loss, pair<T> const& p) {
    using S = pair_dual<T>;
    auto const variable = [](response<T> const& r, ::std::size_t index) {
        return response<S>{S::variable(r.policy, index), r.reference, r.length, r.score};
    };
    return loss(pair<S>{variable(p.chosen, 0), variable(p.rejected, 1), p.label, p.offset});
}

/// The loss of a single response as a dual number of its log-prob.
template <class L, class T>
PREFER_HOST_DEVICE math::dual<T> dual_of_loss(L const& loss, example<T> const& x) {
    using S = math::dual<T>;
    response<T> const& r = x.completion;
    return loss(example<S>{{S::variable(r.policy), r.reference, r.length, r.score}, x.label});
}

}  // namespace detail

namespace loss {

/// A hyper-parameter of a loss: its name, and the member that holds it. What `parameters()` lists;
/// for configuration files, fingerprints and tables.
template <class L, class T>
struct parameter {
    using pointer = T L::*;

    char const* name;
    pointer member;
};

template <class L, class T>
parameter(char const*, T L::*) -> parameter<L, T>;

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
    detail::pair_dual<T> const y = detail::dual_of_loss(loss, p);
    return {y.value, y.gradient[0], y.gradient[1]};
}

/// A loss and its derivative with respect to log π(y).
template <class T>
struct example_gradient {
    T loss;
    T d_policy;
};

/// The same of a single response.
template <class L, class T>
PREFER_HOST_DEVICE example_gradient<T> value_and_grad(L const& loss, example<T> const& x) {
    math::dual<T> const y = detail::dual_of_loss(loss, x);
    return {y.value, y.gradient[0]};
}

/// The implicit reward that is reported for a response: β·(log π - log π_ref); without the log
/// π_ref for losses without a reference, and with β = 1 for losses without a member `beta`. On
/// summed log-probs for every loss, as trainers report it. A loss that is made of others names, by
/// `rewarded()`, the one whose reward this is, and whose need of a reference decides.
template <class L, class T>
PREFER_HOST_DEVICE T reward(L const& loss, response<T> const& r, bool with_reference) {
    if constexpr (requires { loss.rewarded(); }) {
        auto const hand_on = [&]<class Inner>(Inner const& inner) {
            bool const reads = !detail::declares_no_reference<Inner>;
            return reward(inner, r, with_reference && reads);
        };
        return hand_on(loss.rewarded());
    } else {
        T const raw = with_reference ? r.log_ratio() : r.policy;
        if constexpr (requires { static_cast<T>(loss.beta); }) {
            return static_cast<T>(loss.beta) * raw;
        } else {
            return raw;
        }
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
