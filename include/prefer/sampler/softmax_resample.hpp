// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/sampler/rejection.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// Resampling with weights: `count` independent draws, with replacement, from
///
///     p_i ∝ exp(r_i / β).
///
/// Of candidates drawn from π these are, for many candidates, draws from π·exp(r/β) (sampling
/// importance resampling); unlike `rejection`, an index may come many times.
/// `rewards [M]`, any element type, computed in double. β = 0 draws among the largest rewards, all
/// of them alike, β = ∞ among all. Errors: `value_error` for a β that is negative or NaN, a reward
/// that is not finite, or no reward where `count` is not 0; before anything is drawn.
/// O(M + count · log M). Determinism: one `uniform01<double>` a draw, looked up in the running sum
/// of the weights in order.
struct softmax_resample {
    double beta = 0.5;
    ::std::size_t count = 8;

    template <class Rewards, bit_generator G>
    ::std::vector<::std::size_t> operator()(Rewards const& rewards, G& rng) const {
        char const* const name = "sampler::softmax_resample";
        auto const r = detail::finite_rewards(name, rewards);
        detail::require(beta >= 0, name, "beta", beta, "at least 0");
        if (count == 0) return {};
        detail::require(r.size() > 0, name, "the number of rewards", r.size(), "at least 1");
        double best = r[0];
        for (::std::size_t i = 1; i < r.size(); ++i) best = ::std::max(best, r[i]);
        ::std::vector<double> sums(r.size());
        double sum = 0;
        for (::std::size_t i = 0; i < r.size(); ++i) sums[i] = sum += acceptance(r[i], best, beta);
        // Where u · sum is rounded up to the sum, the last candidate that has a weight.
        auto const last = ::std::lower_bound(sums.begin(), sums.end(), sum);
        ::std::vector<::std::size_t> out(count);
        for (auto& index : out) {
            auto const at = ::std::upper_bound(sums.begin(), last, uniform01<double>(rng) * sum);
            index = static_cast<::std::size_t>(at - sums.begin());
        }
        return out;
    }
};

}  // namespace prefer::sampler
