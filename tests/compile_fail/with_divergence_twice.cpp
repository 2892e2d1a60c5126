// SPDX-License-Identifier: MIT
// expect: "and only one divergence applies"
#include <prefer/core/pair.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/f_divergence.hpp>

int main() {
    using prefer::loss::with_divergence;
    using prefer::loss::divergence::alpha;
    using prefer::loss::divergence::jensen_shannon;
    with_divergence const once{prefer::loss::dpo{}, jensen_shannon{}};
#if defined(PREFER_CONTROL)
    auto const& modified = once;
#else
    with_divergence<with_divergence<prefer::loss::dpo, jensen_shannon>, alpha> const modified{once,
                                                                                              {}};
#endif
    prefer::pair<double> const p{{-1, -2, 3}, {-2, -1, 3}};
    return static_cast<int>(modified(p));
}
