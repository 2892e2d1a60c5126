// SPDX-License-Identifier: MIT
// Hidden states and a head to token log-probs, sequence sums and the loss of dpo, and back, against
// central differences of the whole chain.
#include <prefer/logprob/linear_pair_chunks.hpp>
#include <prefer/logprob/linear_token_log_probs.hpp>

#include <cmath>
#include <vector>

#include <prefer/core/pair_batch.hpp>
#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>
#include <support/finite_difference.hpp>

namespace {

using prefer::linear_head;
using prefer::linear_options;
using prefer::matrix_view;
using prefer::vector_view;
using prefer::test::family;

constexpr std::size_t rows = 9;
constexpr std::size_t size = 3;
constexpr std::size_t vocabulary = 5;

std::vector<int> const offsets{0, 3, 5, 7, 9};  // chosen 0 and 1, rejected 0 and 1
std::vector<int> const labels{-100, 3, 0, 1, 2, 0, 3, 2, -100};
std::vector<double> const reference{-3, -2.5, -4, -1};

struct model {
    std::vector<double> hidden, weight, bias;

    model() : hidden(rows * size), weight(vocabulary * size), bias(vocabulary) {
        double k = 0;
        for (auto* const v : {&hidden, &weight, &bias}) {
            for (double& x : *v) x = 1.5 * std::sin(7 * ++k);
        }
    }
    matrix_view<double const> x() const { return {hidden.data(), rows, size}; }
    matrix_view<double const> w() const { return {weight.data(), vocabulary, size}; }
};

/// The loss of dpo, with its gradient by sequence in `d`.
double loss_of(std::vector<double> const& sequence, std::vector<double>& d) {
    vector_view<double const> const s(sequence.data(), 4);
    vector_view<double const> const r(reference.data(), 4);
    vector_view<double> const g(d.data(), 4);
    return prefer::evaluate_pairs(
               prefer::loss::dpo{.beta = 0.4},
               prefer::pair_batch{s.slice(0, 2), s.slice(2, 2), r.slice(0, 2), r.slice(2, 2)},
               prefer::pair_gradients{g.slice(0, 2), g.slice(2, 2)})
        .loss;
}

double chain(model const& m, linear_options const& options, std::vector<double>& d_token) {
    std::vector<double> token(rows), sequence(4), d_sequence(4);
    prefer::linear_token_log_probs(m.x(), linear_head(m.w(), m.bias), labels, token, options);
    prefer::sequence_sum(token, offsets, sequence);
    double const loss = loss_of(sequence, d_sequence);
    prefer::sequence_sum_backward(d_sequence, offsets, d_token);
    return loss;
}

TEST_CASE("the backward of the chain is its derivative") {
    for (prefer::token_options const tokens :
         {prefer::token_options{}, prefer::token_options{.temperature = 0.7},
          prefer::token_options{.logit_scale = 1.6, .soft_cap = 2, .vocabulary = 4},
          prefer::token_options{.temperature = 1.4, .soft_cap = 3}}) {
        model const m;
        linear_options const options{.tokens = tokens, .workspace_bytes = 1000};
        std::vector<double> d_token(rows), d_hidden(m.hidden.size()), d_weight(m.weight.size()),
            d_bias(m.bias.size());
        chain(m, options, d_token);
        prefer::linear_token_log_probs_backward(
            m.x(), linear_head(m.w(), m.bias), labels, d_token,
            matrix_view(d_hidden.data(), rows, size),
            linear_head(matrix_view(d_weight.data(), vocabulary, size), d_bias), options);

        auto const check = [&](char const* what, std::vector<double> model::* part,
                               std::vector<double> const& d) {
            for (std::size_t i = 0; i < d.size(); ++i) {
                auto const along = [&](double value) {
                    model moved = m;
                    (moved.*part)[i] = value;
                    std::vector<double> unused(rows);
                    return chain(moved, options, unused);
                };
                CAPTURE(what, i, tokens.temperature, tokens.soft_cap);
                CHECK_CLOSE(d[i], prefer::test::derivative(along, (m.*part)[i]).value,
                            family::finite_difference);
            }
        };
        check("d_hidden", &model::hidden, d_hidden);
        check("d_weight", &model::weight, d_weight);
        check("d_bias", &model::bias, d_bias);

        // The same gradients, one pair at a time.
        std::vector<double> buffer(5 * vocabulary), by_chunks(m.hidden.size());
        prefer::linear_pair_chunks(
            m.x(), linear_head(m.w(), m.bias), labels, offsets, buffer,
            [&](prefer::pair_chunk const& c) {
                std::vector<double> sequence(4), d(4);
                for (std::size_t k = 0; k < c.size; ++k) {
                    sequence[c.first + k] = c.chosen[k];
                    sequence[2 + c.first + k] = c.rejected[k];
                }
                loss_of(sequence, d);  // a pair's gradient does not depend on the others
                for (std::size_t k = 0; k < c.size; ++k) {
                    c.d_chosen[k] = d[c.first + k];
                    c.d_rejected[k] = d[2 + c.first + k];
                }
            },
            matrix_view(by_chunks.data(), rows, size), prefer::no_gradient{}, options);
        CHECK_CLOSE(by_chunks, d_hidden, family::gradient);
    }
}

}  // namespace
