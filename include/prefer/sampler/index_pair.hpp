// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/core/view.hpp>

namespace prefer::sampler {

/// A preference pair by its indices into the candidates' rewards.
struct index_pair {
    ::std::size_t chosen = 0;
    ::std::size_t rejected = 0;

    friend constexpr bool operator==(index_pair const&, index_pair const&) = default;
};

/// What a pair builder made. The rules that all builders share:
///
/// - chosen has the larger reward, strictly: two equal rewards say nothing, give no pair, and are
///   counted in `ties`;
/// - a candidate that is left without a partner is counted in `unpaired`;
/// - whether two candidates are the same text, a builder does not know: see `drop_identical`;
/// - `indices [n]` (unsigned integers) name the candidates that take part, `rewards [M]` are of all
///   candidates, of any element type. The chosen and the rejected are entries of `indices`, so what
///   `rejection` drew goes in as it is;
/// - `value_error` for an index that is not below M, or a named reward that is not finite; before
///   anything is drawn. Fewer than two candidates give no pair.
struct pair_list {
    ::std::vector<index_pair> pairs;
    ::std::size_t ties = 0;
    ::std::size_t unpaired = 0;
};

/// The candidates `first` to `last`, as indices: all of a prompt.
inline ::std::vector<::std::size_t> index_range(::std::size_t first, ::std::size_t last) {
    ::std::vector<::std::size_t> out;
    for (::std::size_t i = first; i < last; ++i) out.push_back(i);
    return out;
}

}  // namespace prefer::sampler

namespace prefer::detail {

/// Two candidates meet: the pair is added, or the tie counted.
template <class Rewards>
void add_match(sampler::pair_list& list, Rewards const& rewards, ::std::size_t a, ::std::size_t b) {
    if (rewards[a] > rewards[b]) {
        list.pairs.push_back({a, b});
    } else if (rewards[b] > rewards[a]) {
        list.pairs.push_back({b, a});
    } else {
        ++list.ties;
    }
}

/// Indices of any unsigned type, copied.
template <class Indices>
::std::vector<::std::size_t> index_list(Indices const& indices) {
    auto const from = as_vector(indices);
    ::std::vector<::std::size_t> out(from.size());
    for (::std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<::std::size_t>(from[i]);
    return out;
}

/// A uniform permutation: Fisher-Yates from the end, one `uniform_index` for each place but the
/// first.
template <class G>
void shuffle(::std::vector<::std::size_t>& list, G& rng) {
    for (::std::size_t n = list.size(); n > 1; --n) {
        ::std::swap(list[n - 1], list[uniform_index(rng, n)]);
    }
}

}  // namespace prefer::detail
