// SPDX-License-Identifier: MIT
#include <prefer/core/backend.hpp>

#include <type_traits>

#include "token_log_probs_battery.hpp"

namespace {

using prefer::matrix_view;
using prefer::vector_view;

/// The least a backend has to be. It counts its calls, checks that what it gets is checked already,
/// and leaves the work to the plain loop.
struct recording {
    using backend_concept = prefer::backend_tag;

    int* forward;
    int* backward;

    template <class T, class B, class Label, class O, class K>
    void token_log_probs(matrix_view<T const> logits, vector_view<B const> bias,
                         vector_view<Label const> labels, prefer::token_outputs<O, K> out,
                         prefer::token_options options) const {
        ++*forward;
        check(logits, labels, options);
        CHECK((bias.empty() || bias.size() == logits.columns()));
        CHECK(out.log_prob.size() == logits.rows());
        prefer::token_log_probs(prefer::biased(logits, bias), labels, out, options);
    }

    template <class T, class B, class Label, class G, class D>
    void token_log_probs_backward(matrix_view<T const> logits, vector_view<B const> bias,
                                  vector_view<Label const> labels, vector_view<G const> g,
                                  matrix_view<D> d, prefer::token_options options) const {
        ++*backward;
        CHECK((bias.empty() || bias.size() == logits.columns()));
        check(logits, labels, options);
        CHECK(g.size() == logits.rows());
        CHECK(d.rows() == logits.rows());
        CHECK(d.columns() == logits.columns());
        prefer::token_log_probs_backward(prefer::biased(logits, bias), labels, g, d, options);
    }

    template <class T, class Label>
    static void check(matrix_view<T const> logits, vector_view<Label const> labels,
                      prefer::token_options options) {
        CHECK(labels.size() == logits.rows());
        for (std::size_t i = 0; i < labels.size(); ++i) {
            bool const ignored = labels[i] == options.ignore_index;
            bool const column =
                labels[i] >= 0 && static_cast<std::size_t>(labels[i]) < logits.columns();
            REQUIRE((ignored || column));
        }
    }
};

TEST_CASE("a backend is handed checked views, and its results are the results") {
    int forward = 0;
    int backward = 0;
    prefer::test::check_backend(recording{&forward, &backward});
}

TEST_CASE("each call reaches the backend once; a call with a wrong argument does not") {
    int forward = 0;
    int backward = 0;
    recording const on{&forward, &backward};
    prefer::test::check_errors(on);
    CHECK(forward == 0);
    CHECK(backward == 0);

    std::vector<double> x{0, 0};
    std::vector<int> const labels{0};
    std::vector<double> out(1);
    prefer::token_log_probs(on, matrix_view(x.data(), 1, 2), labels, out);
    CHECK(forward == 1);
    CHECK(backward == 0);
    prefer::token_log_probs_backward(on, matrix_view(x.data(), 1, 2), labels, out,
                                     matrix_view(x.data(), 1, 2));
    CHECK(forward == 1);
    CHECK(backward == 1);
}

}  // namespace
