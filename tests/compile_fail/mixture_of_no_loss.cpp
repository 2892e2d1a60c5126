// SPDX-License-Identifier: MIT
// expect: "a mixture is made of pair losses"
#include <prefer/core/pair.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/mixture.hpp>

#if defined(PREFER_CONTROL)
using second = prefer::loss::dpo;
#else
struct second {
    double beta = 0.1;
};
#endif

int main() {
    using prefer::loss::weighted;
    prefer::loss::mixture const mixed{weighted{prefer::loss::dpo{}, 0.5}, weighted{second{}, 0.5}};
    prefer::pair<double> const p{{-1, -2, 3}, {-2, -1, 3}};
    return static_cast<int>(mixed(p));
}
