// SPDX-License-Identifier: MIT
// A sum has no elements in memory; `.eval()` gives it some.
// expect: "cannot be viewed as a vector"
#include <Eigen/Core>

#include <prefer/backend/eigen.hpp>

int main() {
    Eigen::VectorXd a(3);
#if defined(PREFER_CONTROL)
    Eigen::VectorXd const sum = a + a;
#else
    auto const sum = a + a;
#endif
    return static_cast<int>(prefer::as_vector(sum).size());
}
