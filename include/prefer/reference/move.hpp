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
#include <prefer/core/state.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/reference/bfloat16_packs.hpp>
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

/// The bits of a number as an unsigned integer: loops that compare and select these become vectors.
template <class T>
auto bits_of_number(T x) {
    return bit_cast<bits_of_t<T>>(x);
}

/// At most `move_task` elements: reference += rate · (policy - reference). Where both are the same
/// number, the same infinity or the same NaN, nothing changes. Returns how many differ and did not
/// change.
template <bool Contiguous, class P, class R, class Round>
::std::uint32_t move_elements(vector_view<P const> policy, vector_view<R> reference, double rate,
                              Round const& round) {
    using C = ::std::conditional_t<::std::is_same_v<compute_t<P>, double> ||
                                       ::std::is_same_v<compute_t<R>, double>,
                                   double, float>;
    C const alpha = static_cast<C>(rate);
    P const* __restrict const from = policy.data();
    R* __restrict const to = reference.data();
    ::std::uint32_t stuck = 0;
    ::std::size_t const n = policy.size();
    for (::std::size_t i = 0; i < n; ++i) {
        auto const k = static_cast<::std::ptrdiff_t>(i);
        P const p = from[Contiguous ? k : k * policy.stride()];
        R& element = to[Contiguous ? k : k * reference.stride()];
        R const r = element;
        C const target = static_cast<C>(static_cast<compute_t<P>>(p));
        C const old = static_cast<C>(static_cast<compute_t<R>>(r));
        // Rate 1 is the policy itself: the difference would be rounded, or NaN from an infinity.
        C const goal = alpha < 1 ? old + alpha * (target - old) : target;
        R const next = round(static_cast<compute_t<R>>(goal), i);
        bool const there = bits_of_number(target) == bits_of_number(old);
        bool const same = bits_of_number(next) == bits_of_number(r);
        stuck += static_cast<::std::uint32_t>(same & !there);
        element = bit_cast<R>(there ? bits_of_number(r) : bits_of_number(next));
    }
    return stuck;
}

template <class P, class R, class Round>
::std::uint32_t move_some(vector_view<P const> policy, vector_view<R> reference, double rate,
                          Round const& round) {
    if (policy.stride() == 1 && reference.stride() == 1) {
        return move_elements<true>(policy, reference, rate, round);
    }
    return move_elements<false>(policy, reference, rate, round);
}

/// What a move needs besides the tensors.
struct move_options {
    double rate;
    reference::rounding rounding;
    ::std::uint64_t seed;
    ::std::uint64_t update;
};

/// Elements of one task; the counts of `bfloat16_packs` hold so many.
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
    if constexpr (sizeof(R) > 2) {
        return move_some(policy, reference, how.rate,
                         [](compute_t<R> x, ::std::size_t) { return static_cast<R>(x); });
    } else {
        // The keys of the random bits change at multiples of their period.
        ::std::size_t const n = policy.size();
        ::std::uint64_t const left = rounding_bits::period - first % rounding_bits::period;
        if (left < n) {
            auto const m = static_cast<::std::size_t>(left);
            return move_part(policy.slice(0, m), reference.slice(0, m), how, first) +
                   move_part(policy.slice(m, n - m), reference.slice(m, n - m), how, first + m);
        }
        rounding_bits const bits(how.seed, how.update, first);
        bool const stochastic = how.rounding == ::prefer::reference::rounding::stochastic;
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDACC__)
        if constexpr (::std::is_same_v<P, bfloat16> && ::std::is_same_v<R, bfloat16>) {
            if (policy.stride() == 1 && reference.stride() == 1) {
                auto const move = stochastic ? move_bfloat16<true> : move_bfloat16<false>;
                return move(policy.data(), reference.data(), n, static_cast<float>(how.rate), bits,
                            first);
            }
        }
#endif
        if (stochastic) {
            return move_some(policy, reference, how.rate, [&](compute_t<R> x, ::std::size_t i) {
                return round_stochastic<R>(x, bits.of(first + i));
            });
        }
        return move_some(policy, reference, how.rate,
                         [](compute_t<R> x, ::std::size_t) { return static_cast<R>(x); });
    }
}

/// Calls `work(tensor, first, size, worker)` for parts of all tensors of a set, which are cut by
/// element number alone.
template <class Backend, class Work>
void for_each_part(Backend const& on, reference::reference_parameters const& set,
                   Work const& work) {
    struct part {
        ::std::size_t tensor;
        ::std::size_t first;
        ::std::size_t size;
    };
    ::std::vector<part> parts;
    for (::std::size_t t = 0; t < set.tensors().size(); ++t) {
        ::std::size_t const size = set.tensors()[t].size();
        for (::std::size_t first = 0; first < size; first += move_task) {
            parts.push_back({t, first, ::std::min(move_task, size - first)});
        }
    }
    // A task of one small tensor costs less than a thread's look at the next one.
    constexpr ::std::size_t together = 4;
    for_each_task(on, (parts.size() + together - 1) / together,
                  [&](::std::size_t task, ::std::size_t worker) {
                      ::std::size_t const end = ::std::min(parts.size(), (task + 1) * together);
                      for (::std::size_t k = task * together; k < end; ++k) {
                          work(parts[k].tensor, parts[k].first, parts[k].size, worker);
                      }
                  });
}

/// All tensors of two sets that fit.
template <class Backend, bool Const>
reference::moved move_all(Backend const& on, reference::parameter_set<Const> const& policy,
                          reference::reference_parameters const& reference,
                          move_options const& how) {
    ::std::vector<::std::uint64_t> stuck(workers_of(on));
    for_each_part(
        on, reference,
        [&](::std::size_t t, ::std::size_t first, ::std::size_t size, ::std::size_t worker) {
            auto const& from = policy.tensors()[t];
            auto const& to = reference.tensors()[t];
            stuck[worker] += ::std::visit(
                [&](auto const& p, auto const& r) {
                    using P = typename ::std::remove_cvref_t<decltype(p)>::value_type;
                    return move_part(vector_view<P const>(p).slice(first, size),
                                     r.slice(first, size), how, to.first + first);
                },
                from.elements, to.elements);
        });
    reference::moved out;
    for (auto const& tensor : reference.tensors()) out.elements += tensor.size();
    for (auto const n : stuck) out.stuck += n;
    return out;
}

}  // namespace prefer::detail
