// SPDX-License-Identifier: MIT
// expect: "a divergence is for losses that read the responses only through"
#include <prefer/core/pair.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/f_divergence.hpp>
#include <prefer/loss/slic.hpp>

int main() {
#if defined(PREFER_CONTROL)
    using loss = prefer::loss::dpo;
#else
    using loss = prefer::loss::slic;
#endif
    prefer::loss::with_divergence const modified{loss{}, prefer::loss::divergence::forward_kl{}};
    prefer::pair<double> const p{{-1, -2, 3}, {-2, -1, 3}};
    return static_cast<int>(modified(p));
}
