// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/random.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/sampler/candidate_pool.hpp>
#include <prefer/sampler/rewards.hpp>

namespace prefer::sampler {

/// When the maximum that acceptance is measured against is taken anew.
enum class rejection_maximum : ::std::uint8_t {
    each_sweep,       ///< of what is left when a sweep begins: arXiv:2309.06657, algorithm 1
    each_acceptance,  ///< of what is left after each acceptance: the text of its section 3.2
};

/// The probability exp((reward - best) / β) that `rejection` accepts a candidate with; its limit
/// for β = 0 and ∞. `best` is at least `reward`, both finite.
inline double acceptance(double reward, double best, double beta) {
    if (reward >= best || beta > ::std::numeric_limits<double>::max()) return 1;
    return beta > 0 ? ::std::exp((reward - best) / beta) : 0;
}

/// The mean acceptance of a pool in its first sweep: mean of exp((r - max r) / β).
///
/// `rewards [M]`, any element type. 1/M for β = 0 where the best is one, 1 for β = ∞.
/// Errors: `value_error` for an empty pool, a reward that is not finite, a β that is negative or
/// NaN. O(M), no allocation. Source: arXiv:2309.06657, section 3.2.
template <class Rewards>
double expected_acceptance(Rewards const& rewards, double beta) {
    char const* const name = "sampler::expected_acceptance";
    auto const r = detail::finite_rewards(name, rewards);
    detail::require(beta >= 0, name, "beta", beta, "at least 0");
    detail::require(r.size() > 0, name, "the number of rewards", r.size(), "at least 1");
    double best = r[0];
    for (::std::size_t i = 1; i < r.size(); ++i) best = ::std::max(best, r[i]);
    double sum = 0;
    for (::std::size_t i = 0; i < r.size(); ++i) sum += acceptance(r[i], best, beta);
    return sum / static_cast<double>(r.size());
}

/// What `rejection` drew for one prompt.
struct drawn {
    ::std::vector<::std::size_t> indices;  ///< of the accepted candidates, in order of acceptance
    ::std::size_t sweeps = 0;              ///< passes over the pool that were begun
    ::std::size_t draws = 0;               ///< candidates visited, each with one uniform number
    double acceptance_rate = 0;            ///< accepted / draws; 0 where nothing was drawn
    bool complete = true;                  ///< as many as were asked for
    ::std::size_t dropped = 0;             ///< candidates with a non-finite reward
    ::std::size_t merged = 0;              ///< candidates that became part of another
};

/// What `rejection::per_prompt` drew for P prompts.
struct drawn_batch {
    ::std::vector<::std::size_t> indices;  ///< into the batch's rewards, one prompt after the other
    ::std::vector<::std::size_t> offsets;  ///< [P + 1]: prompt p has indices offsets[p] to [p + 1]
    ::std::size_t sweeps = 0;              ///< of all prompts together, as the next four
    ::std::size_t draws = 0;
    double acceptance_rate = 0;
    ::std::size_t dropped = 0;
    ::std::size_t merged = 0;
    ::std::size_t short_prompts = 0;  ///< prompts with fewer indices than were asked for
};

/// Statistical rejection sampling: of M candidates drawn from the proposal (the SFT policy), some
/// that are distributed more like the optimal policy π·exp(r/β).
///
/// In sweeps over the candidates that are left, in their order, each is accepted where
///
///     u < exp((r - max r) / β),      u uniform in [0, 1),
///
/// strictly, until `count` are accepted; who is accepted leaves the pool. The maximum is over what
/// was left at the start of the sweep, or after the last acceptance (`rejection_maximum`). So each
/// sweep accepts at least one candidate, there are at most `count` sweeps, and no index comes
/// twice. Since the last sweep ends early, candidates that come first have an advantage: give them
/// in random order where that matters.
///
/// `rewards [M]`, any element type, computed in double. β = 0 accepts the best of what is left, so
/// the result is the exact top `count`, equals in order; β = ∞ accepts in order. In between, the
/// result is between best-of-M and the proposal itself. `keys [M]` (integers, equal for equal
/// texts) let `duplicates` merge; non-finite rewards are dropped first where they are dropped.
///
/// Errors: `value_error` for a β that is negative or NaN, a `max_sweeps` of 0, a non-finite reward
/// or a short pool where the options call that an error, `duplicates` other than `keep` without
/// keys; `shape_error` for keys of another size; all before anything is drawn. `max_sweeps` ends
/// the search early, with `complete` false.
/// O(M · sweeps), a little more than 2 sweeps for normal rewards, 64 → 8, β = 0.5.
/// Determinism: one `uniform01<double>` for each candidate visited, in order, for every β. The same
/// choices on every platform whose std::exp gives the same bits.
/// Source: T. Liu et al., arXiv:2309.06657, algorithm 1. It keys its pool by text, which is
/// `merge_last`; it divides by β = 0, and accepts every NaN.
struct rejection {
    double beta = 0.5;
    ::std::size_t count = 8;
    rejection_maximum maximum = rejection_maximum::each_sweep;
    sampler::duplicates duplicates = sampler::duplicates::keep;
    sampler::non_finite non_finite = sampler::non_finite::error;
    sampler::short_pool short_pool = sampler::short_pool::error;
    ::std::size_t max_sweeps = ::std::numeric_limits<::std::size_t>::max();

    /// Draws for one prompt.
    template <class Rewards, bit_generator G>
    drawn operator()(Rewards const& rewards, G& rng) const {
        return one(reading(rewards), detail::no_keys{}, rng);
    }

    template <class Rewards, class Keys, bit_generator G>
        requires vector_like<Keys const&>
    drawn operator()(Rewards const& rewards, Keys const& keys, G& rng) const {
        auto const all = reading(rewards);
        detail::require_size(name, "keys", as_vector(keys).size(), "rewards", all.size());
        return one(all, as_vector(keys), rng);
    }

    /// Draws for P prompts at once: prompt p has the candidates `offsets[p]` to `offsets[p + 1]`,
    /// and the numbers of stream `s + p`, where s is the stream of `rng`, from the position where
    /// `rng` stands. So each prompt gets what it would get alone, for any number of threads, and
    /// ranks that hold parts of the prompts begin at the stream of their first. `rng` itself does
    /// not move: the next batch needs another seed or other streams.
    /// Errors name the first prompt that has one. Allocates the result, and a pool for each worker.
    template <backend_like Backend, class Rewards, class Offsets>
    drawn_batch per_prompt(Backend const& on, Rewards const& rewards, Offsets const& offsets,
                           philox const& rng) const {
        return many(on, reading(rewards), detail::no_keys{}, packed(offsets), rng);
    }

    template <backend_like Backend, class Rewards, class Keys, class Offsets>
    drawn_batch per_prompt(Backend const& on, Rewards const& rewards, Keys const& keys,
                           Offsets const& offsets, philox const& rng) const {
        auto const all = reading(rewards);
        detail::require_size(name, "keys", as_vector(keys).size(), "rewards", all.size());
        return many(on, all, as_vector(keys), packed(offsets), rng);
    }

private:
    static constexpr char const* name = "sampler::rejection";

    template <class Rewards>
    static vector_view<vector_element_t<Rewards const> const> reading(Rewards const& rewards) {
        return as_vector(rewards);
    }

    struct tally {
        ::std::size_t accepted = 0;
        ::std::size_t sweeps = 0;
        ::std::size_t draws = 0;
    };

    template <class Keys>
    void check() const {
        detail::require(beta >= 0, name, "beta", beta, "at least 0");
        detail::require(max_sweeps > 0, name, "max_sweeps", max_sweeps, "at least 1");
        if (duplicates != sampler::duplicates::keep && ::std::same_as<Keys, detail::no_keys>) {
            throw value_error("prefer::sampler::rejection: to merge duplicates, it needs keys");
        }
    }

    [[noreturn]] void throw_short(::std::size_t left, ::std::string const& where) const {
        throw value_error(detail::message("prefer::", name, ": count is ", count, ", but only ",
                                          left, " candidates can be chosen from", where));
    }

    static double rate(::std::size_t accepted, ::std::size_t draws) {
        return draws == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(draws);
    }

    template <class T, class Keys, class G>
    drawn one(vector_view<T const> rewards, Keys const& keys, G& rng) const {
        check<Keys>();
        detail::candidate_pool pool;
        auto const bad = pool.fill(rewards, keys, 0, rewards.size(), non_finite, duplicates);
        if (bad != pool.all_finite) detail::reward_view<T>(rewards).require_finite(name, bad);
        if (pool.size < count && short_pool == sampler::short_pool::error) {
            throw_short(pool.size, "");
        }
        drawn out;
        out.indices.resize(::std::min(count, pool.size));
        detail::uniform_source<G> uniforms(rng);
        tally const t = draw(pool, uniforms, out.indices.data());
        out.indices.resize(t.accepted);
        out.sweeps = t.sweeps;
        out.draws = t.draws;
        out.acceptance_rate = rate(t.accepted, t.draws);
        out.complete = t.accepted == count;
        out.dropped = pool.dropped;
        out.merged = pool.merged;
        return out;
    }

    template <class Backend, class T, class Keys, class Offset>
    drawn_batch many(Backend const& on, vector_view<T const> rewards, Keys const& keys,
                     packed<Offset> const& prompts, philox const& rng) const {
        check<Keys>();
        prompts.check(name);
        detail::require_size(name, "rewards", rewards.size(), "offsets' last entry",
                             prompts.tokens());
        ::std::size_t const total = prompts.sequences();
        ::std::size_t most = 0;
        for (::std::size_t p = 0; p < total; ++p) {
            most = ::std::max(most, prompts.last(p) - prompts.first(p));
        }
        ::std::size_t const slots =
            ::std::min(count, most);  // of each prompt, closed up at the end
        drawn_batch out;
        out.indices.resize(total * slots);
        out.offsets.resize(total + 1);
        ::std::vector<worker> workers(detail::workers_of(on));
        for (auto& w : workers) w.pool.reserve(most);

        detail::for_each_task(
            on, (total + task_size - 1) / task_size, [&](::std::size_t task, ::std::size_t who) {
                worker& w = workers[who];
                ::std::size_t const end = ::std::min(total, (task + 1) * task_size);
                for (::std::size_t p = task * task_size; p < end; ++p) {
                    auto& pool = w.pool;
                    auto const bad = pool.fill(rewards, keys, prompts.first(p), prompts.last(p),
                                               non_finite, duplicates);
                    if (bad != pool.all_finite ||
                        (pool.size < count && short_pool == sampler::short_pool::error)) {
                        w.first_bad = ::std::min(w.first_bad, p);
                        continue;
                    }
                    auto state = rng.save();
                    state.stream += p;
                    philox stream(state);
                    detail::uniform_source<philox> uniforms(stream);
                    tally const t = draw(pool, uniforms, out.indices.data() + p * slots);
                    out.offsets[p + 1] = t.accepted;
                    w.sweeps += t.sweeps;
                    w.draws += t.draws;
                    w.dropped += pool.dropped;
                    w.merged += pool.merged;
                }
            });

        ::std::size_t first_bad = none;
        for (auto const& w : workers) {
            first_bad = ::std::min(first_bad, w.first_bad);
            out.sweeps += w.sweeps;
            out.draws += w.draws;
            out.dropped += w.dropped;
            out.merged += w.merged;
        }
        if (first_bad != none) {
            detail::candidate_pool pool;
            auto const bad = pool.fill(rewards, keys, prompts.first(first_bad),
                                       prompts.last(first_bad), non_finite, duplicates);
            if (bad != pool.all_finite) detail::reward_view<T>(rewards).require_finite(name, bad);
            throw_short(pool.size, detail::message(" for prompt ", first_bad));
        }
        for (::std::size_t p = 0; p < total; ++p) {
            ::std::size_t const accepted = out.offsets[p + 1];
            if (accepted < count) ++out.short_prompts;
            if (out.offsets[p] != p * slots) {
                auto const from = out.indices.data() + p * slots;
                ::std::copy(from, from + accepted, out.indices.data() + out.offsets[p]);
            }
            out.offsets[p + 1] += out.offsets[p];
        }
        out.indices.resize(out.offsets[total]);
        out.acceptance_rate = rate(out.indices.size(), out.draws);
        return out;
    }

    /// Draws from a filled pool, and empties it of what is accepted.
    template <class Uniforms>
    tally draw(detail::candidate_pool& pool, Uniforms& uniforms, ::std::size_t* accepted) const {
        double* const rewards = pool.rewards.data();
        ::std::size_t* const indices = pool.indices.data();
        double u[detail::uniforms_ahead];
        double limit[detail::uniforms_ahead];
        ::std::uint32_t hit[detail::uniforms_ahead + 1];
        tally t;
        while (t.accepted < count && pool.size > 0 && t.sweeps < max_sweeps) {
            ++t.sweeps;
            double best = largest(rewards, pool.size);
            ::std::size_t kept = 0;   // the pool of the next sweep
            ::std::size_t i = 0;      // the candidate visited
            ::std::size_t since = 0;  // the first candidate not yet among those kept
            auto const keep_until = [&](::std::size_t end) {
                if (kept != since) {
                    ::std::copy(rewards + since, rewards + end, rewards + kept);
                    ::std::copy(indices + since, indices + end, indices + kept);
                }
                kept += end - since;
            };
            while (i < pool.size && t.accepted < count) {
                // So many are visited for certain, if the generator cannot look ahead.
                ::std::size_t const ahead =
                    Uniforms::looks_ahead ? detail::uniforms_ahead : count - t.accepted;
                ::std::size_t const n = ::std::min({detail::uniforms_ahead, pool.size - i, ahead});
                uniforms.peek(u, n);
                limits(rewards + i, n, best, limit);
                ::std::size_t visited = n;
                ::std::size_t hits = near(u, limit, 0, n, hit);
                for (::std::size_t k = 0; k < hits; ++k) {
                    ::std::size_t const j = hit[k];
                    double const reward = rewards[i + j];
                    if (!accepts(u[j], limit[j], reward, best)) continue;
                    accepted[t.accepted++] = indices[i + j];
                    keep_until(i + j);
                    since = i + j + 1;
                    if (t.accepted == count) {
                        visited = j + 1;
                        break;
                    }
                    if (maximum == rejection_maximum::each_acceptance && reward >= best) {
                        best = ::std::max(largest(rewards, kept),
                                          largest(rewards + since, pool.size - since));
                        limits(rewards + since, n - j - 1, best, limit + j + 1);
                        hits = k + 1 + near(u, limit, j + 1, n, hit + k + 1);
                    }
                }
                uniforms.take(visited);
                t.draws += visited;
                i += visited;
            }
            keep_until(i);
            pool.size = kept;
        }
        return t;
    }

    /// Whether u < exp((reward - best) / β), as `acceptance` computes it, where `limit` decides
    /// nothing against it.
    bool accepts(double u, double limit, double reward, double best) const {
        bool const certain = u < limit * 0.92 && u > 0;
        return certain || u < acceptance(reward, best, beta);
    }

    /// Numbers from 1 to 1.087 times exp((r - best) / β) of n candidates, r <= best, so that most
    /// draws are decided without an exponential: with x = (r - best) / (β · log 2), the float whose
    /// bits are the fixed-point number x is 2^floor(x) · (1 + x - floor(x)), at most 1.0861 times
    /// 2^x. No less than 1e-38; NaN, which decides nothing, where β has no finite reciprocal.
    void limits(double const* rewards, ::std::size_t n, double best, double* limit) const {
        double const scale = 1 / beta * 1.4426950408889634;
        if (!(scale > 0 && scale <= math::largest<double>)) {
            ::std::fill(limit, limit + n, math::quiet_nan<double>);
            return;
        }
        constexpr double unit = 0x1p23;
        constexpr double one = 127 * unit + 2;  // more than is cut off
        for (::std::size_t i = 0; i < n; ++i) {
            double const x = (rewards[i] - best) * scale;
            double const cut = x > -126 ? x : -126;  // also where a product overflows
            auto const bits = static_cast<::std::int32_t>(cut * unit + one);
            limit[i] = static_cast<double>(detail::bit_cast<float>(bits));
        }
    }

    /// The places from `first` to `last` where `limit` does not decide against u. At most `last`.
    static ::std::size_t near(double const* u, double const* limit, ::std::size_t first,
                              ::std::size_t last, ::std::uint32_t* places) {
        ::std::size_t count = 0;
        for (::std::size_t j = first; j < last; ++j) {
            places[count] = static_cast<::std::uint32_t>(j);
            count += u[j] > limit[j] ? 0U : 1U;
        }
        return count;
    }

    /// -∞ of nothing.
    static double largest(double const* from, ::std::size_t n) {
        constexpr ::std::size_t lanes = 8;  // partial results: a chain of maxima waits for each
        double best[lanes];
        ::std::fill(best, best + lanes, -math::infinity<double>);
        ::std::size_t i = 0;
        for (; i + lanes <= n; i += lanes) {
            for (::std::size_t j = 0; j < lanes; ++j) {
                best[j] = from[i + j] > best[j] ? from[i + j] : best[j];
            }
        }
        for (; i < n; ++i) best[0] = ::std::max(best[0], from[i]);
        return *::std::max_element(best, best + lanes);
    }

    static constexpr ::std::size_t none = ::std::numeric_limits<::std::size_t>::max();
    static constexpr ::std::size_t task_size = 256;

    struct worker {
        detail::candidate_pool pool;
        ::std::size_t first_bad = none;
        ::std::size_t sweeps = 0;
        ::std::size_t draws = 0;
        ::std::size_t dropped = 0;
        ::std::size_t merged = 0;
    };
};

}  // namespace prefer::sampler
