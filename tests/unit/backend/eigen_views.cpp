// SPDX-License-Identifier: MIT
#include <prefer/backend/eigen.hpp>

#include <array>
#include <type_traits>
#include <vector>

#include <Eigen/Core>

#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/logprob/token_log_probs.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::as_matrix;
using prefer::as_vector;

using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using any_stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

/// The view has the numbers and the addresses of the Eigen object, coefficient by coefficient.
template <class X>
void check_matrix(X&& x) {
    auto const view = as_matrix(x);
    REQUIRE(view.rows() == static_cast<std::size_t>(x.rows()));
    REQUIRE(view.columns() == static_cast<std::size_t>(x.cols()));
    for (Eigen::Index i = 0; i < x.rows(); ++i) {
        for (Eigen::Index j = 0; j < x.cols(); ++j) {
            auto const r = static_cast<std::size_t>(i);
            auto const c = static_cast<std::size_t>(j);
            CHECK(view(r, c) == x(i, j));
            if constexpr (!std::is_const_v<typename decltype(view)::element_type>) {
                double const before = x(i, j);
                view(r, c) = before + 100;  // written through the view, seen in the object
                CHECK(x(i, j) == before + 100);
                view(r, c) = before;
            }
        }
    }
}

template <class X>
void check_vector(X&& x) {
    auto const view = as_vector(x);
    REQUIRE(view.size() == static_cast<std::size_t>(x.size()));
    for (Eigen::Index i = 0; i < x.size(); ++i) {
        auto const k = static_cast<std::size_t>(i);
        CHECK(view[k] == x(i));
        if constexpr (!std::is_const_v<typename decltype(view)::element_type>) {
            double const before = x(i);
            view[k] = before + 100;
            CHECK(x(i) == before + 100);
            view[k] = before;
        }
    }
    check_matrix(x);
}

template <class M>
M numbered(Eigen::Index rows, Eigen::Index columns) {
    M m(rows, columns);
    for (Eigen::Index i = 0; i < rows; ++i) {
        for (Eigen::Index j = 0; j < columns; ++j) m(i, j) = static_cast<double>(10 * i + j);
    }
    return m;
}

TEMPLATE_TEST_CASE("matrices and what is cut out of them", "", Eigen::MatrixXd, row_major,
                   Eigen::ArrayXXd, (Eigen::Matrix<double, 4, 5>),
                   (Eigen::Matrix<double, 4, 5, Eigen::RowMajor>),
                   (Eigen::Matrix<double, Eigen::Dynamic, 5>)) {
    auto m = numbered<TestType>(4, 5);
    check_matrix(m);
    check_matrix(m.transpose());
    check_matrix(m.block(1, 2, 3, 2));
    check_matrix(m.block(1, 2, 3, 2).transpose());
    check_matrix(m.topRows(2));
    check_matrix(m.leftCols(2));
    check_matrix(m.template block<2, 2>(1, 1));
    check_matrix(Eigen::Ref<TestType, 0, Eigen::OuterStride<>>(m));
    check_vector(m.row(2));
    check_vector(m.col(3));
    check_vector(m.row(2).segment(1, 3));
    check_vector(m.col(3).tail(2));
    check_vector(m.transpose().row(2));
    check_vector(m.row(1).transpose());
    TestType const& constant = m;
    check_matrix(constant);
    check_vector(constant.row(1));
    STATIC_REQUIRE(
        std::is_same_v<typename decltype(as_matrix(constant))::element_type, double const>);
    STATIC_REQUIRE(
        std::is_same_v<typename decltype(as_vector(constant.col(1)))::element_type, double const>);
}

TEST_CASE("diagonals and the other face of a matrix") {
    auto m = numbered<Eigen::MatrixXd>(4, 4);
    check_vector(m.diagonal());
    check_vector(m.diagonal(1));
    check_matrix(m.array());
    check_vector(m.col(1).array());
}

TEST_CASE("vectors") {
    Eigen::VectorXd column = Eigen::VectorXd::LinSpaced(6, 1, 6);
    Eigen::RowVectorXd row = column.transpose();
    Eigen::Array3d fixed(1, 2, 3);
    check_vector(column);
    check_vector(row);
    check_vector(fixed);
    check_vector(column.head(3));
    check_vector(column.tail<2>());
    check_vector(column.transpose());
    check_vector(Eigen::Ref<Eigen::VectorXd>(column));
    Eigen::Ref<Eigen::VectorXd const> const reference(column);
    check_vector(reference);
    CHECK(as_vector(column).data() == column.data());
    CHECK(as_vector(reference).data() == column.data());
    // A Ref to const of an expression owns a copy, and may be viewed while it lives.
    Eigen::Ref<Eigen::VectorXd const> const copy(column + column);
    check_vector(copy);
}

TEST_CASE("maps with any strides") {
    std::vector<double> memory(40);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
    double* const data = memory.data();
    check_vector(Eigen::Map<Eigen::VectorXd>(data, 5));
    check_vector(Eigen::Map<Eigen::VectorXd const>(data, 5));
    check_vector(Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<3>>(data + 1, 5));
    check_vector(
        Eigen::Map<Eigen::RowVectorXd, 0, Eigen::InnerStride<>>(data, 5, Eigen::InnerStride<>(4)));
    check_matrix(Eigen::Map<Eigen::MatrixXd>(data, 3, 4));
    check_matrix(Eigen::Map<row_major>(data, 3, 4));
    check_matrix(
        Eigen::Map<row_major, 0, Eigen::OuterStride<>>(data, 3, 4, Eigen::OuterStride<>(7)));
    check_matrix(Eigen::Map<row_major, 0, any_stride>(data, 3, 4, any_stride(12, 3)));
    check_matrix(Eigen::Map<Eigen::MatrixXd, 0, any_stride>(data, 3, 4, any_stride(1, 5)));
    CHECK_SAME(as_vector(Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<3>>(data + 1, 3)),
               std::array{1, 4, 7});
}

TEST_CASE("empty Eigen objects") {
    Eigen::VectorXd const none;
    Eigen::MatrixXd const no_rows(0, 3);
    Eigen::MatrixXd const no_columns(3, 0);
    CHECK(as_vector(none).empty());
    CHECK(as_matrix(no_rows).rows() == 0);
    CHECK(as_matrix(no_rows).columns() == 3);
    CHECK(as_matrix(no_columns).rows() == 3);
    CHECK(as_matrix(no_columns).columns() == 0);
}

TEST_CASE("a trainer's own Eigen matrices, in and out") {
    Eigen::MatrixXf const logits = Eigen::MatrixXf::Zero(4, 8);
    row_major d = row_major::Constant(4, 8, 9.0);
    Eigen::VectorXi labels(4);
    labels << 0, -100, 7, 3;
    Eigen::VectorXi const offsets = (Eigen::VectorXi(3) << 0, 2, 4).finished();
    Eigen::MatrixXd results = Eigen::MatrixXd::Constant(4, 2, 5.0);
    prefer::backend::eigen const on{.threads = 2};

    prefer::token_log_probs(on, logits, labels, results.col(1));
    double const expected = -2.0794415416798359;  // -log 8
    for (Eigen::Index i : {0, 2, 3}) {
        CHECK_CLOSE(static_cast<float>(results(i, 1)), expected, prefer::test::family::log_prob);
    }
    CHECK(results(1, 1) == 0.0);
    CHECK((results.col(0).array() == 5.0).all());

    Eigen::Vector2d sums;
    prefer::sequence_sum(results.col(1), offsets, sums);
    CHECK_CLOSE(static_cast<float>(sums(1)), 2 * expected, prefer::test::family::log_prob);

    prefer::token_log_probs_backward(on, logits, labels, Eigen::Vector4d(8, 8, 8, 0), d);
    CHECK_CLOSE(as_vector(d.row(0)), std::array{7, -1, -1, -1, -1, -1, -1, -1},
                prefer::test::family::gradient);
    CHECK((d.row(1).array() == 0.0).all());
    CHECK((d.row(3).array() == 0.0).all());
}

TEMPLATE_TEST_CASE("Eigen's 16-bit types are elements", "", Eigen::bfloat16, Eigen::half) {
    STATIC_REQUIRE(prefer::element<TestType>);
    STATIC_REQUIRE(std::is_same_v<prefer::compute_t<TestType>, float>);
    Eigen::Matrix<TestType, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> logits(1, 3);
    logits << TestType(0.5F), TestType(0.5F), TestType(0.5F);
    std::vector<int> const labels{1};
    std::vector<float> out(1);
    std::vector<float> const g{3.0F};
    double const expected = -1.0986122886681098;  // -log 3
    prefer::token_log_probs(logits, labels, out);
    CHECK_CLOSE(out[0], expected, prefer::test::family::log_prob);
    prefer::token_log_probs(prefer::backend::eigen{}, logits, labels, out);
    CHECK_CLOSE(out[0], expected, prefer::test::family::log_prob);
    prefer::token_log_probs_backward(prefer::backend::eigen{}, logits, labels, g, logits);
    CHECK(static_cast<float>(logits(0, 0)) == -1.0F);
    CHECK(static_cast<float>(logits(0, 1)) == 2.0F);
}

}  // namespace
