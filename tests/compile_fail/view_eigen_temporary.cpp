// SPDX-License-Identifier: MIT
// Known failure A5 with Eigen: the matrix is gone when the view is used.
// expect: "a view of this temporary container would dangle"
#include <Eigen/Core>

#include <prefer/backend/eigen.hpp>

int main() {
    Eigen::VectorXd a(3);
#if defined(PREFER_CONTROL)
    return static_cast<int>(prefer::as_vector(a.head(2)).size());
#else
    return static_cast<int>(prefer::as_vector((a + a).eval()).size());
#endif
}
