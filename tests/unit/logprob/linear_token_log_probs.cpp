// SPDX-License-Identifier: MIT
#include <prefer/logprob/linear_token_log_probs.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::linear_head;
using prefer::linear_kept;
using prefer::linear_options;
using prefer::matrix_view;
using prefer::test::family;

// Hidden states 1 and -1 (D = 1), a head of log 1, log 2, log 3, log 4: the label k has probability
// (k + 1) / 10 in the first row, and 1/(k + 1) / (25/12) in the second.
struct example {
    std::vector<double> hidden{1, -1};
    std::vector<double> weight{0, std::log(2.0), std::log(3.0), std::log(4.0)};
    std::vector<int> labels{2, 1};
    std::vector<double> upstream{1, 2};
    std::vector<double> logp{7, 7}, d_hidden{7, 7}, d_weight{7, 7, 7, 7}, d_bias{7, 7, 7, 7};

    matrix_view<double const> x{hidden.data(), 2, 1};
    matrix_view<double const> w{weight.data(), 4, 1};
    matrix_view<double> dx{d_hidden.data(), 2, 1};
    matrix_view<double> dw{d_weight.data(), 4, 1};
    linear_head<double, double> d_head{dw, d_bias};

    void untouched() const {
        CHECK_SAME(logp, std::vector<double>(2, 7));
        CHECK_SAME(d_hidden, std::vector<double>(2, 7));
        CHECK_SAME(d_weight, std::vector<double>(4, 7));
        CHECK_SAME(d_bias, std::vector<double>(4, 7));
    }
};

TEST_CASE("log-probs and gradients in closed form") {
    example e;
    auto const counts = prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp);
    CHECK(counts.scored == 2);
    CHECK_CLOSE(e.logp[0], std::log(0.3), family::log_prob);
    CHECK_CLOSE(e.logp[1], std::log(6.0 / 25), family::log_prob);
    prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, e.upstream, e.dx, e.d_head);
    std::vector<double> const g{-0.1, -0.2, 0.7, -0.4};
    std::vector<double> const h{-24.0 / 25, 38.0 / 25, -8.0 / 25, -6.0 / 25};
    double dx0 = 0;
    double dx1 = 0;
    for (std::size_t k = 0; k < 4; ++k) {
        CHECK_CLOSE(e.d_weight[k], g[k] - h[k], family::gradient);
        CHECK_CLOSE(e.d_bias[k], g[k] + h[k], family::gradient);
        dx0 += g[k] * e.weight[k];
        dx1 += h[k] * e.weight[k];
    }
    CHECK_CLOSE(e.d_hidden, (std::vector<double>{dx0, dx1}), family::gradient);
}

TEST_CASE("a head is a matrix, a matrix with a bias, or the transposed view of one") {
    example e;
    std::vector<double> const zero(4, 0.0);
    std::vector<double> with_bias(2), transposed(2);
    matrix_view<double const> const as_columns(e.weight.data(), 4, 1, 1, 4);
    prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp);
    prefer::linear_token_log_probs(e.x, linear_head(e.w, zero), e.labels, with_bias);
    prefer::linear_token_log_probs(e.x, linear_head(as_columns), e.labels, transposed);
    CHECK_SAME_BITS(with_bias, e.logp);
    CHECK_SAME_BITS(transposed, e.logp);
}

TEST_CASE("gradients may be wider than what is computed in") {
    std::vector<float> const hidden{1, -1}, weight{0.5F, 0.25F, -1};
    std::vector<int> const labels{0, 2};
    std::vector<float> const g{1, 2};
    matrix_view const x(hidden.data(), 2, 1);
    matrix_view const w(weight.data(), 3, 1);
    std::vector<float> dx(2), dw(3);
    std::vector<double> dx_wide(2), dw_wide(3);
    prefer::linear_token_log_probs_backward(x, w, labels, g, matrix_view(dx.data(), 2, 1),
                                            matrix_view(dw.data(), 3, 1));
    prefer::linear_token_log_probs_backward(x, w, labels, g, matrix_view(dx_wide.data(), 2, 1),
                                            matrix_view(dw_wide.data(), 3, 1));
    for (std::size_t i = 0; i < 2; ++i) CHECK_SAME(dx_wide[i], static_cast<double>(dx[i]));
    for (std::size_t i = 0; i < 3; ++i) CHECK_SAME(dw_wide[i], static_cast<double>(dw[i]));
}

TEST_CASE("sizes that do not fit are errors before anything is written") {
    example e;
    std::vector<int> const three{0, 1, 2};
    std::vector<double> const g3(3, 1.0);
    std::vector<double> out3(3), bias3(3), other(12);
    matrix_view<double> const wide(other.data(), 4, 2);
    matrix_view<double> const tall(other.data(), 3, 1);
    auto const forward = [&](auto const& x, auto const& w, auto const& labels, auto& out) {
        prefer::linear_token_log_probs(x, w, labels, out);
    };
    CHECK_THROWS_MESSAGE(forward(e.x, wide, e.labels, e.logp), prefer::shape_error,
                         "prefer::linear_token_log_probs: head's columns has size 2, but hidden's "
                         "columns has size 1");
    CHECK_THROWS_MESSAGE(forward(e.x, linear_head(e.w, bias3), e.labels, e.logp),
                         prefer::shape_error, "head's bias has size 3, but head's rows has size 4");
    CHECK_THROWS_MESSAGE(forward(e.x, e.w, three, e.logp), prefer::shape_error,
                         "labels has size 3, but hidden's rows has size 2");
    CHECK_THROWS_MESSAGE(forward(e.x, e.w, e.labels, out3), prefer::shape_error,
                         "token_logp has size 3");
    auto const backward = [&](auto const& g, auto const& dx, auto const& dw) {
        prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, g, dx, dw);
    };
    CHECK_THROWS_MESSAGE(backward(g3, e.dx, e.d_head), prefer::shape_error,
                         "prefer::linear_token_log_probs_backward: d_token_logp has size 3");
    CHECK_THROWS_MESSAGE(backward(e.upstream, tall, e.d_head), prefer::shape_error,
                         "d_hidden's rows has size 3");
    CHECK_THROWS_MESSAGE(backward(e.upstream, matrix_view(other.data(), 2, 2), e.d_head),
                         prefer::shape_error, "d_hidden's columns has size 2");
    CHECK_THROWS_MESSAGE(backward(e.upstream, e.dx, tall), prefer::shape_error,
                         "d_head's rows has size 3");
    CHECK_THROWS_MESSAGE(backward(e.upstream, e.dx, wide), prefer::shape_error,
                         "d_head's columns has size 2");
    CHECK_THROWS_MESSAGE(backward(e.upstream, e.dx, linear_head(e.dw, bias3)), prefer::shape_error,
                         "d_head's bias has size 3");
    e.untouched();
}

TEST_CASE("known failure L14: a label out of range, and options out of range") {
    example e;
    for (int const label : {4, -1}) {
        e.labels[1] = label;
        std::string const expected = "labels[1] is " + std::to_string(label) +
                                     ", but must be in [0, 4) or the ignore index -100";
        CHECK_THROWS_MESSAGE(prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp),
                             prefer::value_error, expected);
        CHECK_THROWS_MESSAGE(
            prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, e.upstream, e.dx, e.d_head),
            prefer::value_error, expected);
    }
    e.labels = {2, 3};
    auto const with = [&](linear_options const& options) {
        prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, e.upstream, e.dx, e.d_head,
                                                options);
    };
    CHECK_THROWS_MESSAGE(with({.tokens = {.vocabulary = 3}}), prefer::value_error,
                         "labels[1] is 3, but must be in [0, 3)");
    CHECK_THROWS_MESSAGE(with({.tokens = {.vocabulary = 5}}), prefer::shape_error, "vocabulary");
    CHECK_THROWS_MESSAGE(with({.tokens = {.temperature = 0}}), prefer::value_error, "temperature");
    e.untouched();
}

TEST_CASE("a workspace in which no tile fits is an error that says the least") {
    example e;
    std::size_t const least = prefer::detail::linear_tile{1, 1}.bytes<double>(1);
    CHECK_THROWS_MESSAGE(
        prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp, {.workspace_bytes = least - 1}),
        prefer::value_error,
        "prefer::linear_token_log_probs: workspace_bytes is " + std::to_string(least - 1) +
            ", but must be at least " + std::to_string(least) + " for hidden states of size 1");
    CHECK_THROWS_MESSAGE(prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, e.upstream,
                                                                 e.dx, e.d_head,
                                                                 {.workspace_bytes = 0}),
                         prefer::value_error, "workspace_bytes is 0");
    e.untouched();
    prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp, {.workspace_bytes = least});
    CHECK_CLOSE(e.logp[0], std::log(0.3), family::log_prob);
}

TEST_CASE("a tile fits its workspace, and blocks of rows are of equal size") {
    using prefer::detail::linear_tile;
    for (std::size_t const rows : {0U, 1U, 7U, 1023U, 1024U, 1025U, 5000U}) {
        for (std::size_t const vocabulary : {1U, 100U, 2049U, 128256U}) {
            for (std::size_t const d : {1U, 64U, 2048U}) {
                for (std::size_t const bytes : {25000U, 1U << 20U, 32U << 20U}) {
                    CAPTURE(rows, vocabulary, d, bytes);
                    auto const tile =
                        linear_tile::fitting<float>("test", rows, vocabulary, d, bytes);
                    CHECK(tile.bytes<float>(d) <= bytes);
                    CHECK(tile.rows >= 1);
                    CHECK(tile.columns >= 1);
                    CHECK(tile.columns <= vocabulary);
                    if (rows == 0) continue;
                    std::size_t const blocks = (rows + tile.rows - 1) / tile.rows;
                    CHECK(blocks * tile.rows < rows + blocks);
                }
            }
        }
    }
}

TEST_CASE("what is kept belongs to one forward call") {
    example e;
    std::vector<double> buffer(8);
    linear_kept<double> kept(buffer);
    auto const backward = [&](linear_options const& options = {}) {
        prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, e.upstream, kept, e.dx,
                                                e.d_head, options);
    };
    CHECK_THROWS_MESSAGE(backward(), prefer::value_error,
                         "prefer::linear_token_log_probs_backward: kept holds no forward call, but "
                         "must be given to one");
    e.untouched();
    prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp, kept);
    e.labels[1] = 3;
    CHECK_THROWS_MESSAGE(backward(), prefer::value_error,
                         "labels differ from those of kept's forward call");
    e.labels[1] = -100;
    CHECK_THROWS_MESSAGE(backward(), prefer::value_error, "labels differ");
    e.labels[1] = 1;
    CHECK_THROWS_MESSAGE(backward({.tokens = {.temperature = 2}}), prefer::value_error,
                         "temperature, logit_scale or soft_cap differ");
    CHECK_THROWS_MESSAGE(backward({.tokens = {.logit_scale = 2}}), prefer::value_error, "differ");
    CHECK_THROWS_MESSAGE(backward({.tokens = {.soft_cap = 2}}), prefer::value_error, "differ");
    CHECK_THROWS_MESSAGE(backward({.tokens = {.vocabulary = 3}}), prefer::shape_error,
                         "the vocabulary has size 3, but kept's forward call has size 4");
    matrix_view<double const> const one_row(e.hidden.data(), 1, 1);
    matrix_view<double> const one_d(e.d_hidden.data(), 1, 1);
    std::vector<int> const one{2};
    std::vector<double> const g{1};
    CHECK_THROWS_MESSAGE(
        prefer::linear_token_log_probs_backward(one_row, e.w, one, g, kept, one_d, e.d_head),
        prefer::shape_error, "hidden's rows has size 1, but kept's forward call has size 2");
    CHECK_SAME(e.d_hidden, std::vector<double>(2, 7));
    CHECK_SAME(e.d_weight, std::vector<double>(4, 7));

    // Twice is fine: backward only reads it.
    backward();
    auto const d = e.d_hidden;
    e.d_hidden = {7, 7};
    backward();
    CHECK_SAME_BITS(e.d_hidden, d);
}

TEST_CASE("a buffer that is too small, or has gaps, is an error; the rest of it is not touched") {
    example e;
    std::vector<double> buffer(9, 7.0);
    linear_kept<double> small(prefer::vector_view<double>(buffer.data(), 7));
    CHECK_THROWS_MESSAGE(prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp, small),
                         prefer::shape_error,
                         "the buffer of kept has size 7, but 2 scored rows of 4 logits need 8");
    e.untouched();
    CHECK_THROWS_MESSAGE(linear_kept<double>(prefer::vector_view<double>(buffer.data(), 4, 2)),
                         prefer::shape_error, "prefer::linear_kept: the buffer must be contiguous");
    linear_kept<double> kept(buffer);
    prefer::linear_token_log_probs(e.x, e.w, e.labels, e.logp, kept);
    CHECK_SAME(buffer[8], 7.0);
    CHECK_CLOSE(buffer[3], std::log(4.0), family::gradient);
    CHECK_CLOSE(buffer[7], -std::log(4.0), family::gradient);
    // A failed forward call leaves nothing that backward could take for the one before.
    std::vector<double> long_hidden{1, 1, 1};
    std::vector<int> const labels{0, 1, 2};
    std::vector<double> out(3);
    CHECK_THROWS_AS(
        prefer::linear_token_log_probs(matrix_view<double const>(long_hidden.data(), 3, 1), e.w,
                                       labels, out, kept),
        prefer::shape_error);
    CHECK_THROWS_MESSAGE(prefer::linear_token_log_probs_backward(e.x, e.w, e.labels, e.upstream,
                                                                 kept, e.dx, e.d_head),
                         prefer::value_error, "kept holds no forward call");
}

}  // namespace
