// SPDX-License-Identifier: MIT
// What is the same for every backend is in tests/conformance; here: the divergences against each
// other, and the options.
#include <prefer/logprob/token_kl.hpp>

#include <array>
#include <cmath>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::matrix_view;
using prefer::token_options;
using prefer::test::family;
namespace divergence = prefer::token_divergence;

std::vector<double> const x{0.5, -1.0, 2.0, 0.0, 7.0, -3.0};
std::vector<double> const y{1.0, 3.0, -6.0, 0.5, 0.0, -3.5};

template <class Divergence = divergence::reverse_kl>
double kl(std::vector<double> const& p, std::vector<double> const& q, Divergence const& d = {},
          token_options const& options = {}) {
    std::array const labels{0};
    std::array<double, 1> out{-1};
    prefer::token_kl(matrix_view(p.data(), 1, p.size()), matrix_view(q.data(), 1, q.size()), labels,
                     out, d, options);
    return out[0];
}

TEST_CASE("each divergence is its own") {
    // (3/4, 1/4) and (1/2, 1/2)
    std::vector<double> const p{std::log(3.0), 0};
    std::vector<double> const flat{0, 0};
    CHECK_CLOSE(kl(p, flat), 0.13081203594113697, family::log_prob);  // log 2 - H(1/4)
    CHECK_CLOSE(kl(p, flat, divergence::forward_kl{}), 0.14384103622589046,
                family::log_prob);  // log(4/3)/2
    // H of the middle less the mean of the two H
    double const middle = -(0.625 * std::log(0.625) + 0.375 * std::log(0.375));
    double const own = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25));
    CHECK_CLOSE(kl(p, flat, divergence::jensen_shannon{}), middle - (std::log(2.0) + own) / 2,
                family::log_prob);
    CHECK_CLOSE(kl(p, flat, divergence::alpha{}), 4 * (1 - std::sqrt(0.375) - std::sqrt(0.125)),
                family::log_prob);
    CHECK_DISTINGUISHES(0.13081203594113697, 0.14384103622589046, family::log_prob);
}

TEST_CASE("the other direction is the divergence of the exchanged rows") {
    CHECK_SAME_BITS(kl(x, y, divergence::forward_kl{}), kl(y, x));
    CHECK_CLOSE(kl(x, y, divergence::jensen_shannon{}), kl(y, x, divergence::jensen_shannon{}),
                family::log_prob);
    for (double const order : {0.0, 0.1, 0.4, 0.5}) {
        CAPTURE(order);
        CHECK_CLOSE(kl(x, y, divergence::alpha{.order = order}),
                    kl(y, x, divergence::alpha{.order = 1 - order}), family::log_prob);
    }
}

TEST_CASE("alpha is continuous at both ends and in the middle") {
    double const reverse = kl(x, y);
    double const forward = kl(x, y, divergence::forward_kl{});
    CHECK_SAME_BITS(kl(x, y, divergence::alpha{.order = 1}), reverse);
    CHECK_SAME_BITS(kl(x, y, divergence::alpha{.order = 0}), forward);
    // The slope in alpha is of the order of the divergences' squares.
    for (double const h : {1e-14, 1e-12}) {
        CAPTURE(h);
        CHECK_CLOSE(kl(x, y, divergence::alpha{.order = 1 - h}), reverse, family::quoted);
        CHECK_CLOSE(kl(x, y, divergence::alpha{.order = h}), forward, family::quoted);
    }
    CHECK_CLOSE(kl(x, y, divergence::alpha{.order = 0.5 - 1e-13}),
                kl(x, y, divergence::alpha{.order = 0.5 + 1e-13}), family::quoted);
    CHECK_DISTINGUISHES(reverse, forward, family::quoted);
}

TEST_CASE("options act on both rows before the softmax") {
    auto const mapped = [](std::vector<double> row, auto f) {
        for (double& v : row) v = f(v);
        return row;
    };
    auto const halved = [](double v) { return v / 2; };
    CHECK_CLOSE(kl(x, y, divergence::reverse_kl{}, {.temperature = 2}),
                kl(mapped(x, halved), mapped(y, halved)), family::log_prob);
    auto const capped = [](double v) { return 3 * std::tanh(1.5 * v / 3) / 2; };
    CHECK_CLOSE(kl(x, y, divergence::jensen_shannon{},
                   {.temperature = 2, .logit_scale = 1.5, .soft_cap = 3}),
                kl(mapped(x, capped), mapped(y, capped), divergence::jensen_shannon{}),
                family::log_prob);
    std::vector<double> const x4(x.begin(), x.begin() + 4);
    std::vector<double> const y4(y.begin(), y.begin() + 4);
    CHECK_SAME_BITS(kl(x, y, divergence::reverse_kl{}, {.vocabulary = 4}), kl(x4, y4));
    CHECK_DISTINGUISHES(kl(x, y), kl(x4, y4), family::log_prob);
}

TEST_CASE("a bias is that of its own row") {
    std::vector<double> const bias{0.5, 0, -1, 0, 2, 1};
    std::vector<double> sum = x;
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += bias[j];
    std::array const labels{0};
    std::array<double, 1> out{};
    matrix_view const p(x.data(), 1, x.size());
    matrix_view const q(y.data(), 1, y.size());
    prefer::token_kl(prefer::biased(p, bias), q, labels, out);
    CHECK_CLOSE(out[0], kl(sum, y), family::log_prob);
    prefer::token_kl(q, prefer::biased(p, bias), labels, out);
    CHECK_CLOSE(out[0], kl(y, sum), family::log_prob);
}

TEST_CASE("a 0/1 mask may stand for the labels") {
    std::vector<double> const two(4, 0.0);
    std::array const mask{0, 1};
    std::array<double, 2> out{5, 5};
    matrix_view const logits(two.data(), 2, 2);
    auto const counts = prefer::token_kl(logits, logits, mask, out, {}, {.ignore_index = 0});
    CHECK(counts.scored == 1);
    CHECK(counts.ignored == 1);
    CHECK_SAME(out, std::array{0.0, 0.0});
}

}  // namespace
