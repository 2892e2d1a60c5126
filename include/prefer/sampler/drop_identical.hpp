// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/sampler/index_pair.hpp>

namespace prefer::sampler {

/// Takes out the pairs whose two candidates have the same key (the same text), and says how many:
/// whatever their rewards, they teach nothing.
///
/// `keys [M]`, anything with ==. Errors, before a pair leaves: `value_error` for an index that is
/// not below M. O(pairs). Source: arXiv:2405.07863, section 3.2 (identical responses are dropped;
/// RLHFlow's code does not).
template <class Keys>
::std::size_t drop_identical(pair_list& list, Keys const& keys) {
    auto const key = as_vector(keys);
    for (::std::size_t i = 0; i < list.pairs.size(); ++i) {
        auto const& pair = list.pairs[i];
        ::std::size_t const larger = pair.chosen > pair.rejected ? pair.chosen : pair.rejected;
        if (larger >= key.size()) {
            detail::throw_bad_element("sampler::drop_identical", "the indices of pairs", i, larger,
                                      "below the number of keys");
        }
    }
    return ::std::erase_if(
        list.pairs, [&](index_pair const& pair) { return key[pair.chosen] == key[pair.rejected]; });
}

}  // namespace prefer::sampler
