// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Between vectors and packs of SIMD lanes (math/pack.hpp): what the loops over batches are made
/// of. A batch is taken in blocks; a block of each of its vectors becomes contiguous numbers of the
/// type that is computed in, and the loop over the block reads and writes packs of these.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/math/pack.hpp>

namespace prefer::detail {

template <class P>
inline constexpr ::std::size_t lane_count = sizeof(P) / sizeof(math::lane_t<P>);

/// The numbers in a block, which stays in the first-level cache.
inline constexpr ::std::size_t block_size = 512;

/// No pack is wider; blocks are filled up to a multiple of it.
inline constexpr ::std::size_t most_lanes = 32;

/// Whether the last pack of `n` numbers is full, whatever the pack.
constexpr bool fills_packs(::std::size_t n) {
    return n % most_lanes == 0;
}

/// Copies of one register each: a compiler keeps those out of memory.
template <class P>
P load_lanes(math::lane_t<P> const* from) {
    static_assert(lane_count<P> <= most_lanes);
    if constexpr (requires { typename P::part; }) {
        using part = typename P::part;
        return {load_lanes<part>(from), load_lanes<part>(from + lane_count<part>)};
    } else {
        P lanes;
        ::std::memcpy(static_cast<void*>(&lanes), from, sizeof(P));
        return lanes;
    }
}

template <class P>
void store_lanes(P const& lanes, math::lane_t<P>* to) {
    if constexpr (requires { typename P::part; }) {
        store_lanes(lanes.first, to);
        store_lanes(lanes.second, to + lane_count<typename P::part>);
    } else {
        ::std::memcpy(to, &lanes, sizeof(P));
    }
}

/// Starts to fetch the memory that a loop, which is about to store a pack at `to`, writes a block
/// later: processors foresee reads, but wait for memory that is written.
template <class P>
void fetch_for_store(math::lane_t<P>* to) {
#if defined(__GNUC__) || defined(__clang__)
    auto const later = reinterpret_cast<::std::uintptr_t>(to) + block_size * sizeof(*to);
    for (::std::size_t byte = 0; byte < sizeof(P); byte += 64) {
        __builtin_prefetch(reinterpret_cast<void const*>(later + byte));
    }
#else
    static_cast<void>(to);
#endif
}

/// A block of a vector that is read. Until it is read, every number is the one of construction.
template <class C>
class input_block {
public:
    explicit input_block(C number) {
        for (::std::size_t j = 0; j < most_lanes; ++j) numbers_[j] = number;
    }
    input_block(input_block const&) = delete;
    input_block& operator=(input_block const&) = delete;

    /// The numbers `first`, …, `first + n - 1`, n <= block_size; the last pack is filled up with 0.
    /// Nothing is copied where the vector has them as they are needed.
    template <class T>
    void read(vector_view<T const> const& view, ::std::size_t first, ::std::size_t n) {
        read(view, first, n, [](T) {});
    }

    /// The same of integers, and whether none of them is negative.
    template <class T>
    bool read_counts(vector_view<T const> const& view, ::std::size_t first, ::std::size_t n) {
        T joined = 0;  // negative where one of them is
        read(view, first, n, [&](T count) { joined = static_cast<T>(joined | count); });
        return !(joined < 0);
    }

    /// A block of which the first `n` numbers are `number`, and the rest of the last pack is 0.
    void fill(C number, ::std::size_t n) {
        for (::std::size_t j = 0; j < n; ++j) numbers_[j] = number;
        for (::std::size_t j = n; !fills_packs(j); ++j) numbers_[j] = C(0);
        moves_ = ~::std::size_t{0};
        at_ = numbers_;
    }

    template <class P>
    P lanes(::std::size_t j) const {
        return load_lanes<P>(at_ + (j & moves_));
    }

private:
    template <class T, class See>
    void read(vector_view<T const> const& view, ::std::size_t first, ::std::size_t n,
              See const& see) {
        bool const contiguous = view.stride() == 1;
        moves_ = ~::std::size_t{0};
        if constexpr (::std::same_as<T, C>) {
            if (contiguous && fills_packs(n)) {
                at_ = view.data() + first;
                return;
            }
        }
        if (contiguous) {
            T const* const from = view.data() + first;
            for (::std::size_t j = 0; j < n; ++j) {
                see(from[j]);
                numbers_[j] = static_cast<C>(from[j]);
            }
        } else {
            for (::std::size_t j = 0; j < n; ++j) {
                see(view[first + j]);
                numbers_[j] = static_cast<C>(view[first + j]);
            }
        }
        for (::std::size_t j = n; !fills_packs(j); ++j) numbers_[j] = C(0);
        at_ = numbers_;
    }

    C const* at_ = numbers_;
    ::std::size_t moves_ = 0;  // all bits once it is read: until then every pack is the first
    C numbers_[block_size];
};

/// A block of a vector that is written: `open` gives the place, `close` brings the numbers home,
/// each rounded once to the element type.
template <class C, class T>
class output_block {
public:
    explicit output_block(vector_view<T> const& view) : view_(view) {}

    C* open(::std::size_t first, ::std::size_t n) {
        if constexpr (::std::same_as<T, C>) {
            if (view_.stride() == 1 && fills_packs(n)) return view_.data() + first;
        }
        return numbers_;
    }

    void close(C const* written, ::std::size_t first, ::std::size_t n) const {
        if (written != numbers_) return;
        for (::std::size_t j = 0; j < n; ++j) {
            view_[first + j] = static_cast<T>(static_cast<compute_t<T>>(numbers_[j]));
        }
    }

private:
    vector_view<T> view_;
    C numbers_[block_size];
};

/// The place of an output that is not wanted.
template <class C>
class no_output_block {
public:
    C* open(::std::size_t, ::std::size_t) { return numbers_; }
    void close(C const*, ::std::size_t, ::std::size_t) const {}

private:
    C numbers_[block_size];
};

/// A sum over many packs, in double: one sum for each lane, added up at the end, in lane order.
template <class P>
class lane_sum {
public:
    void add(P const& x) {
        for (::std::size_t k = 0; k < math::doubles_in<P>; ++k) parts_[k] += math::as_double(x, k);
    }

    /// The sums of the lanes: finite as long as no number was infinite or NaN (and no sum too large
    /// for a double).
    auto lanes() const {
        auto sum = parts_[0];
        for (::std::size_t k = 1; k < math::doubles_in<P>; ++k) sum += parts_[k];
        return sum;
    }

    double total() const {
        double sum = 0;
        for (auto const& part : parts_) {
            double numbers[sizeof(part) / sizeof(double)];
            ::std::memcpy(numbers, &part, sizeof(part));
            for (double const x : numbers) sum += x;
        }
        return sum;
    }

private:
    decltype(math::as_double(P(), 0)) parts_[math::doubles_in<P>]{};
};

/// How often a comparison of packs of the type P held, over fewer than 2^30 packs.
template <class P>
class lane_count_sum {
public:
    template <class Mask>
    void add(Mask const& held) {
        minus_counts_ += math::minus_held(held);
    }

    double total() const { return -math::sum_of_counts(minus_counts_); }

private:
    decltype(math::minus_held(P() < P())) minus_counts_{};
};

}  // namespace prefer::detail
