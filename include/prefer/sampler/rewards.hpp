// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::detail {

/// Rewards of any element type, read as double.
template <class T>
class reward_view {
public:
    explicit reward_view(vector_view<T const> rewards) : rewards_(rewards) {}

    ::std::size_t size() const { return rewards_.size(); }
    double operator[](::std::size_t i) const {
        return static_cast<double>(static_cast<compute_t<T>>(rewards_[i]));
    }
    void require_finite(char const* function, ::std::size_t i) const {
        double const reward = (*this)[i];
        if (!math::is_finite(reward)) {
            throw_bad_element(function, "rewards", i, reward, "finite");
        }
    }

private:
    vector_view<T const> rewards_;
};

/// Rewards that are all finite.
template <class Rewards>
auto finite_rewards(char const* function, Rewards const& rewards) {
    reward_view<vector_element_t<Rewards const>> const view(as_vector(rewards));
    for (::std::size_t i = 0; i < view.size(); ++i) view.require_finite(function, i);
    return view;
}

/// Rewards that are finite wherever an index says, and indices that are all of them.
template <class Indices, class Rewards>
auto indexed_rewards(char const* function, Indices const& indices, Rewards const& rewards) {
    reward_view<vector_element_t<Rewards const>> const view(as_vector(rewards));
    auto const list = as_vector(indices);
    static_assert(::std::unsigned_integral<vector_element_t<Indices const>>,
                  "prefer: indices of candidates are unsigned integers");
    for (::std::size_t k = 0; k < list.size(); ++k) {
        if (list[k] >= view.size()) {
            throw_bad_element(function, "indices", k, list[k], "below the number of rewards");
        }
        view.require_finite(function, static_cast<::std::size_t>(list[k]));
    }
    return view;
}

}  // namespace prefer::detail
