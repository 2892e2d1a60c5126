// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// Between vectors and packs of SIMD lanes (math/pack.hpp): what the loops over batches are made of.
/// Everything works on a plain number as well, as a pack of one.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/math/pack.hpp>

namespace prefer::detail {

template <class P>
inline constexpr ::std::size_t lane_count = sizeof(P) / sizeof(math::lane_t<P>);

/// The numbers `first`, …, `first + n - 1` of a vector of any element type, converted to the type
/// of the lanes; the lanes behind them are 0. 1 <= n <= lane_count.
template <class P, class T>
P load_lanes(vector_view<T const> const& view, ::std::size_t first, ::std::size_t n) {
    using C = math::lane_t<P>;
    C numbers[lane_count<P>]{};
    if (n == lane_count<P> && view.stride() == 1) {
        T const* const from = view.data() + first;
        for (::std::size_t j = 0; j < lane_count<P>; ++j) numbers[j] = static_cast<C>(from[j]);
    } else {
        for (::std::size_t j = 0; j < n; ++j) numbers[j] = static_cast<C>(view[first + j]);
    }
    P lanes;
    ::std::memcpy(&lanes, numbers, sizeof(P));
    return lanes;
}

/// The first `n` lanes to the places `first`, … of a vector, rounded once to its element type.
template <class P, class T>
void store_lanes(P const& lanes, vector_view<T> const& view, ::std::size_t first, ::std::size_t n) {
    using C = math::lane_t<P>;
    C numbers[lane_count<P>];
    ::std::memcpy(numbers, &lanes, sizeof(P));
    auto const stored = [](C x) { return static_cast<T>(static_cast<compute_t<T>>(x)); };
    if (n == lane_count<P> && view.stride() == 1) {
        T* const to = view.data() + first;
        for (::std::size_t j = 0; j < lane_count<P>; ++j) to[j] = stored(numbers[j]);
    } else {
        for (::std::size_t j = 0; j < n; ++j) view[first + j] = stored(numbers[j]);
    }
}

/// The first `n` lanes of a pack; the others become 0.
template <class P>
P first_lanes(P const& lanes, ::std::size_t n) {
    math::lane_t<P> numbers[lane_count<P>];
    ::std::memcpy(numbers, &lanes, sizeof(P));
    for (::std::size_t j = n; j < lane_count<P>; ++j) numbers[j] = 0;
    P first;
    ::std::memcpy(&first, numbers, sizeof(P));
    return first;
}

/// A sum over many packs, in double: one sum for each lane, added up at the end, in lane order.
template <class P>
class lane_sum {
    using C = math::lane_t<P>;
    static constexpr ::std::size_t lanes = lane_count<P>;

public:
    void add(P const& x) {
        C numbers[lanes];
        ::std::memcpy(numbers, &x, sizeof(P));
        for (::std::size_t j = 0; j < lanes; ++j) total_[j] += static_cast<double>(numbers[j]);
    }

    /// Adds x·y; the product is taken in double.
    void add(P const& x, P const& y) {
        C a[lanes], b[lanes];
        ::std::memcpy(a, &x, sizeof(P));
        ::std::memcpy(b, &y, sizeof(P));
        for (::std::size_t j = 0; j < lanes; ++j) {
            total_[j] += static_cast<double>(a[j]) * static_cast<double>(b[j]);
        }
    }

    double total() const {
        double sum = 0;
        for (double const x : total_) sum += x;
        return sum;
    }

private:
    double total_[lanes]{};
};

}  // namespace prefer::detail
