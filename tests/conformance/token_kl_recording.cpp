// SPDX-License-Identifier: MIT
#include <prefer/core/backend.hpp>

#include "token_kl_battery.hpp"

namespace {

using prefer::biased_logits;
using prefer::matrix_view;
using prefer::vector_view;

/// The least a backend has to be. It counts its calls, checks that what it gets is checked already,
/// and leaves the work to the plain loop.
struct recording {
    using backend_concept = prefer::backend_tag;

    int* forward;
    int* backward;

    template <class T, class TB, class U, class UB, class Label, class O, class Divergence>
    void token_kl(biased_logits<T, TB> policy, biased_logits<U, UB> reference,
                  vector_view<Label const> labels, vector_view<O> out, Divergence divergence,
                  prefer::token_options options) const {
        ++*forward;
        check(policy, reference, labels);
        CHECK(out.size() == labels.size());
        CHECK_NOTHROW(divergence.validate());
        prefer::token_kl(policy.logits, reference.logits, labels, out, divergence, options);
    }

    template <class T, class TB, class U, class UB, class Label, class G, class D, class Divergence>
    void token_kl_backward(biased_logits<T, TB> policy, biased_logits<U, UB> reference,
                           vector_view<Label const> labels, vector_view<G const> g,
                           prefer::token_kl_gradients<D> out, Divergence divergence,
                           prefer::token_options options) const {
        ++*backward;
        check(policy, reference, labels);
        CHECK(g.size() == labels.size());
        CHECK(out.policy.rows() == labels.size());
        prefer::token_kl_backward(policy.logits, reference.logits, labels, g, out, divergence,
                                  options);
    }

    template <class P, class R, class Label>
    static void check(P const& policy, R const& reference, vector_view<Label const> labels) {
        CHECK(policy.bias.empty());
        CHECK(reference.bias.empty());
        CHECK(policy.logits.rows() == labels.size());
        CHECK(reference.logits.rows() == labels.size());
        CHECK(policy.logits.columns() == reference.logits.columns());
    }
};

TEST_CASE("a backend is handed checked views, and its results are the results") {
    int forward = 0;
    int backward = 0;
    recording const on{&forward, &backward};
    prefer::test::check_kl_ignored_rows<float>(on);
    prefer::test::check_kl_layouts<double>(on);
    prefer::test::check_kl_special_rows<prefer::half>(on);
    CHECK(forward > 0);
    CHECK(backward > 0);
}

TEST_CASE("each call reaches the backend once; a call with a wrong argument does not") {
    int forward = 0;
    int backward = 0;
    recording const on{&forward, &backward};
    prefer::test::check_kl_errors(on);
    CHECK(forward == 0);
    CHECK(backward == 0);

    std::vector<double> x{0, 0};
    std::vector<int> const labels{0};
    std::vector<double> out(1);
    matrix_view const logits(x.data(), 1, 2);
    prefer::token_kl(on, logits, logits, labels, out);
    CHECK(forward == 1);
    CHECK(backward == 0);
    prefer::token_kl_backward(on, logits, logits, labels, out, logits);
    CHECK(forward == 1);
    CHECK(backward == 1);
}

}  // namespace
