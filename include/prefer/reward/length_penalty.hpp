// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::reward {

/// What a length counts. The same rate means other things in each.
enum class length_unit : ::std::uint8_t { characters, bytes, tokens };

/// Lengths `[M]` (integers), and what they count.
template <class T>
struct measured_lengths {
    vector_view<T const> values;
    length_unit unit;
};

/// Names the unit of a vector of lengths: `reward::lengths(n, length_unit::characters)`.
template <class Lengths>
auto lengths(Lengths const& values, length_unit unit) {
    using T = vector_element_t<Lengths const>;
    static_assert(index_element<T>, "prefer: lengths are integers");
    return measured_lengths<T>{as_vector(values), unit};
}

/// Takes a price for length off rewards: r - rate · |y|, in place.
///
/// `rewards [M]`, any element type, computed in double; `lengths [M]` with their unit, which must
/// be the one of the rate.
/// Errors, before anything is written: `value_error` for another unit, a negative length, a rate
/// that is not finite; `shape_error` for sizes that differ. O(M), no allocation.
/// Source: arXiv:2405.07863, section 3.2, whose λ = 0.001 is per character; characters are code
/// points there.
struct length_penalty {
    double rate = 0.001;
    length_unit unit = length_unit::characters;

    template <class Rewards, class T>
    void operator()(Rewards&& rewards, measured_lengths<T> const& lengths) const {
        char const* const name = "reward::length_penalty";
        auto const out = as_vector(rewards);
        using R = typename decltype(out)::value_type;
        detail::require(math::is_finite(rate), name, "rate", rate, "finite");
        if (lengths.unit != unit) {
            throw value_error("prefer::reward::length_penalty: the lengths are in another unit "
                              "than the rate");
        }
        detail::require_size(name, "lengths", lengths.values.size(), "rewards", out.size());
        for (::std::size_t i = 0; i < out.size(); ++i) {
            if (lengths.values[i] < T(0)) {
                detail::throw_bad_element(name, "lengths", i, +lengths.values[i], "at least 0");
            }
        }
        for (::std::size_t i = 0; i < out.size(); ++i) {
            double const reward = static_cast<double>(static_cast<compute_t<R>>(out[i]));
            double const shaped = reward - rate * static_cast<double>(lengths.values[i]);
            out[i] = static_cast<R>(static_cast<compute_t<R>>(shaped));
        }
    }
};

}  // namespace prefer::reward
