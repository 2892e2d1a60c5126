// SPDX-License-Identifier: MIT
#include <prefer/core/layout.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::packed;
using prefer::padded;
using prefer::shape_error;

template <class L>
std::vector<int> counted(L const& layout) {
    std::vector<int> out;
    for (std::size_t i = 0; i < layout.tokens(); ++i) out.push_back(layout.counted(i) ? 1 : 0);
    return out;
}

TEST_CASE("packed sequences lie between their offsets") {
    std::vector<int> const offsets{0, 2, 2, 5};
    packed const layout(offsets);
    CHECK_NOTHROW(layout.check("f"));
    CHECK(layout.sequences() == 3);
    CHECK(layout.tokens() == 5);
    CHECK(layout.first(1) == 2);
    CHECK(layout.last(1) == 2);
    CHECK(layout.last(2) == 5);
    CHECK_SAME(counted(layout), std::array{1, 1, 1, 1, 1});
}

TEST_CASE("masks and labels say which tokens count") {
    std::vector<int> const offsets{0, 2, 5};
    SECTION("mask, of any integer type") {
        std::array<unsigned char, 5> const mask{0, 1, 7, 0, 1};
        CHECK_SAME(counted(packed(offsets).with_mask(mask)), std::array{0, 1, 1, 0, 1});
        std::array<bool, 5> const flags{false, true, true, false, true};
        CHECK_SAME(counted(packed(offsets).with_mask(flags)), std::array{0, 1, 1, 0, 1});
    }
    SECTION("labels: token 0 is a token") {
        std::array<std::int16_t, 5> const labels{-100, 0, 3, -100, -1};
        CHECK_SAME(counted(packed(offsets).with_labels(labels)), std::array{0, 1, 1, 0, 1});
        CHECK_SAME(counted(packed(offsets).with_labels(labels, -1)), std::array{1, 1, 1, 1, 0});
    }
    SECTION("a mask of the wrong length is an error") {
        std::vector<int> const mask(4, 1);
        CHECK_THROWS_MESSAGE(packed(offsets).with_mask(mask).check("f"), shape_error,
                             "prefer::f: mask has size 4, but offsets' last entry has size 5");
    }
}

TEST_CASE("offsets start at 0 and never fall") {
    auto const check = [](std::vector<int> const& offsets) { packed(offsets).check("f"); };
    CHECK_NOTHROW(check({0}));
    CHECK_NOTHROW(check({0, 0, 0}));
    CHECK_THROWS_MESSAGE(check({}), shape_error, "prefer::f: offsets is empty");
    CHECK_THROWS_MESSAGE(check({1, 2}), shape_error, "offsets[0] is 1");
    CHECK_THROWS_MESSAGE(check({-1, 2}), shape_error, "offsets[0] is -1");
    CHECK_THROWS_MESSAGE(check({0, 3, 2}), shape_error, "offsets[2] is 2");
    CHECK_THROWS_MESSAGE(check({0, 3, -5, 7}), shape_error, "offsets[2] is -5");
    std::vector<unsigned> const falling{0U, 3U, 2U};
    CHECK_THROWS_MESSAGE(packed(falling).check("f"), shape_error, "offsets[2] is 2");
}

TEST_CASE("padded sequences are the rows of a mask") {
    std::vector<int> const mask{1, 1, 1, 0, 0, 1, 1, 0, 0, 0};
    padded const layout(matrix_view(mask.data(), 2, 5));
    CHECK(layout.sequences() == 2);
    CHECK(layout.tokens() == 10);
    CHECK(layout.first(1) == 5);
    CHECK(layout.last(1) == 10);
    CHECK_SAME(counted(layout), mask);
    SECTION("a transposed mask by its strides") {
        std::vector<int> const columns{1, 1, 1, 1, 1, 0, 0, 0, 0, 0};
        CHECK_SAME(counted(padded(matrix_view(columns.data(), 2, 5, 1, 2))), mask);
    }
    SECTION("every second element, rows with a gap, rows from the last to the first") {
        std::vector<int> spread(20, 7), gaps(16, 7);
        for (std::size_t i = 0; i < 10; ++i) spread[2 * i] = mask[i];
        for (std::size_t i = 0; i < 10; ++i) gaps[i / 5 * 8 + i % 5] = mask[i];
        CHECK_SAME(counted(padded(matrix_view(spread.data(), 2, 5, 10, 2))), mask);
        CHECK_SAME(counted(padded(matrix_view(gaps.data(), 2, 5, 8, 1))), mask);
        std::vector<int> const upwards{1, 1, 0, 0, 0, 1, 1, 1, 0, 0};
        CHECK_SAME(counted(padded(matrix_view(upwards.data() + 5, 2, 5, -5, 1))), mask);
    }
    SECTION("no columns, no rows") {
        CHECK(padded(matrix_view(mask.data(), 3, 0)).tokens() == 0);
        CHECK(padded(matrix_view(mask.data(), 0, 3)).sequences() == 0);
    }
}

TEST_CASE("L15: trimming keeps the last real token of the longest row") {
    auto const width = [](std::vector<int> const& mask) {
        return padded(matrix_view(mask.data(), 2, 5)).trimmed_width();
    };
    CHECK(width({1, 1, 1, 0, 0, 1, 1, 0, 0, 0}) == 3);
    CHECK(width({1, 1, 0, 0, 0, 1, 1, 1, 0, 0}) == 3);
    CHECK(width({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) == 5);
    CHECK(width({0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) == 0);
    CHECK(width({0, 0, 0, 0, 0, 0, 0, 0, 0, 1}) == 5);
    CHECK(width({0, 0, 1, 0, 0, 1, 0, 0, 0, 0}) == 3);
}

TEST_CASE("functions take plain offsets for packed") {
    std::vector<long> const offsets{0, 2, 5};
    auto const layout = prefer::detail::as_layout(offsets);
    CHECK(layout.sequences() == 2);
    CHECK(prefer::detail::as_layout(packed(offsets)).tokens() == 5);
}

}  // namespace

TEST_CASE("last_counted: the last token by the mask, not by its id (M3)") {
    // ids [5,9,2,7,2,2] end in a pad that has the id of the end token; only the mask knows.
    std::vector<int> const right{1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0};
    std::vector<int> last(2);
    prefer::last_counted(prefer::padded(prefer::matrix_view<int const>(right.data(), 2, 6)), last);
    CHECK(last == std::vector<int>{4, 9});
    std::vector<int> const left{0, 0, 1, 1}, offsets{0, 4}, whole{0, 3, 4};
    last.resize(1);
    prefer::last_counted(prefer::packed{offsets}.with_mask(left), last);
    CHECK(last == std::vector<int>{3});
    std::vector<long> ends(2);
    prefer::last_counted(whole, ends);
    CHECK(ends == std::vector<long>{2, 3});
}

TEST_CASE("last_counted: a sequence without a counted token, or of the wrong number, is an error") {
    std::vector<int> const none{0, 0, 0, 0}, offsets{0, 4}, broken{1, 4};
    std::vector<int> last(1), wrong(2);
    CHECK_THROWS_AS(prefer::last_counted(prefer::packed{offsets}.with_mask(none), last),
                    prefer::value_error);
    CHECK_THROWS_AS(prefer::last_counted(std::vector<int>{0, 0}, last), prefer::value_error);
    CHECK_THROWS_AS(prefer::last_counted(offsets, wrong), prefer::shape_error);
    CHECK_THROWS_AS(prefer::last_counted(broken, last), prefer::shape_error);
}
