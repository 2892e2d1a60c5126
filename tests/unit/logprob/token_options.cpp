// SPDX-License-Identifier: MIT
// Errors of the options; what they do is in tests/conformance and tests/golden.
#include <prefer/logprob/token_log_probs.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::token_options;

std::vector<float> const x(6, 0.0F);
matrix_view const logits(x.data(), 2, 3);
std::vector<int> const labels{0, 1};
std::vector<float> const g{1, 1};

/// Both directions refuse the options in these words, and write nothing.
template <class Error>
void check_refused(token_options const& options, std::string const& words) {
    std::vector<float> out(2, 5.0F);
    std::vector<float> d(6, 5.0F);
    CHECK_THROWS_MESSAGE(prefer::token_log_probs(logits, labels, out, options), Error,
                         "prefer::token_log_probs: " + words);
    CHECK_THROWS_MESSAGE(
        prefer::token_log_probs_backward(logits, labels, g, matrix_view(d.data(), 2, 3), options),
        Error, "prefer::token_log_probs_backward: " + words);
    CHECK_SAME(out, std::vector<float>(2, 5.0F));
    CHECK_SAME(d, std::vector<float>(6, 5.0F));
}

TEST_CASE("an option out of range is an error before anything is written") {
    double const inf = std::numeric_limits<double>::infinity();
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (double const bad : {0.0, -1.0, inf, -inf, nan}) {
        CAPTURE(bad);
        check_refused<prefer::value_error>({.temperature = bad}, "temperature is ");
        check_refused<prefer::value_error>({.logit_scale = bad}, "logit_scale is ");
    }
    for (double const bad : {-1.0, inf, -inf, nan}) {
        CAPTURE(bad);
        check_refused<prefer::value_error>({.soft_cap = bad}, "soft_cap is ");
    }
    check_refused<prefer::shape_error>({.vocabulary = 4},
                                       "vocabulary is 4, but must be at most the 3 columns");
}

TEST_CASE("outputs, a bias and normalisers of another size are errors") {
    std::vector<float> out(2, 5.0F);
    std::vector<float> three(3, 5.0F);
    std::vector<float> d(6, 5.0F);
    std::vector<prefer::row_normalizer<float>> kept(3);
    prefer::token_outputs const outputs(out);
    auto const refused = [&](auto const& o, char const* words) {
        CHECK_THROWS_MESSAGE(prefer::token_log_probs(logits, labels, o), prefer::shape_error,
                             words);
    };
    refused(outputs.with_entropy(three), "entropy has size 3, but logits' rows has size 2");
    refused(outputs.with_hits(three), "hits has size 3");
    refused(outputs.with_log_sum_squares(three), "log_sum_squares has size 3");
    refused(outputs.with_mean_logit(three), "mean_logit has size 3");
    refused(outputs.with_normalizers(kept), "normalizers has size 3");
    CHECK_THROWS_MESSAGE(
        prefer::token_log_probs_backward(logits, labels, g, kept, matrix_view(d.data(), 2, 3)),
        prefer::shape_error, "normalizers has size 3");
    CHECK_THROWS_MESSAGE(prefer::token_log_probs(prefer::biased(logits, g), labels, out),
                         prefer::shape_error, "bias has size 2, but logits' columns has size 3");
    CHECK_SAME(out, std::vector<float>(2, 5.0F));
    CHECK_SAME(three, std::vector<float>(3, 5.0F));
    CHECK_SAME(d, std::vector<float>(6, 5.0F));
}

TEST_CASE("identities of the options") {
    std::vector<double> const row{0.25, -1.5, 2.0};
    std::vector<double> plain(1), other(1);
    std::array const label{1};
    matrix_view const one(row.data(), 1, 3);
    prefer::token_log_probs(one, label, plain);
    prefer::token_log_probs(one, label, other, {.temperature = 0.5, .logit_scale = 0.5});
    CHECK_SAME_BITS(plain, other);
    // A cap far above the logits changes nothing to first order: cap²/x² = 1e16.
    prefer::token_log_probs(one, label, other, {.soft_cap = 1e8});
    CHECK_CLOSE(other, plain, prefer::test::family::log_prob);
    CHECK(other[0] != 0);
}

}  // namespace
