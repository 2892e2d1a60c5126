// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/logit.hpp>

namespace prefer::reward {

/// A reward for one response from a model that compares two: how it fares against baselines.
///
///     r_i = mean over k of logit p_ik,   p_ik the probability that response i beats baseline k
///
/// `probabilities [M, K]` with the response shown first; `swapped [M, K]`, optionally, with the
/// baseline shown first: the probability that the baseline wins. Then p_ik is the mean of the one
/// and one minus the other, so that a preference for a position cancels. `rewards [M]` written
/// whole. Any element types; computed in double.
/// A model that is certain gives 0 or 1, whose logit is infinite: `least` is the range's end that
/// p is moved into, [least, 1 - least]; with 0 that is an error.
/// Errors, before anything is written: `shape_error` for sizes that differ or no baseline;
/// `value_error` for a probability outside [0, 1] or NaN, for a p of 0 or 1 where `least` is 0, for
/// a `least` that is not in [0, 0.5). O(M · K), no allocation.
/// Source: arXiv:2309.06657, section 3.2: one baseline, a random SFT response; both orders as in
/// arXiv:2405.08448, appendix A.2.
struct pairwise_reward {
    double least = 0;

    template <class Probabilities, class Rewards>
    void operator()(Probabilities const& probabilities, Rewards&& rewards) const {
        auto const p = as_matrix(probabilities);
        write(p, rewards, [&](::std::size_t i, ::std::size_t k) {
            return probability("probabilities", p, i, k);
        });
    }

    template <class Probabilities, class Swapped, class Rewards>
    void operator()(Probabilities const& probabilities, Swapped const& swapped,
                    Rewards&& rewards) const {
        auto const p = as_matrix(probabilities);
        auto const s = as_matrix(swapped);
        detail::require_size(name, "the rows of swapped", s.rows(), "those of probabilities",
                             p.rows());
        detail::require_size(name, "the columns of swapped", s.columns(), "those of probabilities",
                             p.columns());
        write(p, rewards, [&](::std::size_t i, ::std::size_t k) {
            double const first = probability("probabilities", p, i, k);
            return (first + (1 - probability("swapped", s, i, k))) / 2;
        });
    }

private:
    static constexpr char const* name = "reward::pairwise_reward";

    template <class View>
    static double probability(char const* argument, View const& view, ::std::size_t i,
                              ::std::size_t k) {
        using T = typename View::value_type;
        auto const p = static_cast<double>(static_cast<compute_t<T>>(view(i, k)));
        if (!(p >= 0 && p <= 1)) {
            detail::throw_bad_element(name, argument, i * view.columns() + k, p, "in [0, 1]");
        }
        return p;
    }

    template <class View, class Rewards, class P>
    void write(View const& shape, Rewards&& rewards, P const& p) const {
        auto const out = as_vector(rewards);
        using T = typename decltype(out)::value_type;
        detail::require(least >= 0 && least < 0.5, name, "least", least, "in [0, 0.5)");
        detail::require_size(name, "rewards", out.size(), "the rows of probabilities",
                             shape.rows());
        if (shape.columns() == 0 && shape.rows() > 0) {
            throw shape_error("prefer::reward::pairwise_reward: probabilities has no column, but "
                              "there must be a baseline");
        }
        auto const inside = [&](::std::size_t i, ::std::size_t k) {
            double const x = p(i, k);
            return x < least ? least : x > 1 - least ? 1 - least : x;
        };
        for (::std::size_t i = 0; i < shape.rows(); ++i) {
            for (::std::size_t k = 0; k < shape.columns(); ++k) {
                double const x = inside(i, k);
                if (!(x > 0 && x < 1)) {
                    detail::throw_bad_element(name, "probabilities", i * shape.columns() + k, x,
                                              "in (0, 1), or `least` above 0");
                }
            }
        }
        for (::std::size_t i = 0; i < shape.rows(); ++i) {
            double sum = 0;
            for (::std::size_t k = 0; k < shape.columns(); ++k) sum += math::logit(inside(i, k));
            out[i] = static_cast<T>(
                static_cast<compute_t<T>>(sum / static_cast<double>(shape.columns())));
        }
    }
};

}  // namespace prefer::reward
