// SPDX-License-Identifier: MIT
#pragma once

#include <prefer/config.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/log_sigmoid.hpp>
#include <prefer/math/sigmoid.hpp>

namespace prefer::detail {

/// `loss::bernoulli_kl` where log σ(b) and log σ(-b) are known better than `b` gives them.
template <class S>
PREFER_HOST_DEVICE S bernoulli_kl(S const& a, S const& b, S const& log_q, S const& log_not_q) {
    using math::abs;
    using math::expm1;
    using math::log1p;
    using math::log_sigmoid;
    using math::select;
    using math::sigmoid;
    using real = math::primal_t<S>;
    S const d = a - b;
    S const apart =
        sigmoid(a) * (log_sigmoid(a) - log_q) + sigmoid(-a) * (log_sigmoid(-a) - log_not_q);
    // Near each other the two terms cancel. With softplus B, the divergence is B(b) - B(a) -
    // σ(a)·(b - a); both signs of (a, b) give the same, and the one with the smaller σ is exact.
    S const s = sigmoid(-abs(a));
    S const e = select(a < real(0), -d, d);
    S const tight = log1p(s * expm1(e)) - s * e;
    return select(abs(d) < real(1), tight, apart);
}

}  // namespace prefer::detail

namespace prefer::loss {

/// The Kullback-Leibler divergence of two coins, given by their logits.
///
///     KL(p ‖ q) = p·log(p/q) + (1 - p)·log((1 - p)/(1 - q)),   p = σ(a), q = σ(b)
///
/// Never negative; 0 where a = b, and there without cancellation, which is why it is not written as
/// above. Its slope is σ'(a)·(a - b) in a, and q - p in b. Finite logits of any size are fine. What
/// the losses that match a preference probability are made of: `exo`, `reward_aware_rpo`.
/// Some five exponentials and logarithms each. For floats, doubles and dual numbers, on a device
/// too.
template <class S>
PREFER_HOST_DEVICE S bernoulli_kl(S const& a, S const& b) {
    using math::log_sigmoid;
    return detail::bernoulli_kl(a, b, S(log_sigmoid(b)), S(log_sigmoid(-b)));
}

}  // namespace prefer::loss
