// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/modifier.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/math/softplus.hpp>

namespace prefer {

/// \file
/// f-DPO: preference losses under another divergence from the reference than the reverse KL.

namespace detail {

/// e^x - 1, and its tangent at 64 from there on.
template <class S>
PREFER_HOST_DEVICE S expm1_with_tangent(S const& x) {
    using math::expm1;
    using math::min;
    using real = math::primal_t<S>;
    S const capped = min(x, S(real(64)));
    S const e = expm1(capped);
    return e + (e + real(1)) * (x - capped);
}

}  // namespace detail

namespace loss {

/// The scores of f-DPO: increasing functions s of a log-ratio d = log π - log π_ref, f' at e^d but
/// for a constant. Each has s(0) = 0 and slope s'(0) = 1 (jensen_shannon: 1/2).
///
/// Where e^{-d} would be larger than e^64 (6e27), `forward_kl` and `alpha` go on along the tangent:
/// value and slope stay finite in float as in double, and do not stop pulling. The plain formula
/// overflows there (TRL's forward KL), or is cut off with slope 0 (TRL's alpha).
namespace divergence {

/// s(d) = d: DPO itself.
struct reverse_kl {
    static constexpr auto parameters() { return ::std::tuple{}; }
    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        return d;
    }
};

/// s(d) = 1 - e^{-d}. Older TRL and its copies write -e^{-d}; a difference of scores is the same.
struct forward_kl {
    static constexpr auto parameters() { return ::std::tuple{}; }
    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        return -detail::expm1_with_tangent(S(-d));
    }
};

/// s(d) = log σ(d) + log 2, between d (far below) and log 2. Older TRL drops the log 2.
struct jensen_shannon {
    static constexpr auto parameters() { return ::std::tuple{}; }
    void validate() const {}

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        using math::softplus;
        using real = math::primal_t<S>;
        return real(0.693147180559945309) - softplus(S(-d));
    }
};

/// s(d) = (e^{(α-1)d} - 1)/(α - 1), and its limit d at α = 1. α = 0 is `forward_kl`.
///
/// α finite. This is TRL's present parameter (default 1/2). In TRL up to 0.28, LLaMA-Factory and
/// ms-swift the parameter is 1 - α, and their default of 1 is α = 0.
struct alpha {
    double order = 0.5;

    static constexpr auto parameters() { return ::std::tuple{parameter{"order", &alpha::order}}; }

    void validate() const {
        detail::require(math::is_finite(order), "loss::divergence::alpha", "order", order,
                        "finite");
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(S const& d) const {
        using real = math::primal_t<S>;
        double const k = order - 1;
        if (math::abs(k) > 0) return detail::expm1_with_tangent(S(real(k) * d)) / real(k);
        return d;
    }
};

}  // namespace divergence

/// A loss on differences of log-ratios, under another divergence from the reference (f-DPO).
///
///     loss(s(dw), s(dl)) in place of loss(dw, dl),   d = log π(y|x) - log π_ref(y|x)
///
/// so that `margin()` is s(dw) - s(dl), and `mean_margin()` is s(dw)/|yw| - s(dl)/|yl|, both of
/// summed log-ratios. `divergence::reverse_kl` changes nothing.
///
/// Only for losses that declare `score_difference` (dpo, robust_dpo, ipo, hinge_norm, mixtures of
/// these, …): an unknown normalizer β·log Z(x) comes with each score and cancels in a difference
/// alone. Anything else does not compile, and neither does a second divergence, so that all terms
/// of a loss have one transform. An NLL term goes outside: `with_nll{with_divergence{…}, …}`. With
/// averages the normalizer cancels for equal lengths only, and constants matter: here s(0) = 0, so
/// that the margin is 0 where policy and reference agree, as in TRL today.
///
/// Inputs: those of the loss, and the reference. Ranges: those of the loss and the divergence.
/// Invariants: at dw = dl = 0 the value of the plain loss; slopes are those of the loss times
/// s'(dw) and s'(dl); falling stays falling, convex does not stay convex. Reported rewards are
/// those of the plain loss, β·d, as trainers report them. Errors: `validate()` throws
/// `value_error`. At most one exponential a response.
///
/// ```cpp
/// auto const loss = prefer::loss::with_divergence{prefer::loss::dpo{.beta = 0.1},
///                                                 prefer::loss::divergence::jensen_shannon{}};
/// ```
///
/// Source: C. Wang et al., "Beyond reverse KL: generalizing direct preference optimization with
/// diverse divergence constraints", 2023 (2309.16240), whose α is 1 minus this one.
template <class Loss, class Divergence>
struct with_divergence {
    static_assert(score_difference_loss<Loss>,
                  "prefer: a divergence is for losses that read the responses only through the "
                  "difference of their scores (they declare `score_difference`): the normalizer "
                  "of f-DPO cancels in nothing else, and only one divergence applies. Put an NLL "
                  "term outside: with_nll{with_divergence{...}}.");

    Loss loss{};
    Divergence divergence{};

    constexpr pair_inputs inputs() const {
        pair_inputs needed = detail::inputs_of(loss);
        needed.reference = true;
        return needed;
    }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"loss", &with_divergence::loss},
                            parameter{"divergence", &with_divergence::divergence}};
    }

    PREFER_HOST_DEVICE constexpr Loss const& rewarded() const { return loss; }

    void validate() const {
        detail::validate_loss(loss);
        divergence.validate();
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        return loss(pair<S>{scored(p.chosen), scored(p.rejected), p.label, p.offset});
    }

private:
    template <class S>
    PREFER_HOST_DEVICE constexpr response<S> scored(response<S> const& r) const {
        using real = math::primal_t<S>;
        return {divergence(r.log_ratio()), real(0), r.length, r.score};
    }
};

template <class Loss, class Divergence>
with_divergence(Loss, Divergence) -> with_divergence<Loss, Divergence>;

}  // namespace loss
}  // namespace prefer
