// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include <prefer/core/backend.hpp>
#include <prefer/core/element.hpp>
#include <prefer/core/random.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/reference/parameters.hpp>

namespace prefer::reference {

/// How what is computed in float becomes an element of 16 bits.
enum class rounding : ::std::uint8_t {
    nearest,     ///< to even; a step below half a unit in the last place is lost
    stochastic,  ///< up or down, with the probabilities that keep the mean
};

/// What a move did.
struct moved {
    ::std::uint64_t elements = 0;  ///< of the reference
    ::std::uint64_t stuck = 0;     ///< elements that differ from the policy's, and did not change
};

}  // namespace prefer::reference

namespace prefer::detail {

/// Sixteen random bits for each element number: a bijective mixing of the number under two keys,
/// which come from philox for each update and each 2^32 elements. A full philox block for each
/// eight elements would take longer than the memory.
class rounding_bits {
public:
    rounding_bits(::std::uint64_t seed, ::std::uint64_t update, ::std::uint64_t element) {
        philox::state state{seed, update, 4 * (element >> 32)};
        philox rng(state);
        keys_[0] = rng();
        keys_[1] = rng();
    }

    ::std::uint32_t operator()(::std::uint32_t element) const {
        ::std::uint32_t x = element * 0x9E3779B9U + keys_[0];
        x ^= x >> 16;
        x *= 0x21F0AAADU;
        x ^= x >> 15;
        x += keys_[1];
        x *= 0xD35A2D97U;
        return x >> 16;
    }

private:
    ::std::uint32_t keys_[2];
};

/// A float as an element of type R. `bits` are sixteen random ones.
template <class R>
R round_stochastic(float x, ::std::uint32_t bits) {
    R const nearest = static_cast<R>(x);
    auto const back = static_cast<float>(nearest);
    float const off = x - back;
    if (!(off < 0 || off > 0)) return nearest;  // exact, or NaN, or infinite on both sides
    // The neighbour on the side of x: one more or one less in the bits, which are sign and
    // magnitude. From 0 it is the smallest number of that sign.
    bool const away = (off > 0) == (back > 0) && (back < 0 || back > 0);
    R other = nearest;
    if (!(back < 0 || back > 0)) {
        other.bits = static_cast<::std::uint16_t>(off < 0 ? 0x8001U : 1U);
    } else {
        other.bits = static_cast<::std::uint16_t>(nearest.bits + (away ? 1U : 0xffffU));
    }
    float const gap = static_cast<float>(other) - back;
    return static_cast<float>(bits) * 0x1p-16F < off / gap ? other : nearest;
}

/// bfloat16 is the upper half of a float: the carry of the random bits rounds.
template <>
inline bfloat16 round_stochastic<bfloat16>(float x, ::std::uint32_t bits) {
    auto const u = bit_cast<::std::uint32_t>(x);
    bool const finite = (u & 0x7f800000U) != 0x7f800000U;
    bfloat16 carried;
    carried.bits = static_cast<::std::uint16_t>((u + bits) >> 16);
    return finite ? carried : static_cast<bfloat16>(x);
}

/// Whether two elements have the same value; a NaN is no value.
template <class A, class B>
bool same_value(A a, B b) {
    return a <= b && a >= b;
}

/// One run of elements: reference += rate · (policy - reference). Where both are the same number,
/// equal infinities too, nothing changes. Returns how many differ and did not change.
template <class P, class R, class Round>
::std::uint64_t move_run(P const* policy, ::std::ptrdiff_t policy_stride, R* reference,
                         ::std::ptrdiff_t stride, ::std::size_t n, double rate,
                         Round const& round) {
    using C = ::std::conditional_t<::std::is_same_v<compute_t<P>, double> ||
                                       ::std::is_same_v<compute_t<R>, double>,
                                   double, float>;
    C const alpha = static_cast<C>(rate);
    ::std::uint32_t stuck = 0;  // of at most 2^16 elements
    for (::std::size_t i = 0; i < n; ++i) {
        R& r = reference[static_cast<::std::ptrdiff_t>(i) * stride];
        C const target = static_cast<C>(
            static_cast<compute_t<P>>(policy[static_cast<::std::ptrdiff_t>(i) * policy_stride]));
        C const old = static_cast<C>(static_cast<compute_t<R>>(r));
        bool const there = same_value(old, target);
        R const next = round(static_cast<compute_t<R>>(old + alpha * (target - old)), i);
        bool const same = same_value(static_cast<compute_t<R>>(next), static_cast<compute_t<R>>(r));
        stuck += static_cast<::std::uint32_t>(same && !there);
        r = there ? r : next;
    }
    return stuck;
}

/// The same of contiguous memory, as a loop of its own that a compiler makes vectors of.
template <class P, class R, class Round>
::std::uint64_t move_some(vector_view<P const> policy, vector_view<R> reference, double rate,
                          Round const& round) {
    if (policy.stride() == 1 && reference.stride() == 1) {
        return move_run(policy.data(), 1, reference.data(), 1, policy.size(), rate, round);
    }
    return move_run(policy.data(), policy.stride(), reference.data(), reference.stride(),
                    policy.size(), rate, round);
}

/// What a move needs besides the tensors.
struct move_options {
    double rate;
    reference::rounding rounding;
    ::std::uint64_t seed;
    ::std::uint64_t update;
};

/// Elements of one task; a power of two below 2^16, so that a count of them fits.
inline constexpr ::std::size_t move_task = ::std::size_t{1} << 15;

/// One part of one tensor. Rate 1 copies the bits.
template <class P, class R>
::std::uint64_t move_part(vector_view<P const> policy, vector_view<R> reference,
                          move_options const& how, ::std::uint64_t first) {
    if constexpr (::std::is_same_v<P, R>) {
        if (how.rate >= 1) {
            for (::std::size_t i = 0; i < policy.size(); ++i) reference[i] = policy[i];
            return 0;
        }
    }
    auto const nearest = [](compute_t<R> x, ::std::size_t) { return static_cast<R>(x); };
    if constexpr (::std::is_same_v<R, bfloat16> || ::std::is_same_v<R, half>) {
        if (how.rounding == reference::rounding::stochastic) {
            ::std::uint64_t stuck = 0;
            for (::std::size_t done = 0; done < policy.size();) {
                // Up to where the upper half of the element number, and with it the keys, change.
                ::std::uint64_t const from = first + done;
                ::std::uint64_t const left = (::std::uint64_t{1} << 32) - (from & 0xffffffffU);
                ::std::size_t const n = static_cast<::std::size_t>(
                    ::std::min<::std::uint64_t>(left, policy.size() - done));
                rounding_bits const bits(how.seed, how.update, from);
                auto const low = static_cast<::std::uint32_t>(from & 0xffffffffU);
                auto const stochastic = [&](float x, ::std::size_t i) {
                    return round_stochastic<R>(x, bits(low + static_cast<::std::uint32_t>(i)));
                };
                stuck += move_some(policy.slice(done, n), reference.slice(done, n), how.rate,
                                   stochastic);
                done += n;
            }
            return stuck;
        }
    }
    return move_some(policy, reference, how.rate, nearest);
}

/// All tensors of two sets that fit, in tasks that are cut by element number alone.
template <class Backend, bool Const>
reference::moved move_all(Backend const& on, reference::parameter_set<Const> const& policy,
                          reference::reference_parameters const& reference,
                          move_options const& how) {
    struct task {
        ::std::size_t tensor;
        ::std::size_t first;
        ::std::size_t size;
    };
    reference::moved out;
    ::std::vector<task> tasks;
    for (::std::size_t t = 0; t < reference.tensors().size(); ++t) {
        ::std::size_t const size = reference.tensors()[t].size();
        out.elements += size;
        for (::std::size_t first = 0; first < size; first += move_task) {
            tasks.push_back({t, first, ::std::min(move_task, size - first)});
        }
    }
    ::std::vector<::std::uint64_t> stuck(workers_of(on));
    // A task of many small tensors costs less than a thread's look at the next one.
    constexpr ::std::size_t together = 4;
    for_each_task(
        on, (tasks.size() + together - 1) / together, [&](::std::size_t n, ::std::size_t worker) {
            for (::std::size_t k = n * together; k < ::std::min(tasks.size(), (n + 1) * together);
                 ++k) {
                task const& part = tasks[k];
                auto const& from = policy.tensors()[part.tensor];
                auto const& to = reference.tensors()[part.tensor];
                stuck[worker] += ::std::visit(
                    [&](auto const& p, auto const& r) {
                        using P = typename ::std::remove_cvref_t<decltype(p)>::value_type;
                        return move_part(vector_view<P const>(p).slice(part.first, part.size),
                                         r.slice(part.first, part.size), how,
                                         to.first + part.first);
                    },
                    from.elements, to.elements);
            }
        });
    for (auto const n : stuck) out.stuck += n;
    return out;
}

}  // namespace prefer::detail
