// SPDX-License-Identifier: MIT
#include <prefer/backend/eigen.hpp>

#include "linear_token_log_probs_battery.hpp"

namespace {

using prefer::matrix_view;
using prefer::backend::eigen;

TEST_CASE("eigen on 2 threads gives what every backend must give") {
    prefer::test::check_linear(eigen{.threads = 2});
}

TEMPLATE_TEST_CASE("the number of threads changes no bit", "", double, float, prefer::bfloat16) {
    using problem = prefer::test::linear_problem<TestType, TestType>;
    using C = typename problem::C;
    problem p({300, 1100, 37});
    p.options.workspace_bytes = std::size_t{1} << 20U;
    prefer::test::sizes const s{p.n, p.v, p.d};
    auto const run = [&](int threads, bool keep) {
        prefer::test::linear_results<C> r(s, C(1));
        std::vector<C> buffer(keep ? p.scored() * p.v : 0);
        prefer::linear_kept<C> kept;
        if (keep) kept = prefer::linear_kept<C>(buffer);
        eigen const on{.threads = threads};
        prefer::linear_token_log_probs(on, p.x(), p.head(), p.labels, r.logp, kept, p.options);
        prefer::linear_token_log_probs_backward(
            on, p.x(), p.head(), p.labels, p.upstream, kept,
            matrix_view(r.d_hidden.data(), p.n, p.d),
            prefer::linear_head(matrix_view(r.d_weight.data(), p.v, p.d), r.d_bias), p.options);
        return r;
    };
    for (bool const keep : {false, true}) {
        auto const one = run(1, keep);
        for (int const threads : {2, 3, 7}) {
            CAPTURE(threads, keep);
            auto const many = run(threads, keep);
            CHECK_SAME_BITS(many.logp, one.logp);
            CHECK_SAME_BITS(many.d_hidden, one.d_hidden);
            CHECK_SAME_BITS(many.d_weight, one.d_weight);
            CHECK_SAME_BITS(many.d_bias, one.d_bias);
        }
    }
}

}  // namespace
