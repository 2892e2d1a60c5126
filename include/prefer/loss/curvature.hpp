// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/core/pair.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/dual.hpp>

namespace prefer::loss {

/// A loss and its first and second derivative in the log-ratio margin.
template <class T>
struct margin_curvature {
    T loss;
    T first;
    T second;
};

/// How a loss is curved in the margin h of summed log-probs, exactly, by nested dual numbers.
///
/// The derivatives are along the direction that raises h and leaves the sum of both log-probs as it
/// is: log π(y_w) + t/2, log π(y_l) - t/2, at t = 0. For a loss that is a function L of h these are
/// L'(h) and L''(h); for every loss, `first` is (d_chosen - d_rejected)/2 of `value_and_grad`, and
/// `loss` the value, bit for bit.
/// `T` is float, double, or a dual number again. Some ten times the arithmetic of the loss; no
/// allocation; runs on a device; checks nothing.
///
/// ```cpp
/// auto [value, slope, curvature] = prefer::loss::curvature(prefer::loss::dpo{.beta = 0.1}, p);
/// // slope = -β·σ(-z), curvature = β²·σ(z)·σ(-z)
/// ```
template <class L, class T>
PREFER_HOST_DEVICE margin_curvature<T> curvature(L const& loss, pair<T> const& p) {
    using inner = math::dual<T>;
    using S = math::dual<inner>;
    using real = math::primal_t<T>;
    auto const moving = [](response<T> const& r, real speed) {
        inner const at = inner::combine(r.policy, [&](auto) { return T(speed); });
        S const policy = S::combine(at, [&](auto) { return inner(T(speed)); });
        return response<S>{policy, r.reference, r.length, r.score};
    };
    pair<S> const q{moving(p.chosen, real(0.5)), moving(p.rejected, real(-0.5)), p.label, p.offset};
    S const y = static_cast<S>(loss(q));
    return {y.value.value, y.value.gradient[0], y.gradient[0].gradient[0]};
}

}  // namespace prefer::loss
