// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer::reference {

/// A list of named tensors, seen where they lie: what a tracker moves, or moves towards.
///
/// Each tensor is anything that can be viewed as a vector, or as a matrix without gaps, of double,
/// float, `bfloat16` or `half`; a set may mix them. `first` is the number of the tensor's first
/// element among those of the whole tensor, where a rank holds a slice of it: it keys stochastic
/// rounding, so that slices get the bits that the whole would get.
///
/// The names and the order are the caller's; two sets that meet must agree in both. What is not
/// added does not move: leave buffers out or put them in, add adapter weights alone, or add the
/// merged ones.
template <bool Const>
class parameter_set {
    template <class T>
    using view_of = vector_view<::std::conditional_t<Const, T const, T>>;

public:
    using any_view =
        ::std::variant<view_of<double>, view_of<float>, view_of<bfloat16>, view_of<half>>;

    struct tensor {
        ::std::string name;
        any_view elements;
        ::std::uint64_t first = 0;

        ::std::size_t size() const {
            return ::std::visit([](auto const& v) { return v.size(); }, elements);
        }
    };

    /// Throws `value_error` for a name that is there already, `shape_error` for a matrix with
    /// gaps.
    template <class Tensor>
    parameter_set& add(::std::string name, Tensor&& values, ::std::uint64_t first = 0) {
        for (auto const& known : tensors_) {
            if (known.name == name) {
                throw value_error("prefer::reference::parameter_set::add: the name '" + name +
                                  "' is there already");
            }
        }
        static_assert(!detail::dangles<Tensor>,
                      "prefer: a view of this temporary tensor would dangle; give it a name.");
        auto const elements = [&] {
            if constexpr (vector_like<Tensor>) {
                return as_vector(values);
            } else {
                return flatten(values);
            }
        }();
        using element = typename decltype(elements)::element_type;
        static_assert(Const || !::std::is_const_v<element>,
                      "prefer: the tensors of a reference are written, and must not be const");
        tensors_.push_back({::std::move(name),
                            any_view(view_of<::std::remove_const_t<element>>(elements)), first});
        return *this;
    }

    ::std::vector<tensor> const& tensors() const { return tensors_; }

private:
    ::std::vector<tensor> tensors_;
};

/// The parameters that are followed.
using policy_parameters = parameter_set<true>;

/// The parameters that follow.
using reference_parameters = parameter_set<false>;

}  // namespace prefer::reference

namespace prefer::detail {

/// Throws `shape_error` where two sets do not fit: count, names, order, sizes, slices, and element
/// types unless these may differ.
template <bool ConstA, bool ConstB>
void require_same_parameters(char const* function, char const* a_name,
                             reference::parameter_set<ConstA> const& a, char const* b_name,
                             reference::parameter_set<ConstB> const& b, bool any_type) {
    auto const& as = a.tensors();
    auto const& bs = b.tensors();
    if (as.size() != bs.size()) {
        throw shape_error(message("prefer::", function, ": ", a_name, " has ", as.size(),
                                  " tensors, but ", b_name, " has ", bs.size()));
    }
    for (::std::size_t i = 0; i < as.size(); ++i) {
        auto const fail = [&](char const* what) {
            throw shape_error(message("prefer::", function, ": tensor ", i, " ('", as[i].name,
                                      "') of ", a_name, " has another ", what, " than '",
                                      bs[i].name, "' of ", b_name));
        };
        if (as[i].name != bs[i].name) fail("name");
        if (as[i].size() != bs[i].size()) fail("size");
        if (as[i].first != bs[i].first) fail("first element");
        if (!any_type && as[i].elements.index() != bs[i].elements.index()) fail("element type");
    }
}

/// Throws `value_error` for a set with a tensor that is not in float or double.
inline void require_wide(char const* function, reference::reference_parameters const& set) {
    for (auto const& tensor : set.tensors()) {
        if (::std::holds_alternative<vector_view<double>>(tensor.elements)) continue;
        if (::std::holds_alternative<vector_view<float>>(tensor.elements)) continue;
        throw value_error(message("prefer::", function, ": the average or shadow of '", tensor.name,
                                  "' is not in float or double"));
    }
}

/// The bytes between the first and the last element of a tensor, and whether it is written.
struct memory_range {
    unsigned char const* begin;
    unsigned char const* end;
    bool written;
};

template <bool Const>
void add_ranges(::std::vector<memory_range>& to, reference::parameter_set<Const> const& set) {
    for (auto const& tensor : set.tensors()) {
        ::std::visit(
            [&](auto const& v) {
                if (v.empty()) return;
                auto const* a = reinterpret_cast<unsigned char const*>(&v[0]);
                auto const* b = reinterpret_cast<unsigned char const*>(&v[v.size() - 1]);
                if (::std::less<>{}(b, a)) ::std::swap(a, b);
                to.push_back({a, b + sizeof(v[0]), !Const});
            },
            tensor.elements);
    }
}

/// Throws `value_error` where memory that is written is also something else: a reference that is
/// the policy itself, or a tensor that would be moved twice. Strided tensors count with their gaps.
inline void require_no_alias(char const* function, ::std::vector<memory_range> ranges) {
    ::std::sort(ranges.begin(), ranges.end(), [](memory_range const& a, memory_range const& b) {
        return ::std::less<>{}(a.begin, b.begin);
    });
    unsigned char const* end = nullptr;          // of all so far
    unsigned char const* written_end = nullptr;  // of those that are written
    for (auto const& r : ranges) {
        if (::std::less<>{}(r.begin, r.written ? end : written_end)) {
            throw value_error(message("prefer::", function,
                                      ": a tensor of the reference shares memory with one of the "
                                      "policy or of the reference"));
        }
        if (::std::less<>{}(end, r.end)) end = r.end;
        if (r.written && ::std::less<>{}(written_end, r.end)) written_end = r.end;
    }
}

}  // namespace prefer::detail
