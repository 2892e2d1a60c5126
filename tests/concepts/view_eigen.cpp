// SPDX-License-Identifier: MIT
#include <prefer/backend/eigen.hpp>

#include <type_traits>

#include <Eigen/Core>

#include <support/catch.hpp>

namespace {

using prefer::matrix_like;
using prefer::vector_like;

template <class X>
constexpr bool borrowed = prefer::view_traits<X>::borrowed;

/// The way Eigen's manual has users extend a matrix.
struct extended : Eigen::MatrixXd {
    using Eigen::MatrixXd::MatrixXd;
};

Eigen::VectorXd v;
Eigen::MatrixXd m;

TEST_CASE("vectors are what has one row or column by its type") {
    STATIC_REQUIRE(vector_like<Eigen::VectorXd&>);
    STATIC_REQUIRE(vector_like<Eigen::RowVector3f const&>);
    STATIC_REQUIRE(vector_like<Eigen::ArrayXi&>);
    STATIC_REQUIRE(vector_like<decltype(v.head(2))>);
    STATIC_REQUIRE(vector_like<decltype(m.row(0))>);
    STATIC_REQUIRE(vector_like<decltype(m.diagonal())>);
    // Known failure M1: nor is a dynamic matrix that has one column today.
    STATIC_REQUIRE_FALSE(vector_like<Eigen::MatrixXd&>);
    STATIC_REQUIRE_FALSE(vector_like<decltype(m.leftCols(1))>);
    STATIC_REQUIRE_FALSE(vector_like<decltype(m.transpose())>);
}

TEST_CASE("matrices are all dense objects with memory") {
    STATIC_REQUIRE(matrix_like<Eigen::MatrixXd&>);
    STATIC_REQUIRE(matrix_like<Eigen::VectorXd&>);
    STATIC_REQUIRE(matrix_like<extended&>);
    STATIC_REQUIRE(matrix_like<decltype(m.transpose())>);
    STATIC_REQUIRE(matrix_like<decltype(m.array())>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(m + m)>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(m * 2)>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(m * m)>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(m.cast<float>())>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(m.reverse())>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(m.replicate(2, 2))>);
    STATIC_REQUIRE_FALSE(matrix_like<decltype(Eigen::MatrixXd::Zero(2, 2))>);
}

TEST_CASE("temporaries that own their elements are known") {
    STATIC_REQUIRE_FALSE(borrowed<Eigen::MatrixXd>);
    STATIC_REQUIRE_FALSE(borrowed<Eigen::Array3f>);
    STATIC_REQUIRE_FALSE(borrowed<extended>);
    STATIC_REQUIRE_FALSE(borrowed<Eigen::Ref<Eigen::VectorXd const>>);  // may hold a copy
    STATIC_REQUIRE(borrowed<Eigen::Ref<Eigen::VectorXd>>);
    STATIC_REQUIRE(borrowed<Eigen::Map<Eigen::MatrixXd const>>);
    STATIC_REQUIRE(borrowed<decltype(v.head(2))>);
    STATIC_REQUIRE(borrowed<decltype(m.col(0))>);
    STATIC_REQUIRE(borrowed<decltype(m.transpose())>);
    STATIC_REQUIRE(borrowed<decltype(m.array())>);
}

TEST_CASE("the backend is an aggregate that says how many threads") {
    STATIC_REQUIRE(prefer::backend_like<prefer::backend::eigen>);
    STATIC_REQUIRE(std::is_aggregate_v<prefer::backend::eigen>);
    STATIC_REQUIRE(prefer::backend::eigen{}.threads == 1);
    STATIC_REQUIRE(prefer::backend::eigen{.threads = 3}.threads == 3);
}

}  // namespace
