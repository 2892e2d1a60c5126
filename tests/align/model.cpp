// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/environment.hpp"

#include "align/model.hpp"

#include <prefer/prefer.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using namespace align;

/// Three sequences over a small vocabulary, one of them shorter than the window.
struct fixture {
    std::vector<token> tokens{0, 4, 1, 2, 3, 0, 1, 4, 4, 0, 2};
    std::vector<std::int64_t> offsets{0, 5, 7, 11};
    std::vector<token> labels = std::vector<token>(11);
    model_shape shape{
        .inputs = 6, .outputs = 4, .window = 3, .embedding = 3, .hidden = 5, .padding = 5};

    fixture() {
        std::vector<std::int64_t> const prompts{2, 0, 2};
        prefer::next_token_labels(tokens, offsets, prompts, labels);
    }

    /// A smooth function of the token log-probs with weights that differ.
    template <class Scalar>
    double loss(model<Scalar> const& m, parameter_vector<Scalar> const& p, workers const& on,
                parameter_vector<Scalar>* gradient = nullptr) const {
        typename model<Scalar>::activations a;
        m.fill_contexts(tokens, offsets, a);
        m.forward(p, a, on);
        std::vector<Scalar> log_probs(tokens.size());
        std::vector<Scalar> d_log_probs(tokens.size());
        prefer::matrix_view const hidden(a.hidden.data(), tokens.size(), shape.hidden);
        auto const head = [&](auto& parameters) {
            auto weight = m.head(parameters);
            return prefer::linear_head(
                prefer::matrix_view(weight.data(), shape.outputs, shape.hidden, 1, 4),
                prefer::vector_view(m.head_bias(parameters).data(), shape.outputs));
        };
        prefer::linear_token_log_probs(hidden, head(p), labels, log_probs);
        double sum = 0;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            double const l = static_cast<double>(log_probs[i]);
            double const w = 1 + 0.25 * static_cast<double>(i);
            sum += w * l * l;
            d_log_probs[i] = static_cast<Scalar>(2 * w * l);
        }
        if (gradient != nullptr) {
            gradient->resize(p.size());
            prefer::matrix_view const d_hidden(a.d_hidden.data(), tokens.size(), shape.hidden);
            prefer::linear_token_log_probs_backward(hidden, head(p), labels, d_log_probs, d_hidden,
                                                    head(*gradient));
            m.backward(p, a, *gradient, on);
        }
        return sum;
    }
};

}  // namespace

TEST_CASE("the model's gradient is that of central differences") {
    fixture const f;
    model<double> const m(f.shape);
    workers const on(1);
    auto p = m.initial_parameters(prefer::philox(prefer::test::seed()));
    parameter_vector<double> gradient;
    f.loss(m, p, on, &gradient);
    REQUIRE(static_cast<std::size_t>(gradient.size()) == m.parameter_count());
    for (Eigen::Index i = 0; i < p.size(); ++i) {
        double const at = p[i];
        double const h = 1e-4;
        auto const value = [&](double x) {
            p[i] = x;
            return f.loss(m, p, on);
        };
        double const near = (value(at + h) - value(at - h)) / (2 * h);
        double const far = (value(at + 2 * h) - value(at - 2 * h)) / (4 * h);
        p[i] = at;
        double const estimate = near + (near - far) / 3;
        CAPTURE(i, estimate, gradient[i]);
        REQUIRE(std::abs(gradient[i] - estimate) < 1e-7 * (1 + std::abs(estimate)));
    }
}

TEST_CASE("results depend on neither the threads nor the rest of the batch") {
    fixture const f;
    model<float> const m(f.shape);
    auto const p = m.initial_parameters(prefer::philox(prefer::test::seed()));
    // Enough copies for several blocks of rows.
    fixture many = f;
    many.tokens.clear();
    many.offsets = {0};
    many.labels.clear();
    for (int copy = 0; copy < 101; ++copy) {
        auto const start = static_cast<std::int64_t>(many.tokens.size());
        many.tokens.insert(many.tokens.end(), f.tokens.begin(), f.tokens.end());
        many.labels.insert(many.labels.end(), f.labels.begin(), f.labels.end());
        for (std::size_t b = 1; b < f.offsets.size(); ++b) {
            many.offsets.push_back(start + f.offsets[b]);
        }
    }
    parameter_vector<float> one;
    parameter_vector<float> four;
    CHECK(many.loss(m, p, workers(1), &one) == many.loss(m, p, workers(4), &four));
    CHECK((one.array() == four.array()).all());

    model<float>::activations few;
    model<float>::activations all;
    m.fill_contexts(f.tokens, f.offsets, few);
    m.forward(p, few, workers(1));
    m.fill_contexts(many.tokens, many.offsets, all);
    m.forward(p, all, workers(2));
    Eigen::Index const rows = index(f.tokens.size());
    for (Eigen::Index copy = 0; copy < 101; ++copy) {
        REQUIRE(
            (all.hidden.middleRows(copy * rows, rows).array() == few.hidden.topRows(rows).array())
                .all());
    }
}

TEST_CASE("what a worker throws arrives") {
    for (std::size_t threads : {1U, 3U}) {
        CHECK_THROWS_AS(workers(threads).for_each(100,
                                                  [](std::size_t i) {
                                                      if (i == 50) throw std::length_error("50");
                                                  }),
                        std::length_error);
    }
}
