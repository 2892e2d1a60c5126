// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::reward {

/// Per-prompt normalisation, in place: of each prompt's rewards the mean is taken off, and what is
/// left is divided by their standard deviation.
///
///     (r - mean) / sqrt(mean of (r - mean)²)
///
/// `rewards [N]`, any element type, computed in double, prompt after prompt; `offsets [P + 1]` as
/// in `packed`. Rewards that are all equal become 0, as does a single one. The deviation is that of
/// the rewards themselves (divisor n).
/// Errors, before anything is written: `shape_error` for offsets that do not fit, `value_error` for
/// a reward that is not finite. Returns the number of prompts whose rewards were all equal. O(N).
template <class Rewards, class Offsets>
::std::size_t normalize_rewards(Rewards&& rewards, Offsets const& offsets) {
    char const* const name = "reward::normalize_rewards";
    auto const out = as_vector(rewards);
    packed const prompts(offsets);
    using R = typename decltype(out)::value_type;
    auto const at = [&](::std::size_t i) {
        return static_cast<double>(static_cast<compute_t<R>>(out[i]));
    };
    prompts.check(name);
    detail::require_size(name, "rewards", out.size(), "offsets' last entry", prompts.tokens());
    for (::std::size_t i = 0; i < out.size(); ++i) {
        if (!math::is_finite(at(i))) detail::throw_bad_element(name, "rewards", i, at(i), "finite");
    }
    ::std::size_t constant = 0;
    for (::std::size_t p = 0; p < prompts.sequences(); ++p) {
        ::std::size_t const first = prompts.first(p);
        ::std::size_t const last = prompts.last(p);
        if (first == last) continue;
        auto const n = static_cast<double>(last - first);
        double mean = 0;
        for (::std::size_t i = first; i < last; ++i) mean += at(i) / n;
        // In units of the largest deviation, whose square then is no overflow and no underflow.
        double unit = 0;
        bool equal = true;
        for (::std::size_t i = first; i < last; ++i) {
            unit = ::std::max(unit, ::std::abs(at(i) - mean));
            equal = equal && !(at(i) < at(first)) && !(at(i) > at(first));
        }
        double variance = 0;
        for (::std::size_t i = first; i < last && !equal; ++i) {
            double const d = (at(i) - mean) / unit;
            variance += d * d / n;
        }
        constant += equal ? 1U : 0U;
        for (::std::size_t i = first; i < last; ++i) {
            double const d = equal ? 0 : (at(i) - mean) / unit / ::std::sqrt(variance);
            out[i] = static_cast<R>(static_cast<compute_t<R>>(d));
        }
    }
    return constant;
}

}  // namespace prefer::reward
