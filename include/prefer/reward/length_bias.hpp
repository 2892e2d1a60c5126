// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <prefer/core/layout.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::reward {

/// How the rewards of responses to the same prompt go with their lengths.
struct length_bias_report {
    ::std::vector<double> correlations;  ///< Pearson's r of each prompt that has one, in order
    ::std::size_t undefined = 0;  ///< prompts with fewer than two responses, or equal rewards or
                                  ///< lengths
    double mean = 0;              ///< of the correlations, as the next four; 0 where there are none
    double lower_quartile = 0;
    double median = 0;
    double upper_quartile = 0;
    double positive = 0;  ///< the fraction above 0
};

/// Pearson's correlation of reward and length within each prompt, and its distribution over
/// prompts. Near 0 is no bias; arXiv:2405.07863 finds its reward models well above.
///
/// `rewards [N]`, any element type, `lengths [N]` integers, prompt after prompt; `offsets [P + 1]`
/// as in `packed`. A quartile is the smallest correlation that at least a quarter (a half, three
/// quarters) of all do not exceed. In double.
/// Errors: `shape_error` for sizes or offsets that do not fit, `value_error` for a reward that is
/// not finite. O(N + P log P). Source: arXiv:2405.07863, section 3.2, figure 6.
template <class Rewards, class Lengths, class Offsets>
length_bias_report length_bias(Rewards const& rewards, Lengths const& lengths,
                               Offsets const& offsets) {
    char const* const name = "reward::length_bias";
    auto const r = as_vector(rewards);
    auto const n = as_vector(lengths);
    using R = typename decltype(r)::value_type;
    static_assert(index_element<vector_element_t<Lengths const>>, "prefer: lengths are integers");
    packed const prompts(offsets);
    auto const reward = [&](::std::size_t i) {
        return static_cast<double>(static_cast<compute_t<R>>(r[i]));
    };
    auto const length = [&](::std::size_t i) { return static_cast<double>(n[i]); };
    prompts.check(name);
    detail::require_size(name, "rewards", r.size(), "offsets' last entry", prompts.tokens());
    detail::require_size(name, "lengths", n.size(), "rewards", r.size());
    for (::std::size_t i = 0; i < r.size(); ++i) {
        if (!math::is_finite(reward(i))) {
            detail::throw_bad_element(name, "rewards", i, reward(i), "finite");
        }
    }
    length_bias_report out;
    for (::std::size_t p = 0; p < prompts.sequences(); ++p) {
        ::std::size_t const first = prompts.first(p);
        ::std::size_t const last = prompts.last(p);
        auto const count = static_cast<double>(last - first);
        double mean_reward = 0;
        double mean_length = 0;
        for (::std::size_t i = first; i < last; ++i) {
            mean_reward += reward(i) / count;
            mean_length += length(i) / count;
        }
        double unit = 0;  // the largest deviation: in it, no square overflows or underflows
        for (::std::size_t i = first; i < last; ++i) {
            unit = ::std::max(unit, ::std::abs(reward(i) - mean_reward));
        }
        double rr = 0;
        double ll = 0;
        double rl = 0;
        bool rewards_differ = false;
        bool lengths_differ = false;
        for (::std::size_t i = first; i < last; ++i) {
            double const a = unit > 0 ? (reward(i) - mean_reward) / unit : 0;
            double const b = length(i) - mean_length;
            rr += a * a;
            ll += b * b;
            rl += a * b;
            rewards_differ =
                rewards_differ || reward(i) < reward(first) || reward(i) > reward(first);
            lengths_differ = lengths_differ || n[i] != n[first];
        }
        double const scale = ::std::sqrt(rr) * ::std::sqrt(ll);
        if (!rewards_differ || !lengths_differ || !(scale > 0)) {
            ++out.undefined;
        } else {
            out.correlations.push_back(::std::clamp(rl / scale, -1.0, 1.0));
        }
    }
    if (out.correlations.empty()) return out;
    auto sorted = out.correlations;
    ::std::sort(sorted.begin(), sorted.end());
    auto const quantile = [&](::std::size_t quarters) {
        return sorted[(sorted.size() * quarters + 3) / 4 - 1];
    };
    auto const total = static_cast<double>(sorted.size());
    for (double const c : sorted) {
        out.mean += c / total;
        out.positive += c > 0 ? 1 / total : 0;
    }
    out.lower_quartile = quantile(1);
    out.median = quantile(2);
    out.upper_quartile = quantile(3);
    return out;
}

}  // namespace prefer::reward
