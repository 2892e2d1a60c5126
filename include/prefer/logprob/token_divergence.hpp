// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/pack.hpp>

namespace prefer {

/// \file
/// The divergences that `token_kl` measures between two softmaxes of the same row: p of the policy,
/// q of the reference, t = log p - log q. The names are those of the f-DPO scores.

namespace token_divergence {

/// KL(p‖q) = Σ p log(p/q). +inf where a token of the policy cannot occur in the reference.
struct reverse_kl {
    void validate() const {}
};

/// KL(q‖p) = Σ q log(q/p). +inf where a token of the reference cannot occur in the policy.
struct forward_kl {
    void validate() const {}
};

/// ½ KL(p‖m) + ½ KL(q‖m), m = (p + q)/2: in [0, log 2], whatever the rows.
struct jensen_shannon {
    void validate() const {}
};

/// (1 - Σ p^α q^(1-α)) / (α(1 - α)), α in [0, 1]: with the limits `reverse_kl` at 1 and
/// `forward_kl` at 0, and in between never more than 1/(α(1 - α)). ½: four times the squared
/// Hellinger distance. The parameter is that of the f-DPO score of the same name.
struct alpha {
    double order = 0.5;

    void validate() const {
        detail::require(order >= 0 && order <= 1, "token_divergence::alpha", "order", order,
                        "in [0, 1]");
    }
};

}  // namespace token_divergence

namespace detail {

/// Σ c[k]·x^k.
template <class P, class C, ::std::size_t N>
P polynomial(C const (&c)[N], P const& x) {
    P sum(c[N - 1]);
    for (::std::size_t k = N - 1; k > 0; --k) sum = sum * x + P(c[k - 1]);
    return sum;
}

/// Polynomials (interpolated in 60 digits at Chebyshev nodes) for what cancels near t = 0:
///
///     kl(t) = (e^-t - 1 + t)/t²,  |t| <= 1            js(t²) = (log 2 - H(σ(t)))/t²,  |t| <= 1
///
/// with H the entropy of a coin. Both are positive there, so no term of a divergence is negative.
template <class C>
struct divergence_series;

template <>
struct divergence_series<float> {
    static constexpr float kl[] = {0.5F,
                                   -0.1666666658F,
                                   0.04166666659F,
                                   -0.008333345241F,
                                   0.001388889879F,
                                   -0.0001983698849F,
                                   2.479802595e-5F,
                                   -2.812644435e-6F,
                                   2.80309381e-7F};
    static constexpr float js[] = {0.1249999999F,     -0.01562499467F, 0.001736048449F,
                                   -0.0001841903607F, 1.868231523e-5F, -1.474056545e-6F};
};

template <>
struct divergence_series<double> {
    static constexpr double kl[] = {
        0x1.0000000000000p-1,   -0x1.5555555555555p-3,  0x1.5555555555555p-5,
        -0x1.11111111110d9p-7,  0x1.6c16c16c16bfep-10,  -0x1.a01a01a023747p-13,
        0x1.a01a01a01e338p-16,  -0x1.71de3a4a2dee8p-19, 0x1.27e4fb728bf10p-22,
        -0x1.ae64643b799f9p-26, 0x1.1eed9518c242bp-29,  -0x1.611b662223de4p-33,
        0x1.938f50b0d66c4p-37,  -0x1.b478aeefb45a8p-41, 0x1.b3cdd9ad4768dp-45};
    static constexpr double js[] = {
        0x1.0000000000000p-3,   -0x1.ffffffffffffdp-7,  0x1.c71c71c71c35ep-10,
        -0x1.82d82d82b51ebp-13, 0x1.427a8e04a90e9p-16,  -0x1.0a3a59afbc229p-19,
        0x1.b531f7aa9d77fp-23,  -0x1.65c0d5697e1d3p-26, 0x1.23bc88b29aae8p-29,
        -0x1.d51c6dea64683p-33, 0x1.5af7187fd2b0fp-36,  -0x1.5ec2ba62590b1p-40};
};

/// p·s for a probability and a score: 0 for a token that cannot occur, +inf where s is.
template <class P>
P weighted(P const& p, P const& s) {
    using C = math::lane_t<P>;
    P const product = math::select(p > P(C(0)), p * s, P(C(0)));
    return math::select(s > P(math::largest<C>), s, product);
}

// Of each divergence D, lane by lane on one token:
//
//     term              what D sums, >= 0
//     policy_pull       p·∂D/∂p  (but for a constant times p)
//     reference_pull    q·∂D/∂q  (but for a constant times q)
//     most()            the largest D
//
// for p, q >= 0 (0 also where they underflow) and t, which is +-inf where one of them is a true 0,
// and 0 where both are.

/// Σ p·t as Σ (p·t - p + q), and in the middle as Σ p·t²·kl(t).
struct reverse_terms {
    static double most() { return math::infinity<double>; }

    template <class P>
    static P term(P const& p, P const& q, P const& t) {
        using C = math::lane_t<P>;
        P const near = p * (t * t * polynomial(divergence_series<C>::kl, t));
        return math::select(math::abs(t) < P(C(1)), near, weighted(p, t) - p + q);
    }
    template <class P>
    static P policy_pull(P const& p, P const&, P const& t) {
        return weighted(p, t);
    }
    template <class P>
    static P reference_pull(P const& p, P const& q, P const& t) {
        using C = math::lane_t<P>;
        return math::select(math::abs(t) < P(C(1)), -(q * math::expm1(t)), q - p);
    }
};

/// The same with s = (1 - e^(-βt))/β in place of t, β = 1 - α in (0, ½], over α: since β is at most
/// a half, p·s is 0 to rounding wherever p underflows.
template <class C>
struct alpha_terms {
    C alpha;
    C beta;

    explicit alpha_terms(double order) : alpha(static_cast<C>(order)), beta(1 - alpha) {}

    double most() const { return 1 / (static_cast<double>(alpha) * static_cast<double>(beta)); }

    template <class P>
    P term(P const& p, P const& q, P const& t) const {
        P const bend = polynomial(divergence_series<C>::kl, t) -
                       P(beta) * polynomial(divergence_series<C>::kl, P(P(beta) * t));
        P const near = p * (t * t * bend);
        P const far = policy_pull(p, q, t) - p + q;
        return math::select(math::abs(t) < P(C(1)), near, far) * P(1 / alpha);
    }
    template <class P>
    P policy_pull(P const& p, P const&, P const& t) const {
        return weighted(p, P(math::expm1(P(P(-beta) * t)) * P(-1 / beta)));
    }
    template <class P>
    P reference_pull(P const& p, P const& q, P const& t) const {
        P const near = -(q * math::expm1(P(P(alpha) * t)));
        P const mixed = p - P(beta) * policy_pull(p, q, t);  // p^α·q^β
        return math::select(math::abs(t) < P(C(1)), near, q - mixed) * P(1 / alpha);
    }
};

struct jensen_shannon_terms {
    static double most() { return 0.693147180559945309; }

    template <class P>
    static P term(P const& p, P const& q, P const& t) {
        using C = math::lane_t<P>;
        P const square = t * t;
        P const near = (p + q) * square * polynomial(divergence_series<C>::js, square);
        P const above = upper_score(t);
        P const lower = weighted(math::min(p, q), P(above - math::abs(t)));
        P const far = math::max(p, q) * above + lower;
        return math::select(math::abs(t) < P(C(1)), near, far) * P(C(0.5));
    }
    template <class P>
    static P policy_pull(P const& p, P const&, P const& t) {
        return pull(p, t);
    }
    template <class P>
    static P reference_pull(P const&, P const& q, P const& t) {
        return pull(q, P(-t));
    }

private:
    /// log(2·σ(|t|)): the score log(p/m) of the more probable side.
    template <class P>
    static P upper_score(P const& t) {
        using C = math::lane_t<P>;
        return -math::log1p(P(math::expm1(P(-math::abs(t))) * P(C(0.5))));
    }
    template <class P>
    static P pull(P const& p, P const& t) {
        using C = math::lane_t<P>;
        P const above = upper_score(t);
        P const score = math::select(t < P(C(0)), above + t, above);
        return weighted(p, score) * P(C(0.5));
    }
};

/// Hands `work(terms, swapped)` what a divergence is computed by: with the roles of policy and
/// reference swapped where `swapped` is true.
template <class C, class Work>
void with_terms(token_divergence::reverse_kl const&, Work const& work) {
    work(reverse_terms{}, false);
}
template <class C, class Work>
void with_terms(token_divergence::forward_kl const&, Work const& work) {
    work(reverse_terms{}, true);
}
template <class C, class Work>
void with_terms(token_divergence::jensen_shannon const&, Work const& work) {
    work(jensen_shannon_terms{}, false);
}
template <class C, class Work>
void with_terms(token_divergence::alpha const& d, Work const& work) {
    bool const swapped = d.order < 0.5;
    double const order = swapped ? 1 - d.order : d.order;
    if (static_cast<C>(order) < 1) {
        work(alpha_terms<C>(order), swapped);
    } else {
        work(reverse_terms{}, swapped);
    }
}

}  // namespace detail

/// What `token_kl` measures: one of the types of `token_divergence`.
template <class D>
concept token_divergence_like = requires(D const& d) {
    d.validate();
    detail::with_terms<float>(d, [](auto const&, bool) {});
};

}  // namespace prefer
