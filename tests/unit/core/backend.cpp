// SPDX-License-Identifier: MIT
#include <prefer/core/backend.hpp>

#include <vector>

#include <prefer/logprob/token_log_probs.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

/// Overrides the forward pass for float logits only.
struct halves {
    using backend_concept = prefer::backend_tag;

    template <class Label, class O>
    void token_log_probs(prefer::matrix_view<float const>, prefer::vector_view<float const>,
                         prefer::vector_view<Label const>, prefer::token_outputs<O> out,
                         prefer::token_options const&) const {
        for (std::size_t i = 0; i < out.log_prob.size(); ++i) out.log_prob[i] = O(-0.5);
    }
};

TEST_CASE("a backend overrides what it has, for the types it takes") {
    std::vector<float> const narrow{0, 0};
    std::vector<double> const wide{0, 0};
    std::vector<int> const labels{0};
    std::vector<double> out(1);
    double const minus_log_2 = -0.69314718055994531;

    prefer::token_log_probs(halves{}, prefer::matrix_view(narrow.data(), 1, 2), labels, out);
    CHECK_SAME(out[0], -0.5);
    prefer::token_log_probs(halves{}, prefer::matrix_view(wide.data(), 1, 2), labels, out);
    CHECK_CLOSE(out[0], minus_log_2, prefer::test::family::log_prob);
    prefer::token_log_probs(prefer::backend::plain{}, prefer::matrix_view(wide.data(), 1, 2),
                            labels, out);
    CHECK_CLOSE(out[0], minus_log_2, prefer::test::family::log_prob);

    // It has no backward: the plain loop runs. g·(onehot - 1/2).
    std::vector<float> d(2);
    std::vector<double> const g{4.0};
    prefer::token_log_probs_backward(halves{}, prefer::matrix_view(narrow.data(), 1, 2), labels, g,
                                     prefer::matrix_view(d.data(), 1, 2));
    CHECK_CLOSE(d, std::vector<double>{2.0, -2.0}, prefer::test::family::gradient);
}

}  // namespace
