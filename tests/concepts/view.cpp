// SPDX-License-Identifier: MIT
#include <prefer/core/view.hpp>

#include <array>
#include <deque>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>

namespace {

/// A user's tensor, not known to the library until it specialises `view_traits` below.
struct tensor {
    double numbers[6];
};

/// A user's vector with the two members that make it flat and contiguous, and the four of a range.
struct flat {
    float* data() { return numbers; }
    float const* data() const { return numbers; }
    std::size_t size() const { return 2; }
    float* begin() { return numbers; }
    float* end() { return numbers + 2; }
    float const* begin() const { return numbers; }
    float const* end() const { return numbers + 2; }
    float numbers[2];
};

/// Flat, but with a shape: what its size means is for a backend header to say.
struct shaped : flat {
    std::size_t rows() const { return 2; }
};

}  // namespace

template <>
struct prefer::view_traits<tensor> {
    static constexpr bool borrowed = false;

    template <class Self>
    static auto matrix(Self& x) {
        return prefer::matrix_view(&x.numbers[0], 2, 3);
    }
};

namespace {

using prefer::matrix_like;
using prefer::vector_like;

TEST_CASE("what is a vector") {
    STATIC_REQUIRE(vector_like<std::vector<float>&>);
    STATIC_REQUIRE(vector_like<std::vector<float> const&>);
    STATIC_REQUIRE(vector_like<std::array<int, 3>&>);
    STATIC_REQUIRE(vector_like<std::span<double const>>);
    STATIC_REQUIRE(vector_like<std::span<double, 4>>);
    STATIC_REQUIRE(vector_like<double(&)[3]>);
    STATIC_REQUIRE(vector_like<double const(&)[3]>);
    STATIC_REQUIRE(vector_like<prefer::vector_view<float>>);
    STATIC_REQUIRE(vector_like<flat&>);
}

TEST_CASE("what is none") {
    STATIC_REQUIRE_FALSE(vector_like<std::vector<bool>&>);
    STATIC_REQUIRE_FALSE(vector_like<std::list<float>&>);
    STATIC_REQUIRE_FALSE(vector_like<std::deque<float>&>);
    STATIC_REQUIRE_FALSE(vector_like<double*>);
    STATIC_REQUIRE_FALSE(vector_like<double>);
    STATIC_REQUIRE_FALSE(vector_like<shaped&>);
    STATIC_REQUIRE_FALSE(vector_like<prefer::matrix_view<float>>);
    STATIC_REQUIRE_FALSE(vector_like<tensor&>);
}

TEST_CASE("what is a matrix") {
    STATIC_REQUIRE(matrix_like<prefer::matrix_view<float>>);
    STATIC_REQUIRE(matrix_like<tensor&>);
    STATIC_REQUIRE_FALSE(matrix_like<std::vector<float>&>);
    STATIC_REQUIRE_FALSE(matrix_like<std::vector<std::vector<float>>&>);
    STATIC_REQUIRE_FALSE(matrix_like<double(&)[3]>);
    STATIC_REQUIRE_FALSE(matrix_like<double(&)[2][3]>);
}

TEST_CASE("a specialisation of view_traits is enough, and carries const") {
    tensor x{{1, 2, 3, 4, 5, 6}};
    CHECK(prefer::as_matrix(x)(1, 0) == 4);
    tensor const& constant = x;
    STATIC_REQUIRE(
        std::is_same_v<decltype(prefer::as_matrix(constant))::element_type, double const>);
    STATIC_REQUIRE(std::is_same_v<prefer::matrix_element_t<tensor const&>, double>);
    CHECK(prefer::flatten(x)[5] == 6);
}

TEST_CASE("which temporaries would dangle") {
    STATIC_REQUIRE(prefer::detail::dangles<std::vector<float>>);
    STATIC_REQUIRE(prefer::detail::dangles<std::array<float, 3>>);
    STATIC_REQUIRE(prefer::detail::dangles<tensor>);
    STATIC_REQUIRE_FALSE(prefer::detail::dangles<std::vector<float>&>);
    STATIC_REQUIRE_FALSE(prefer::detail::dangles<std::span<float>>);
    STATIC_REQUIRE_FALSE(prefer::detail::dangles<prefer::vector_view<float>>);
    STATIC_REQUIRE_FALSE(prefer::detail::dangles<prefer::matrix_view<float>>);
}

TEST_CASE("views are small values, and add const but never drop it") {
    using view = prefer::vector_view<float>;
    using constant = prefer::vector_view<float const>;
    STATIC_REQUIRE(std::is_trivially_copyable_v<view>);
    STATIC_REQUIRE(sizeof(view) == 3 * sizeof(void*));
    STATIC_REQUIRE(alignof(view) == alignof(void*));
    STATIC_REQUIRE(std::is_convertible_v<view, constant>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<constant, view>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<view, prefer::vector_view<double>>);
    using matrix = prefer::matrix_view<float>;
    STATIC_REQUIRE(std::is_trivially_copyable_v<matrix>);
    STATIC_REQUIRE(std::is_convertible_v<matrix, prefer::matrix_view<float const>>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<prefer::matrix_view<float const>, matrix>);
}

}  // namespace
