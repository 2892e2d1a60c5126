// SPDX-License-Identifier: MIT
#include <prefer/core/view.hpp>

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::as_matrix;
using prefer::as_vector;
using prefer::matrix_view;
using prefer::vector_view;

/// The view has the numbers 1, 2, 3, and writing through it is seen in the container.
template <class Container>
void check_same_memory(Container&& x) {
    auto const view = as_vector(x);
    CHECK_SAME(view, std::array{1.0, 2.0, 3.0});
    CHECK(view.data() == std::data(x));
    view[1] = 20.0;
    CHECK(std::data(x)[1] == 20.0);
    view[1] = 2.0;
}

TEST_CASE("flat containers are viewed where they lie") {
    SECTION("vector") {
        check_same_memory(std::vector{1.0, 2.0, 3.0});
    }
    SECTION("array") {
        check_same_memory(std::array{1.0, 2.0, 3.0});
    }
    SECTION("C array") {
        double x[] = {1.0, 2.0, 3.0};
        check_same_memory(x);
    }
    SECTION("span") {
        std::vector x{1.0, 2.0, 3.0};
        check_same_memory(std::span<double>(x));
        check_same_memory(std::span<double, 3>(x));
    }
    SECTION("pointer and extent") {
        double x[] = {1.0, 2.0, 3.0};
        vector_view const view(&x[0], 3);
        CHECK_SAME(as_vector(view), std::array{1.0, 2.0, 3.0});
        CHECK(as_vector(view).data() == &x[0]);
    }
}

TEST_CASE("const containers give const elements") {
    std::vector<float> const owned{1.0F};
    STATIC_REQUIRE(std::is_same_v<decltype(as_vector(owned))::element_type, float const>);
    std::vector<float> x{1.0F};
    STATIC_REQUIRE(std::is_same_v<decltype(as_vector(x))::element_type, float>);
    // A const span still writes: constness of the span is not that of its elements.
    std::span<float> const span(x);
    STATIC_REQUIRE(std::is_same_v<decltype(as_vector(span))::element_type, float>);
    STATIC_REQUIRE(
        std::is_same_v<decltype(as_vector(std::span<float const>(x)))::element_type, float const>);
    vector_view<float const> const widened = as_vector(x);
    CHECK(widened.data() == x.data());
}

TEST_CASE("a vector view has any stride") {
    double x[] = {1, 2, 3, 4, 5, 6, 7};
    CHECK_SAME(vector_view(&x[0], 3, 3), std::array{1, 4, 7});
    CHECK_SAME(vector_view(&x[6], 4, -2), std::array{7, 5, 3, 1});
    CHECK_SAME(vector_view(&x[6], 4, -2).slice(1, 2), std::array{5, 3});
    CHECK_SAME(vector_view(&x[2], 3, 0), std::array{3, 3, 3});
    CHECK_FALSE(vector_view(&x[0], 3, 3).contiguous());
    CHECK(vector_view(&x[0], 1, 3).contiguous());
    CHECK(vector_view(&x[0], 7).contiguous());
}

TEST_CASE("an empty view is empty") {
    std::vector<double> const none;
    CHECK(as_vector(none).empty());
    CHECK(as_vector(none).size() == 0);
    CHECK(vector_view<double>().empty());
    CHECK(matrix_view<double>().rows() == 0);
    CHECK(matrix_view<double>().columns() == 0);
    CHECK(as_vector(std::span<double>()).empty());
}

TEST_CASE("a matrix view has a stride for each axis") {
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    SECTION("row-major") {
        matrix_view const m(&x[0], 3, 4);
        CHECK(m.rows() == 3);
        CHECK(m.columns() == 4);
        CHECK(m(1, 2) == 7);
        CHECK_SAME(m.row(2), std::array{9, 10, 11, 12});
        m(2, 1) = -1;
        CHECK(x[9] == -1);
    }
    SECTION("column-major") {
        matrix_view const m(&x[0], 3, 4, 1, 3);
        CHECK(m(1, 2) == 8);
        CHECK_SAME(m.row(0), std::array{1, 4, 7, 10});
    }
    SECTION("backwards on both axes") {
        matrix_view const m(&x[11], 3, 4, -4, -1);
        CHECK(m(0, 0) == 12);
        CHECK(m(2, 3) == 1);
        CHECK_SAME(m.row(1), std::array{8, 7, 6, 5});
    }
    SECTION("itself, and as const") {
        matrix_view const m(&x[0], 3, 4);
        CHECK(as_matrix(m).data() == &x[0]);
        matrix_view<double const> const widened = m;
        CHECK(widened(2, 3) == 12);
        CHECK(widened.row_stride() == 4);
        CHECK(widened.column_stride() == 1);
    }
}

TEST_CASE("flatten makes one vector of rows without gaps") {
    int x[] = {1, 2, 3, 4, 5, 6};
    CHECK_SAME(prefer::flatten(matrix_view(&x[0], 2, 3)), std::array{1, 2, 3, 4, 5, 6});
    CHECK_SAME(prefer::flatten(matrix_view(&x[5], 2, 3, -3, -1)), std::array{6, 5, 4, 3, 2, 1});
    SECTION("one row, or one column, at any stride") {
        CHECK_SAME(prefer::flatten(matrix_view(&x[0], 1, 3, 77, 2)), std::array{1, 3, 5});
        CHECK_SAME(prefer::flatten(matrix_view(&x[0], 3, 1, 1, 3)), std::array{1, 2, 3});
        CHECK_SAME(prefer::flatten(matrix_view(&x[0], 3, 1, 2, 0)), std::array{1, 3, 5});
    }
    SECTION("nothing") {
        CHECK(prefer::flatten(matrix_view(&x[0], 0, 3, 9, 9)).empty());
        CHECK(prefer::flatten(matrix_view(&x[0], 3, 0, 9, 9)).empty());
    }
    SECTION("gaps and other orders are errors") {
        CHECK_THROWS_MESSAGE(prefer::flatten(matrix_view(&x[0], 2, 2, 3, 1)), prefer::shape_error,
                             "prefer::flatten: rows are 3 elements apart, but must be 2");
        CHECK_THROWS_MESSAGE(prefer::flatten(matrix_view(&x[0], 2, 3, 1, 2)), prefer::shape_error,
                             "rows are 1 elements apart, but must be 6");
    }
}

}  // namespace
