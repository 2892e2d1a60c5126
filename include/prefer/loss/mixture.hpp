// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/modifier.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// A loss with its weight in a `mixture`.
template <class Loss>
struct weighted {
    static_assert(
        pair_loss<Loss>,
        "prefer: a mixture is made of pair losses: callable with prefer::pair<S>, for S = "
        "double and for dual numbers");

    Loss loss{};
    double weight = 1.0;

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"loss", &weighted::loss},
                            parameter{"weight", &weighted::weight}};
    }

    void validate() const {
        detail::validate_loss(loss);
        detail::require(math::is_finite(weight), "loss::mixture", "weight", weight, "finite");
    }

    /// weight·loss; a weight of 0 masks the loss, also where it is infinite.
    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        if (math::abs(weight) > 0) return real(weight) * loss(p);
        return S(real(0));
    }
};

template <class Loss>
weighted(Loss, double = 1.0) -> weighted<Loss>;

/// Mixed preference optimization (MPO): a weighted sum of different losses on the same pair.
///
///     loss = w₁·loss₁ + w₂·loss₂ + …
///
/// Inputs: what any of them reads. Ranges: weights finite; they need not sum to 1. Invariants:
/// value and gradient are the weighted sums; it is a difference of scores where all of them are.
/// Reported rewards are those of the *first* loss, whatever follows. A weight for each pair instead
/// is `pair_batch::with_weights`. Errors: `validate()` throws `value_error`. The cost is that of
/// the losses.
///
/// ```cpp
/// prefer::loss::mixture const loss{prefer::loss::weighted{prefer::loss::dpo{}, 0.8},
///                                  prefer::loss::weighted{prefer::loss::hinge_norm{}, 0.2}};
/// ```
///
/// Source: W. Wang et al., "Enhancing the reasoning ability of multimodal large language models via
/// mixed preference optimization", 2024 (2411.10442); TRL's `loss_type` and `loss_weights`.
template <class First, class... Rest>
struct mixture {
    weighted<First> first;
    mixture<Rest...> rest;

    mixture() = default;
    constexpr mixture(weighted<First> const& a, weighted<Rest> const&... others)
        : first(a), rest(others...) {}

    static constexpr bool score_difference =
        score_difference_loss<First> && mixture<Rest...>::score_difference;

    constexpr pair_inputs inputs() const
        requires(detail::declares_inputs<First> && ... && detail::declares_inputs<Rest>)
    {
        return detail::either_inputs(detail::inputs_of(first.loss), rest.inputs());
    }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"first", &mixture::first}, parameter{"rest", &mixture::rest}};
    }

    PREFER_HOST_DEVICE constexpr First const& rewarded() const { return first.loss; }

    void validate() const {
        first.validate();
        rest.validate();
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        return first(p) + rest(p);
    }
};

template <class Last>
struct mixture<Last> {
    weighted<Last> first;

    mixture() = default;
    constexpr mixture(weighted<Last> const& a) : first(a) {}

    static constexpr bool score_difference = score_difference_loss<Last>;

    constexpr pair_inputs inputs() const
        requires detail::declares_inputs<Last>
    {
        return first.loss.inputs();
    }

    static constexpr auto parameters() { return ::std::tuple{parameter{"first", &mixture::first}}; }

    PREFER_HOST_DEVICE constexpr Last const& rewarded() const { return first.loss; }

    void validate() const { first.validate(); }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        return first(p);
    }
};

template <class... Losses>
mixture(weighted<Losses>...) -> mixture<Losses...>;

}  // namespace prefer::loss
