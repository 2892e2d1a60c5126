// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::sampler {

/// What a sampler does with candidates that have the same key (the same text).
enum class duplicates : ::std::uint8_t {
    keep,         ///< each is a candidate of its own
    merge_first,  ///< one candidate, in the place and with the reward of the first
    merge_last,   ///< one candidate, in the place of the first, with index and reward of the last
};

/// What a sampler does with a reward that is NaN or infinite.
enum class non_finite : ::std::uint8_t {
    error,  ///< throws `value_error`
    drop,   ///< the candidate does not take part, and is counted
};

/// What a sampler does when fewer candidates are left than are asked for.
enum class short_pool : ::std::uint8_t {
    error,     ///< throws `value_error`, before anything is drawn
    truncate,  ///< gives what there is, and says so
};

}  // namespace prefer::sampler

namespace prefer::detail {

/// No keys: `candidate_pool::fill` then merges nothing.
struct no_keys {};

/// The candidates of one prompt that still take part: rewards in double, without gaps, beside
/// their indices. One pool serves one prompt after the other without a new allocation.
struct candidate_pool {
    static constexpr ::std::size_t all_finite = ::std::numeric_limits<::std::size_t>::max();

    ::std::vector<double> rewards;  // the first `size` count
    ::std::vector<::std::size_t> indices;
    ::std::size_t size = 0;
    ::std::size_t dropped = 0;  // non-finite rewards
    ::std::size_t merged = 0;   // candidates that became part of another

    void reserve(::std::size_t candidates) {
        if (rewards.size() >= candidates) return;
        rewards.resize(candidates);
        indices.resize(candidates);
        places_.resize(candidates);
        leaves_.resize(candidates);
    }

    /// Takes candidates `first` to `last`. Returns the index of the first non-finite reward where
    /// that is an error, `all_finite` otherwise.
    template <class T, class Keys>
    ::std::size_t fill(vector_view<T const> from, Keys const& keys, ::std::size_t first,
                       ::std::size_t last, sampler::non_finite policy, sampler::duplicates merge) {
        reserve(last - first);
        dropped = merged = 0;
        size = last - first;
        auto const candidates = from.slice(first, size);
        bool const finite = candidates.contiguous() ? copy<true>(candidates, first)
                                                    : copy<false>(candidates, first);
        if (!finite) {
            ::std::size_t kept = 0;
            for (::std::size_t i = 0; i < size; ++i) {
                if (math::is_finite(rewards[i])) {
                    rewards[kept] = rewards[i];
                    indices[kept++] = indices[i];
                } else if (policy == sampler::non_finite::error) {
                    return indices[i];
                }
            }
            dropped = size - kept;
            size = kept;
        }
        if constexpr (!::std::is_same_v<Keys, no_keys>) {
            if (merge != sampler::duplicates::keep) merge_equal(keys, merge);
        }
        return all_finite;
    }

private:
    /// Copies rewards, and numbers them from `first` on. Returns whether all are finite.
    template <bool Contiguous, class T>
    bool copy(vector_view<T const> from, ::std::size_t first) {
        T const* const source = from.data();
        double* const to = rewards.data();
        ::std::size_t* const index = indices.data();
        ::std::size_t const n = from.size();
        for (::std::size_t i = 0; i < n; ++i) {
            T const element = Contiguous ? source[i] : from[i];
            to[i] = static_cast<double>(static_cast<compute_t<T>>(element));
        }
        for (::std::size_t i = 0; i < n; ++i) index[i] = first + i;
        ::std::size_t finite = 0;
        for (::std::size_t i = 0; i < n; ++i) finite += math::is_finite(to[i]) ? 1U : 0U;
        return finite == n;
    }

    /// One candidate for each key. O(M log M).
    template <class Keys>
    void merge_equal(Keys const& keys, sampler::duplicates merge) {
        auto const key = [&](::std::size_t place) { return keys[indices[place]]; };
        auto const sorted = places_.begin();
        auto const end = sorted + static_cast<::std::ptrdiff_t>(size);
        for (::std::size_t i = 0; i < size; ++i) {
            places_[i] = i;
            leaves_[i] = 0;
        }
        ::std::sort(sorted, end, [&](::std::size_t a, ::std::size_t b) {
            return key(a) < key(b) || (key(a) == key(b) && a < b);
        });
        for (::std::size_t i = 0; i < size;) {
            ::std::size_t const first = places_[i];
            ::std::size_t last = first;
            for (++i; i < size && key(places_[i]) == key(first); ++i) {
                last = places_[i];
                leaves_[last] = 1;
            }
            if (merge == sampler::duplicates::merge_last) {
                rewards[first] = rewards[last];
                indices[first] = indices[last];
            }
        }
        ::std::size_t kept = 0;
        for (::std::size_t i = 0; i < size; ++i) {
            if (leaves_[i] != 0) continue;
            rewards[kept] = rewards[i];
            indices[kept++] = indices[i];
        }
        merged = size - kept;
        size = kept;
    }

    ::std::vector<::std::size_t> places_;
    ::std::vector<unsigned char> leaves_;
};

}  // namespace prefer::detail
