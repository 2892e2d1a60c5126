// SPDX-License-Identifier: MIT
// expect: "a divergence is for losses that read the responses only through"
#include <prefer/core/pair.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/f_divergence.hpp>
#include <prefer/loss/ipo.hpp>
#include <prefer/loss/mixture.hpp>
#include <prefer/loss/slic.hpp>

int main() {
#if defined(PREFER_CONTROL)
    using second = prefer::loss::ipo;
#else
    using second = prefer::loss::slic;
#endif
    prefer::loss::mixture const mixed{prefer::loss::weighted{prefer::loss::dpo{}, 0.5},
                                      prefer::loss::weighted{second{}, 0.5}};
    prefer::loss::with_divergence const modified{mixed, prefer::loss::divergence::alpha{0.5}};
    prefer::pair<double> const p{{-1, -2, 3}, {-2, -1, 3}};
    return static_cast<int>(modified(p));
}
