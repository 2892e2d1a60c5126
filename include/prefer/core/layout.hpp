// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

/// The label that says "this token is not scored".
inline constexpr ::std::int64_t default_ignore_index = -100;

namespace detail {

/// Whether a label has this value; an unsigned label is never a negative number.
template <::std::integral Label>
constexpr bool is_label(Label label, ::std::int64_t value) {
    if constexpr (::std::is_unsigned_v<Label>) {
        return value >= 0 &&
               static_cast<::std::uint64_t>(label) == static_cast<::std::uint64_t>(value);
    } else {
        return static_cast<::std::int64_t>(label) == value;
    }
}

}  // namespace detail

/// Where the sequences of a batch lie in an array of tokens `[N]`, and which tokens count.
///
/// A layout has `sequences()`, `tokens()` (N), the half-open range `first(b)`, `last(b)` of
/// sequence `b`, `counted(i)` for token `i`, and `check(function)`, which throws when the layout is
/// broken. `packed` and `padded` are the two; functions also take plain offsets and mean
/// `packed{offsets}`.
template <class L>
concept sequence_layout = requires(L const& layout, ::std::size_t i) {
    { layout.sequences() } -> ::std::same_as<::std::size_t>;
    { layout.tokens() } -> ::std::same_as<::std::size_t>;
    { layout.first(i) } -> ::std::same_as<::std::size_t>;
    { layout.last(i) } -> ::std::same_as<::std::size_t>;
    { layout.counted(i) } -> ::std::same_as<bool>;
    layout.check("");
};

/// Sequences one after the other: tokens `offsets[b]` to `offsets[b + 1]` belong to sequence `b`.
///
/// `offsets [B + 1]` starts at 0, never falls, and ends at N. Without a mask every token counts;
/// `with_mask(mask [N])` counts the tokens whose mask is not 0; `with_labels(labels [N], ignore)`
/// counts those whose label is not the ignore index. Counts come from here only, never from values:
/// a token of probability 1 (log-prob 0) is a token.
template <index_element Offset, ::std::integral Mark = ::std::int64_t>
class packed {
public:
    template <class Offsets>
        requires vector_like<Offsets>
    explicit packed(Offsets&& offsets) : offsets_(as_vector(::std::forward<Offsets>(offsets))) {}

    packed(vector_view<Offset const> offsets, vector_view<Mark const> marks, ::std::int64_t skipped)
        : offsets_(offsets), marks_(marks), skipped_(skipped), marked_(true) {}

    template <class Mask>
    auto with_mask(Mask&& mask) const {
        return with_labels(::std::forward<Mask>(mask), 0);
    }

    template <class Labels>
    auto with_labels(Labels&& labels, ::std::int64_t ignore_index = default_ignore_index) const {
        using mark = vector_element_t<Labels>;
        static_assert(::std::integral<mark>, "prefer: masks and labels are integers");
        return packed<Offset, mark>(offsets_, as_vector(::std::forward<Labels>(labels)),
                                    ignore_index);
    }

    ::std::size_t sequences() const { return offsets_.size() - 1; }
    ::std::size_t tokens() const { return first(sequences()); }
    ::std::size_t first(::std::size_t b) const { return static_cast<::std::size_t>(offsets_[b]); }
    ::std::size_t last(::std::size_t b) const { return first(b + 1); }
    bool counted(::std::size_t i) const {
        return !marked_ || !detail::is_label(marks_[i], skipped_);
    }

    void check(char const* function) const {
        if (offsets_.empty()) {
            throw shape_error(detail::message("prefer::", function,
                                              ": offsets is empty, but must have size B + 1"));
        }
        for (::std::size_t b = 0; b < offsets_.size(); ++b) {
            Offset const floor = b == 0 ? Offset(0) : offsets_[b - 1];
            if (offsets_[b] < floor || (b == 0 && offsets_[0] != Offset(0))) {
                throw shape_error(detail::message("prefer::", function, ": offsets[", b, "] is ",
                                                  +offsets_[b],
                                                  ", but offsets must start at 0 and never fall"));
            }
        }
        if (marked_) {
            detail::require_size(function, "mask", marks_.size(), "offsets' last entry", tokens());
        }
    }

private:
    vector_view<Offset const> offsets_;
    vector_view<Mark const> marks_{};
    ::std::int64_t skipped_ = 0;
    bool marked_ = false;
};

template <class Offsets>
packed(Offsets&&) -> packed<vector_element_t<Offsets>>;

/// The adaptor for padded batches: `[B, T]` arrays with a 0/1 mask `[B, T]` (any strides).
///
/// Token `t` of sequence `b` is number `b·T + t`; token arrays are vectors `[B·T]` (see `flatten`).
template <::std::integral Mark>
class padded {
public:
    template <class Mask>
        requires matrix_like<Mask>
    explicit padded(Mask&& mask) : mask_(as_matrix(::std::forward<Mask>(mask))) {
        auto const columns = static_cast<::std::ptrdiff_t>(mask_.columns());
        gapless_ = mask_.row_stride() == columns * mask_.column_stride();
    }

    ::std::size_t sequences() const { return mask_.rows(); }
    ::std::size_t tokens() const { return mask_.rows() * mask_.columns(); }
    ::std::size_t first(::std::size_t b) const { return b * mask_.columns(); }
    ::std::size_t last(::std::size_t b) const { return first(b + 1); }
    bool counted(::std::size_t i) const {
        // A division for each token takes most of the time of a sum over them.
        if (gapless_) return static_cast<bool>(mask_(0, i));
        return static_cast<bool>(mask_(i / mask_.columns(), i % mask_.columns()));
    }
    void check(char const*) const {}

    /// The columns that some sequence still needs: one more than the last counted column, 0 if
    /// none.
    ::std::size_t trimmed_width() const {
        ::std::size_t width = 0;
        for (::std::size_t b = 0; b < mask_.rows(); ++b) {
            for (::std::size_t t = width; t < mask_.columns(); ++t) {
                if (mask_(b, t)) width = t + 1;
            }
        }
        return width;
    }

private:
    matrix_view<Mark const> mask_;
    bool gapless_ = false;  // token i is i column strides from the first
};

template <class Mask>
padded(Mask&&) -> padded<matrix_element_t<Mask>>;

namespace detail {

/// A layout as it is, or `packed` over plain offsets.
template <class L>
auto as_layout(L const& layout) {
    if constexpr (sequence_layout<L>) {
        return layout;
    } else {
        static_assert(vector_like<L const&>,
                      "prefer: a layout is offsets [B + 1], prefer::packed or prefer::padded");
        return packed(layout);
    }
}

}  // namespace detail

/// Where each sequence ends: `last [B]` (integers, written) becomes the index in `[N]` of its last
/// counted token, which is where a reward model reads the score of a response.
///
/// It looks at the layout only: a pad token that has the id of the end token is no end. Errors:
/// `shape_error` for a broken layout or a wrong B, before anything is written; `value_error` for a
/// sequence without a counted token, which has no end. O(N), no allocation.
template <class Layout, class Last>
void last_counted(Layout const& layout, Last&& last) {
    auto const l = detail::as_layout(layout);
    auto const out = as_vector(last);
    using Index = typename decltype(out)::element_type;
    static_assert(index_element<Index>, "prefer: the places of tokens are integers");
    l.check("last_counted");
    detail::require_size("last_counted", "last", out.size(), "the sequences", l.sequences());
    for (::std::size_t b = 0; b < l.sequences(); ++b) {
        ::std::size_t i = l.last(b);
        while (i > l.first(b) && !l.counted(i - 1)) --i;
        if (i == l.first(b)) {
            throw value_error(
                detail::message("prefer::last_counted: sequence ", b, " has no counted token"));
        }
        out[b] = static_cast<Index>(i - 1);
    }
}

}  // namespace prefer
