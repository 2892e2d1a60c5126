// SPDX-License-Identifier: MIT
// A formula branches on its numbers; on packs of SIMD lanes there is no one branch to take.
// expect: "a formula has no `if`"
#include <vector>

#include <prefer/prefer.hpp>

struct branching {
    template <class S>
    S operator()(prefer::pair<S> const& p) const {
        using real = prefer::math::primal_t<S>;
        S const gap = real(1) - p.margin();
#if defined(PREFER_CONTROL)
        return prefer::math::select(gap < real(0), S(real(0)), gap);
#else
        if (gap < real(0)) return S(real(0));
        return gap;
#endif
    }
};

int main() {
    std::vector<double> const x{-1.0};
    return prefer::evaluate_pairs(branching{}, prefer::pair_batch{x, x, x, x}).pairs == 1 ? 0 : 1;
}
