// SPDX-License-Identifier: MIT
#include <prefer/core/multiply.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::detail::block_grid;
using prefer::detail::matrix_lines;

TEST_CASE("lines of a matrix") {
    std::vector<float> memory(100);
    auto const lines = [&](std::size_t rows, std::size_t columns, std::ptrdiff_t row,
                           std::ptrdiff_t column) {
        return matrix_lines(matrix_view<float>(memory.data(), rows, columns, row, column));
    };
    CHECK(lines(3, 4, 4, 1).along_rows);
    CHECK(lines(3, 4, 4, 1).apart == 4);
    CHECK(lines(3, 4, 9, 1).apart == 9);
    CHECK_FALSE(lines(3, 4, 1, 3).along_rows);
    CHECK(lines(3, 4, 1, 3).along_columns);
    CHECK(lines(3, 4, 1, 5).apart == 5);
    CHECK_FALSE(static_cast<bool>(lines(3, 4, 8, 2)));   // gaps
    CHECK_FALSE(static_cast<bool>(lines(3, 4, -4, 1)));  // backwards
    CHECK_FALSE(static_cast<bool>(lines(3, 4, 2, 1)));   // rows overlap
    CHECK_FALSE(static_cast<bool>(lines(3, 4, 0, 1)));   // one row repeated
    // One row or one column has no distance of its own.
    CHECK(lines(1, 4, -77, 1).along_rows);
    CHECK(lines(1, 4, -77, 1).apart == 4);
    CHECK(lines(4, 1, 3, 50).along_rows);
    CHECK(lines(4, 1, 3, 50).apart == 3);
    CHECK(lines(1, 4, 5, 3).along_columns);
    CHECK(lines(1, 1, 0, 0).apart == 1);
}

TEST_CASE("blocks cover a matrix once, whatever its size") {
    for (std::size_t const rows : {0U, 1U, 511U, 512U, 513U, 1100U}) {
        for (std::size_t const columns : {1U, 511U, 512U, 513U, 1100U}) {
            block_grid const grid{rows, columns};
            std::vector<std::uint8_t> covered(rows * columns, 0);
            for (std::size_t i = 0; i < grid.size(); ++i) {
                auto const b = grid[i];
                REQUIRE(b.rows >= 1);
                REQUIRE(b.columns >= 1);
                for (std::size_t r = b.row; r < b.row + b.rows; ++r) {
                    for (std::size_t c = b.column; c < b.column + b.columns; ++c) {
                        ++covered[r * columns + c];
                    }
                }
            }
            std::size_t wrong = 0;
            for (std::uint8_t const times : covered) wrong += times == 1 ? 0U : 1U;
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("a product by hand, with strides") {
    std::vector<double> const a{1, 2, 3, 4, 5, 6};  // [2, 3]
    std::vector<double> const b{1, 0, 2, 1, 0, 3};  // [2, 3], used as its transpose
    std::vector<double> c(8, 10.0);                 // every second column of [2, 4]
    matrix_view<double> const out(c.data(), 2, 2, 4, 2);
    auto const product = [&](bool add) {
        prefer::detail::multiply<prefer::backend::plain, double>(
            prefer::backend::plain{}, matrix_view<double const>(a.data(), 2, 3),
            prefer::detail::transposed(matrix_view<double const>(b.data(), 2, 3)), out, add);
    };
    product(false);
    CHECK_SAME(c, (std::vector<double>{7, 10, 10, 10, 16, 10, 22, 10}));
    product(true);
    CHECK_SAME(c, (std::vector<double>{14, 10, 20, 10, 32, 10, 44, 10}));
}

TEST_CASE("an inner size of 0 gives zeros, or leaves the sum") {
    std::vector<float> c{5, 5};
    matrix_view<float const> const a(c.data(), 1, 0);
    matrix_view<float const> const b(c.data(), 0, 2);
    matrix_view<float> const out(c.data(), 1, 2);
    prefer::detail::multiply<prefer::backend::plain, float>(prefer::backend::plain{}, a, b, out,
                                                            true);
    CHECK_SAME(c, (std::vector<float>{5, 5}));
    prefer::detail::multiply<prefer::backend::plain, float>(prefer::backend::plain{}, a, b, out,
                                                            false);
    CHECK_SAME(c, (std::vector<float>{0, 0}));
}

TEST_CASE("the plain loop sums in double: terms that cancel leave what is between") {
    std::vector<float> const a{1e8F, 1, -1e8F};
    std::vector<float> const b{1, 1, 1};
    std::vector<float> c{0};
    prefer::detail::multiply<prefer::backend::plain, float>(
        prefer::backend::plain{}, matrix_view<float const>(a.data(), 1, 3),
        matrix_view<float const>(b.data(), 3, 1), matrix_view<float>(c.data(), 1, 1), false);
    CHECK_SAME(c[0], 1.0F);
}

/// Takes the products that it is asked for, and counts them.
struct counting {
    using backend_concept = prefer::backend_tag;
    std::size_t* products;

    template <class C>
    void multiply(matrix_view<C const>, matrix_view<C const>, matrix_view<C> c, bool) const {
        ++*products;
        c(0, 0) = C(42);
    }
};

TEST_CASE("a backend's product is taken for matrices with lines, one call for each block") {
    std::size_t products = 0;
    counting const on{&products};
    std::vector<float> a(513, 1.0F), b(513, 1.0F), c(513 * 513, 0.0F);
    matrix_view<float const> const right(b.data(), 1, 513);
    matrix_view<float> const out(c.data(), 513, 513);
    prefer::detail::multiply<counting, float>(on, matrix_view<float const>(a.data(), 513, 1), right,
                                              out, false);
    CHECK(products == 4);
    CHECK_SAME(c[0], 42.0F);
    CHECK_SAME(out(512, 512), 42.0F);
    // Backwards rows are for the plain loop.
    prefer::detail::multiply<counting, float>(
        on, matrix_view<float const>(a.data() + 511, 512, 1, -1, 1), right,
        matrix_view<float>(c.data(), 512, 513), false);
    CHECK(products == 4);
    CHECK_SAME(c[0], 1.0F);
}

}  // namespace
