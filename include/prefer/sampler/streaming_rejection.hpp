// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <prefer/core/random.hpp>
#include <prefer/core/state.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/sampler/rejection.hpp>

namespace prefer::sampler {

/// What `streaming_rejection` does with a reward above its bound.
enum class reward_bound : ::std::uint8_t {
    known,      ///< throws `value_error`: the bound was wrong
    estimated,  ///< raises the bound to it
};

/// Rejection sampling of candidates that arrive one by one, from a generator that is asked for more
/// until enough are accepted:
///
///     accepted where u < exp((r - bound) / β),     u uniform in [0, 1).
///
/// With a known bound, each accepted candidate is a draw from π·exp(r/β), π being the generator's
/// distribution, independent of the others. An estimated bound is the largest reward so far, which
/// is itself accepted; what was accepted under a lower bound was accepted too easily. Whoever wants
/// the exact distribution keeps each of those with the probability `survival()` after a raise.
///
/// Errors: `value_error` for a β that is negative or NaN, a bound that is NaN, -∞ where it is
/// known, or +∞; for a reward that is not finite or above a known bound, before anything is drawn.
/// An estimated bound may begin at -∞. O(1) a candidate. Determinism: one `uniform01<double>` for
/// each candidate offered.
/// Source: arXiv:2309.06657, section 3.2 (fresh draws from the SFT policy; the bound is its
/// maximum reward). The thinning after a raise is ours.
class streaming_rejection {
public:
    streaming_rejection(double beta, double bound, reward_bound kind)
        : beta_(beta), bound_(bound), kind_(kind) {
        detail::require(beta >= 0, name, "beta", beta, "at least 0");
        bool const none_yet = kind == reward_bound::estimated && bound <= -math::infinity<double>;
        detail::require(math::is_finite(bound) || none_yet, name, "bound", bound,
                        "finite, or minus infinity where it is estimated");
    }

    /// Whether the candidate is accepted.
    template <bit_generator G>
    bool offer(double reward, G& rng) {
        detail::require(math::is_finite(reward), name, "reward", reward, "finite");
        if (kind_ == reward_bound::known) {
            detail::require(reward <= bound_, name, "reward", reward, "at most the known bound");
        }
        survival_ = 1;
        if (reward > bound_) {
            survival_ = accepted_ == 0 ? 1 : acceptance(bound_, reward, beta_);
            bound_ = reward;
        }
        ++offered_;
        bool const yes = uniform01<double>(rng) < acceptance(reward, bound_, beta_);
        accepted_ += yes ? 1 : 0;
        return yes;
    }

    /// The probability to keep each candidate that was accepted before the last one offered: below
    /// 1 only where that one has raised the bound.
    double survival() const { return survival_; }

    double bound() const { return bound_; }
    ::std::uint64_t offered() const { return offered_; }
    ::std::uint64_t accepted() const { return accepted_; }

    void save(state_writer& out, ::std::string const& key) const {
        out.put(key + ".options",
                ::std::vector<double>{beta_, kind_ == reward_bound::known ? 1.0 : 0.0});
        out.put(key + ".bound", ::std::vector<double>{bound_, survival_});
        out.put(key + ".counts", ::std::vector<::std::uint64_t>{offered_, accepted_});
    }

    /// Goes on where the saved one stood. Throws `state_error`, and changes nothing, where that had
    /// another β or kind of bound, or is inconsistent.
    void load(state_reader& in, ::std::string const& key) {
        ::std::vector<double> options, bound;
        ::std::vector<::std::uint64_t> counts;
        in.get(key + ".options", options);
        in.get(key + ".bound", bound);
        in.get(key + ".counts", counts);
        double const known = kind_ == reward_bound::known ? 1 : 0;
        if (options != ::std::vector<double>{beta_, known}) {
            throw state_error("prefer::sampler::streaming_rejection::load: the saved one has "
                              "another β or kind of bound");
        }
        bool const right =
            bound.size() == 2 && counts.size() == 2 && counts[1] <= counts[0] && bound[1] >= 0 &&
            bound[1] <= 1 && bound[0] < math::infinity<double> &&
            (math::is_finite(bound[0]) || counts[0] == 0) &&
            (kind_ == reward_bound::estimated || (bound[0] <= bound_ && bound[0] >= bound_));
        if (!right) {
            throw state_error("prefer::sampler::streaming_rejection::load: the saved numbers do "
                              "not fit together");
        }
        bound_ = bound[0];
        survival_ = bound[1];
        offered_ = counts[0];
        accepted_ = counts[1];
    }

private:
    static constexpr char const* name = "sampler::streaming_rejection";

    double beta_;
    double bound_;
    reward_bound kind_;
    double survival_ = 1;
    ::std::uint64_t offered_ = 0;
    ::std::uint64_t accepted_ = 0;
};

}  // namespace prefer::sampler
