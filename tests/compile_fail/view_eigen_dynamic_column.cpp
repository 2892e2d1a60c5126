// SPDX-License-Identifier: MIT
// Known failure M1: a dynamic matrix with one column is no vector.
// expect: "cannot be viewed as a vector"
#include <Eigen/Core>

#include <prefer/backend/eigen.hpp>

int main() {
    Eigen::MatrixXd scores(3, 1);
#if defined(PREFER_CONTROL)
    return static_cast<int>(prefer::as_vector(scores.col(0)).size());
#else
    return static_cast<int>(prefer::as_vector(scores).size());
#endif
}
