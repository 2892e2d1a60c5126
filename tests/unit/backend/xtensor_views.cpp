// SPDX-License-Identifier: MIT
#include <support/catch.hpp>

#if __has_include(<xtensor/containers/xtensor.hpp>)
#    include <xtensor/core/xtensor_config.hpp>
#else
#    include <xtensor/xtensor_config.hpp>
#endif

// Releases before 0.25 do not compile with a clang that matches template template parameters by the
// rules of C++17, whatever includes them.
#if defined(__clang__) && __clang_major__ >= 19 && XTENSOR_VERSION_MAJOR == 0 &&                   \
    XTENSOR_VERSION_MINOR < 25

TEST_CASE("xtensor views") {
    SKIP_CASE("this xtensor does not compile with this compiler");
}

#else

#    include <prefer/backend/xtensor.hpp>

#    include <array>
#    include <type_traits>
#    include <vector>

#    include <prefer/logprob/token_log_probs.hpp>

#    include <support/compare.hpp>

namespace {

using prefer::as_matrix;
using prefer::as_vector;
using prefer::shape_error;

template <class X>
void check_matrix(X&& x) {
    auto const view = as_matrix(x);
    REQUIRE(view.rows() == x.shape()[0]);
    REQUIRE(view.columns() == x.shape()[1]);
    for (std::size_t i = 0; i < view.rows(); ++i) {
        for (std::size_t j = 0; j < view.columns(); ++j) {
            CHECK(view(i, j) == x(i, j));
            CHECK(&view(i, j) == &x(i, j));
        }
    }
}

template <class X>
void check_vector(X&& x) {
    auto const view = as_vector(x);
    REQUIRE(view.size() == x.shape()[0]);
    for (std::size_t i = 0; i < view.size(); ++i) {
        CHECK(view[i] == x(i));
        CHECK(&view[i] == &x(i));
    }
}

xt::xtensor<double, 2> const numbers{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};

TEMPLATE_TEST_CASE("xtensor containers and what is cut out of them", "", (xt::xtensor<double, 2>),
                   (xt::xtensor<double, 2, xt::layout_type::column_major>), xt::xarray<double>,
                   (xt::xarray<double, xt::layout_type::column_major>)) {
    TestType m = numbers;
    check_matrix(m);
    check_matrix(xt::transpose(m));
    check_matrix(xt::view(m, xt::all(), xt::range(0, 4, 2)));
    check_matrix(xt::view(m, xt::range(1, 3), xt::all()));
    check_matrix(xt::strided_view(m, {xt::all(), xt::range(1, 3)}));
    check_vector(xt::view(m, 1, xt::all()));
    check_vector(xt::view(m, xt::all(), 2));
    check_vector(xt::strided_view(m, {2, xt::ellipsis()}));
    auto row = xt::view(m, 1, xt::all());
    as_vector(row)[2] = -1;
    CHECK(m(1, 2) == -1);
    TestType const constant = numbers;
    check_matrix(constant);
    check_vector(xt::view(constant, 1, xt::all()));
    STATIC_REQUIRE(
        std::is_same_v<typename decltype(as_matrix(constant))::element_type, double const>);
}

TEST_CASE("xtensor vectors") {
    xt::xtensor<double, 1> v{1, 2, 3, 4};
    check_vector(v);
    xt::xarray<double> const dynamic{1, 2, 3};
    check_vector(dynamic);
    using namespace xt::placeholders;
    CHECK_SAME(as_vector(xt::view(v, xt::range(_, _, -1))), std::array{4, 3, 2, 1});
    CHECK_SAME(as_vector(xt::view(v, xt::range(0, 4, 2))), std::array{1, 3});
    xt::xtensor<double, 1> const none(std::array<std::size_t, 1>{0});
    CHECK(as_vector(none).empty());
}

TEST_CASE("adapted memory") {
    std::vector<double> memory{1, 2, 3, 4, 5, 6};
    check_matrix(xt::adapt(memory, std::array<std::size_t, 2>{2, 3}));
    check_matrix(xt::adapt(memory, std::vector<std::size_t>{3, 2}));
    check_vector(xt::adapt(memory.data(), 6, xt::no_ownership(), std::array<std::size_t, 1>{6}));
    CHECK(as_vector(xt::adapt(memory, std::array<std::size_t, 1>{6})).data() == memory.data());
}

TEST_CASE("the number of axes is checked: by the type, or by a shape_error") {
    STATIC_REQUIRE(prefer::vector_like<xt::xtensor<float, 1>&>);
    STATIC_REQUIRE_FALSE(prefer::matrix_like<xt::xtensor<float, 1>&>);
    STATIC_REQUIRE(prefer::matrix_like<xt::xtensor<float, 2>&>);
    STATIC_REQUIRE_FALSE(prefer::vector_like<xt::xtensor<float, 2>&>);
    STATIC_REQUIRE_FALSE(prefer::vector_like<xt::xtensor<float, 3>&>);
    xt::xarray<double> const column = xt::xarray<double>::from_shape({3, 1});
    CHECK_THROWS_MESSAGE(as_vector(column), shape_error,
                         "prefer::as_vector: the xtensor expression has 2 axes, but must have 1");
    xt::xarray<double> const flat{1, 2, 3};
    CHECK_THROWS_MESSAGE(as_matrix(flat), shape_error,
                         "prefer::as_matrix: the xtensor expression has 1 axes, but must have 2");
    CHECK(as_matrix(column).rows() == 3);
    CHECK(prefer::flatten(column).size() == 3);
}

TEST_CASE("formulas are no views; owners do not outlive their temporaries") {
    xt::xtensor<double, 1> v{1, 2};
    STATIC_REQUIRE_FALSE(prefer::vector_like<decltype(v + v)>);
    STATIC_REQUIRE_FALSE(prefer::view_traits<xt::xtensor<double, 1>>::borrowed);
    STATIC_REQUIRE_FALSE(prefer::view_traits<xt::xarray<double>>::borrowed);
    STATIC_REQUIRE(prefer::view_traits<decltype(xt::view(v, xt::all()))>::borrowed);
    STATIC_REQUIRE_FALSE(
        prefer::view_traits<decltype(xt::view(xt::xtensor<double, 1>{1, 2}, xt::all()))>::borrowed);
}

TEST_CASE("a trainer's own xtensor arrays, in and out") {
    xt::xarray<float> const logits = xt::zeros<float>({2, 4});
    xt::xtensor<int, 1> const labels{0, 3};
    xt::xtensor<double, 2> results = xt::ones<double>({2, 2});
    prefer::token_log_probs(logits, labels, xt::view(results, xt::all(), 1));
    CHECK_CLOSE(static_cast<float>(results(0, 1)), -1.3862943611198906,
                prefer::test::family::log_prob);  // -log 4
    CHECK(results(0, 0) == 1.0);
}

}  // namespace

#endif
