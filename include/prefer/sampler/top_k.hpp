// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <prefer/errors.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::detail {

/// The k of n places with the largest keys, largest first; of equal keys, the first place first.
template <class Keys>
::std::vector<::std::size_t> largest_places(Keys const& keys, ::std::size_t n, ::std::size_t k) {
    ::std::vector<::std::size_t> places(n);
    for (::std::size_t i = 0; i < n; ++i) places[i] = i;
    auto const middle = places.begin() + static_cast<::std::ptrdiff_t>(k);
    ::std::partial_sort(places.begin(), middle, places.end(),
                        [&](::std::size_t a, ::std::size_t b) {
                            return keys[a] > keys[b] || (!(keys[a] < keys[b]) && a < b);
                        });
    places.resize(k);
    return places;
}

}  // namespace prefer::detail

namespace prefer::sampler {

/// Top-k-over-N: the indices of the k largest rewards, the largest first; of equal ones, the first
/// first. What Llama 2 calls rejection sampling, and what `rejection` is for β = 0.
///
/// `rewards [N]`, any element type. Errors: `value_error` for a reward that is not finite, or k
/// above N. O(N log k), nothing is drawn.
template <class Rewards>
::std::vector<::std::size_t> top_k(Rewards const& rewards, ::std::size_t k) {
    auto const r = detail::finite_rewards("sampler::top_k", rewards);
    detail::require(k <= r.size(), "sampler::top_k", "k", k, "at most the number of rewards");
    return detail::largest_places(r, r.size(), k);
}

}  // namespace prefer::sampler
