// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::loss {

/// The range that density ratios are clamped to.
struct bco_density_range {
    double least = 0.5;
    double most = 10.0;
};

/// The weights of `bco` where the prompts of desirable and undesirable examples differ ("underlying
/// distribution matching").
///
///     weight = clamp(p / (1 - p + 1e-8), least, most)   where the label is 0 (undesirable)
///     weight = 1                                        where it is 1 (desirable)
///
/// p is the probability, by a classifier of the prompt, that its example is desirable; the caller
/// trains that classifier. `probabilities [B]`, `labels [B]` (0 or 1), `weights [B]` written whole.
/// Any element types; labels also integers. The probability of a desirable example is not read.
/// Errors, before anything is written: `shape_error` for sizes that differ; `value_error` for a
/// label that is neither 0 nor 1, a p outside [0, 1], or a range that is not 0 <= least <= most,
/// finite. O(B), no allocation. Computed in double.
/// Source: S. Jung et al. 2024; constants as in TRL.
template <class Probabilities, class Labels, class Weights>
void bco_density_weights(Probabilities const& probabilities, Labels const& labels,
                         Weights&& weights, bco_density_range range = {}) {
    auto const p = as_vector(probabilities);
    auto const label = as_vector(labels);
    auto const out = as_vector(weights);
    using P = typename decltype(p)::value_type;
    using L = typename decltype(label)::value_type;
    using W = typename decltype(out)::value_type;
    auto const probability_at = [&](::std::size_t i) {
        return static_cast<double>(static_cast<compute_t<P>>(p[i]));
    };
    auto const label_at = [&](::std::size_t i) {
        if constexpr (::std::integral<L>) {
            return static_cast<double>(label[i]);
        } else {
            return static_cast<double>(static_cast<compute_t<L>>(label[i]));
        }
    };

    char const* const name = "loss::bco_density_weights";
    detail::require_size(name, "labels", label.size(), "probabilities", p.size());
    detail::require_size(name, "weights", out.size(), "probabilities", p.size());
    detail::require(math::is_finite(range.least) && range.least >= 0, name, "least", range.least,
                    "finite and at least 0");
    detail::require(math::is_finite(range.most) && range.most >= range.least, name, "most",
                    range.most, "finite and at least the least");
    for (::std::size_t i = 0; i < p.size(); ++i) {
        double const y = label_at(i);
        bool const desirable = y >= 1 && y <= 1;
        if (!desirable && !(y >= 0 && y <= 0)) {
            detail::throw_bad_element(name, "labels", i, y, "0 or 1");
        }
        double const q = probability_at(i);
        if (!desirable && !(q >= 0 && q <= 1)) {
            detail::throw_bad_element(name, "probabilities", i, q, "in [0, 1]");
        }
    }
    for (::std::size_t i = 0; i < p.size(); ++i) {
        double const q = probability_at(i);
        double const ratio = q / (1 - q + 1e-8);
        double const weight =
            label_at(i) > 0.5 ? 1.0 : math::min(range.most, math::max(range.least, ratio));
        out[i] = static_cast<W>(static_cast<compute_t<W>>(weight));
    }
}

}  // namespace prefer::loss
