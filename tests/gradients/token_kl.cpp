// SPDX-License-Identifier: MIT
// The backward of each divergence, of both logits, against central differences, under the options
// that change the logits.
#include <prefer/logprob/token_kl.hpp>

#include <cstddef>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>
#include <support/finite_difference.hpp>

namespace {

using prefer::biased;
using prefer::matrix_view;
using prefer::token_options;
using prefer::test::derivative;
using prefer::test::family;
namespace divergence = prefer::token_divergence;

constexpr std::size_t rows = 3;
constexpr std::size_t columns = 5;

std::vector<int> const labels{1, -100, 0};
std::vector<double> const upstream{0.7, 5.0, -1.3};
std::vector<double> const policy{0.5,  -1.0, 2.0, 0.0, 1.5,  1.0, 2.0, 3.0,
                                 -4.0, 0.0,  6.0, 0.0, -3.0, 0.5, 0.75};
std::vector<double> const reference{1.0, 0.25, -1.5, 0.5, 2.0, 1.0, 2.0, 3.0,
                                    4.0, 5.0,  -2.0, 0.0, 1.0, 3.5, 0.5};
std::vector<double> const policy_bias{0.1, -0.2, 0.3, 0.0, 0.5};
std::vector<double> const reference_bias{-0.5, 0.25, 0.0, 1.0, -1.0};

template <class Divergence>
double scalar(std::vector<double> const& p, std::vector<double> const& q, Divergence const& d,
              token_options const& options) {
    std::vector<double> kl(rows);
    prefer::token_kl(biased(matrix_view(p.data(), rows, columns), policy_bias),
                     biased(matrix_view(q.data(), rows, columns), reference_bias), labels, kl, d,
                     options);
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += upstream[i] * kl[i];
    return sum;
}

template <class Divergence>
void check(char const* name, Divergence const& d, token_options const& options) {
    std::vector<double> dp(policy.size());
    std::vector<double> dq(policy.size());
    prefer::token_kl_backward(biased(matrix_view(policy.data(), rows, columns), policy_bias),
                              biased(matrix_view(reference.data(), rows, columns), reference_bias),
                              labels, upstream,
                              prefer::token_kl_gradients(matrix_view(dp.data(), rows, columns))
                                  .with_reference(matrix_view(dq.data(), rows, columns)),
                              d, options);
    for (std::size_t i = 0; i < policy.size(); ++i) {
        CAPTURE(name, i, options.temperature, options.soft_cap, options.vocabulary);
        auto const along_policy = [&](double value) {
            std::vector<double> moved = policy;
            moved[i] = value;
            return scalar(moved, reference, d, options);
        };
        auto const along_reference = [&](double value) {
            std::vector<double> moved = reference;
            moved[i] = value;
            return scalar(policy, moved, d, options);
        };
        CHECK_CLOSE(dp[i], derivative(along_policy, policy[i]).value, family::finite_difference);
        CHECK_CLOSE(dq[i], derivative(along_reference, reference[i]).value,
                    family::finite_difference);
    }
}

TEST_CASE("the backward of each divergence is its derivative") {
    for (token_options const& options :
         {token_options{}, token_options{.temperature = 0.7},
          token_options{.temperature = 2, .logit_scale = 1.5, .soft_cap = 3},
          token_options{.vocabulary = 4}}) {
        check("reverse_kl", divergence::reverse_kl{}, options);
        check("forward_kl", divergence::forward_kl{}, options);
        check("jensen_shannon", divergence::jensen_shannon{}, options);
        for (double const order : {0.0, 1e-6, 0.25, 0.5, 0.75, 1 - 1e-6, 1.0}) {
            CAPTURE(order);
            check("alpha", divergence::alpha{.order = order}, options);
        }
    }
}

}  // namespace
