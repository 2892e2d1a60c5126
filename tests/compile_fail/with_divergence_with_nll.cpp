// SPDX-License-Identifier: MIT
// expect: "a divergence is for losses that read the responses only through"
// expect: "Put an NLL term outside"
#include <prefer/core/pair.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/f_divergence.hpp>
#include <prefer/loss/with_nll.hpp>

int main() {
    using prefer::loss::with_divergence;
    using prefer::loss::with_nll;
    using prefer::loss::divergence::forward_kl;
#if defined(PREFER_CONTROL)
    with_nll const modified{with_divergence{prefer::loss::dpo{}, forward_kl{}}, 0.5};
#else
    with_divergence const modified{with_nll{prefer::loss::dpo{}, 0.5}, forward_kl{}};
#endif
    prefer::pair<double> const p{{-1, -2, 3}, {-2, -1, 3}};
    return static_cast<int>(modified(p));
}
