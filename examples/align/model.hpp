// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include <prefer/core/random.hpp>

#include "align/vocabulary.hpp"
#include "align/workers.hpp"

namespace align {

template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class Scalar>
using parameter_vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

inline Eigen::Index index(std::size_t i) {
    return static_cast<Eigen::Index>(i);
}

struct model_shape {
    std::size_t inputs = 0;   ///< tokens that can be read
    std::size_t outputs = 0;  ///< tokens that can be said: the first of the inputs
    std::size_t window = 16;  ///< tokens seen
    std::size_t embedding = 16;
    std::size_t hidden = 192;
    token padding = 0;  ///< what is seen before the first token
};

/// The trainer's language model; it knows nothing of the library.
///
///     x = embeddings of the last `window` tokens, one after the other
///     h = tanh(x·A + a),   logits = h·B + b
///
/// All parameters are one vector, which makes copies, optimisers and checkpoints one line each.
///
/// Rows are worked on in blocks of a fixed height, filled up with rows that nobody looks at, so
/// every product has the same shape whatever the batch and the number of threads are. Gradients of
/// blocks are added up in `lanes` sums, and these in order. So results depend on neither.
template <class Scalar>
class model {
public:
    /// What forward leaves for backward. The caller fills `contexts`, reads `hidden`, and before
    /// backward writes the gradient of its rows.
    struct activations {
        std::size_t rows = 0;
        std::vector<token> contexts;  ///< [rows, window]
        matrix<Scalar> hidden;        ///< h [rows and more, hidden]
        matrix<Scalar> d_hidden;      ///< [rows and more, hidden]

    private:
        friend class model;
        matrix<Scalar> seen;  // x
    };

    explicit model(model_shape const& shape) : shape_(shape) {
        auto const place = [this](std::size_t rows, std::size_t columns) {
            part const p{index(size_), index(rows), index(columns)};
            size_ += rows * columns;
            return p;
        };
        embedding_ = place(shape.inputs, shape.embedding);
        hidden_weights_ = place(shape.window * shape.embedding, shape.hidden);
        hidden_bias_ = place(1, shape.hidden);
        body_ = index(size_);
        head_ = place(shape.hidden, shape.outputs);
        head_bias_ = place(1, shape.outputs);
    }

    model_shape const& shape() const { return shape_; }
    std::size_t parameter_count() const { return size_; }

    /// Fresh parameters: uniform, with the variances usual for tanh; the head starts near zero, so
    /// that every token is about equally likely.
    parameter_vector<Scalar> initial_parameters(prefer::philox rng) const {
        parameter_vector<Scalar> p = parameter_vector<Scalar>::Zero(index(size_));
        auto const fill = [&](part const& where, double deviation) {
            for (Eigen::Index i = 0; i < where.rows * where.columns; ++i) {
                double const u = 2 * prefer::uniform01<double>(rng) - 1;
                p[where.first + i] = static_cast<Scalar>(std::sqrt(3.0) * deviation * u);
            }
        };
        fill(embedding_, 1);
        fill(hidden_weights_, 1 / std::sqrt(static_cast<double>(hidden_weights_.rows)));
        fill(head_, 0.1 / std::sqrt(static_cast<double>(head_.rows)));
        return p;
    }

    /// The contexts of packed sequences: row i sees tokens i - window + 1 to i of its own sequence.
    void fill_contexts(std::vector<token> const& tokens, std::vector<std::int64_t> const& offsets,
                       activations& a) const {
        std::size_t const window = shape_.window;
        a.rows = tokens.size();
        a.contexts.resize(a.rows * window);
        for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
            auto const first = static_cast<std::size_t>(offsets[b]);
            auto const last = static_cast<std::size_t>(offsets[b + 1]);
            for (std::size_t i = first; i < last; ++i) {
                for (std::size_t w = 0; w < window; ++w) {
                    std::size_t const back = window - 1 - w;
                    a.contexts[i * window + w] =
                        i - first >= back ? tokens[i - back] : shape_.padding;
                }
            }
        }
    }

    /// The output head B [hidden, outputs] and its bias b [1, outputs], in the parameters or in
    /// their gradient.
    template <class Parameters>
    auto head(Parameters& p) const {
        return at(p, head_);
    }
    template <class Parameters>
    auto head_bias(Parameters& p) const {
        return at(p, head_bias_);
    }

    /// The hidden states of `a.contexts`. Logits are formed where they are read, and not kept.
    void forward(parameter_vector<Scalar> const& p, activations& a, workers const& on) const {
        std::size_t const blocks = (a.rows + block - 1) / block;
        a.contexts.resize(blocks * block * shape_.window, shape_.padding);
        a.seen.resize(index(blocks * block), hidden_weights_.rows);
        a.hidden.resize(index(blocks * block), hidden_weights_.columns);
        a.d_hidden.resize(index(blocks * block), hidden_weights_.columns);
        auto const embedding = at(p, embedding_);
        auto const hidden_weights = at(p, hidden_weights_);
        auto const hidden_bias = at(p, hidden_bias_);
        Eigen::Index const width = embedding_.columns;

        on.for_each(blocks, [&](std::size_t number) {
            Eigen::Index const first = index(number * block);
            auto seen = a.seen.middleRows(first, index(block));
            auto hidden = a.hidden.middleRows(first, index(block));
            for (Eigen::Index i = 0; i < seen.rows(); ++i) {
                token const* const context = row_context(a, first + i);
                for (Eigen::Index w = 0; w < index(shape_.window); ++w) {
                    seen.row(i).segment(w * width, width) = embedding.row(context[w]);
                }
            }
            hidden.noalias() = seen * hidden_weights;
            hidden.rowwise() += hidden_bias.row(0);
            hidden = hidden.array().tanh();  // on packets; std::tanh takes a quarter of a run
        });
    }

    /// The logits of one row that went through `forward`.
    Eigen::Matrix<Scalar, 1, Eigen::Dynamic> logits(parameter_vector<Scalar> const& p,
                                                    activations const& a, std::size_t row) const {
        return a.hidden.row(index(row)) * head(p) + head_bias(p);
    }

    /// The gradient of the parameters before the head, from that of the hidden states
    /// (`a.d_hidden`, which is used up). The head's part of `gradient` [parameters] is left alone.
    void backward(parameter_vector<Scalar> const& p, activations& a,
                  parameter_vector<Scalar>& gradient, workers const& on) const {
        std::size_t const blocks = (a.rows + block - 1) / block;
        a.d_hidden.bottomRows(index(blocks * block - a.rows)).setZero();
        std::vector<parameter_vector<Scalar>> sums(std::min(lanes, blocks));
        on.for_each(sums.size(), [&](std::size_t lane) {
            sums[lane] = parameter_vector<Scalar>::Zero(body_);
            for (std::size_t number = lane; number < blocks; number += lanes) {
                backward_block(p, a, index(number * block), sums[lane]);
            }
        });
        gradient.head(body_).setZero();
        for (auto const& sum : sums) gradient.head(body_) += sum;
    }

private:
    static constexpr std::size_t block = 192;  // rows; a whole number of Eigen's register tiles
    static constexpr std::size_t lanes = 8;

    struct part {
        Eigen::Index first = 0;
        Eigen::Index rows = 0;
        Eigen::Index columns = 0;
    };

    static auto at(parameter_vector<Scalar> const& p, part const& where) {
        return Eigen::Map<matrix<Scalar> const>(p.data() + where.first, where.rows, where.columns);
    }
    static auto at(parameter_vector<Scalar>& p, part const& where) {
        return Eigen::Map<matrix<Scalar>>(p.data() + where.first, where.rows, where.columns);
    }

    token const* row_context(activations const& a, Eigen::Index row) const {
        return a.contexts.data() + static_cast<std::size_t>(row) * shape_.window;
    }

    void backward_block(parameter_vector<Scalar> const& p, activations& a, Eigen::Index first,
                        parameter_vector<Scalar>& sum) const {
        auto const seen = a.seen.middleRows(first, index(block));
        auto const hidden = a.hidden.middleRows(first, index(block));
        auto d_hidden = a.d_hidden.middleRows(first, index(block));
        auto d_embedding = at(sum, embedding_);
        auto d_hidden_bias = at(sum, hidden_bias_);

        d_hidden.array() *= Scalar(1) - hidden.array().square();  // through tanh
        for (Eigen::Index i = 0; i < d_hidden.rows(); ++i) d_hidden_bias += d_hidden.row(i);
        at(sum, hidden_weights_).noalias() += seen.transpose() * d_hidden;
        matrix<Scalar> const d_seen = d_hidden * at(p, hidden_weights_).transpose();
        Eigen::Index const width = embedding_.columns;
        for (Eigen::Index i = 0; i < d_seen.rows(); ++i) {
            token const* const context = row_context(a, first + i);
            for (Eigen::Index w = 0; w < index(shape_.window); ++w) {
                d_embedding.row(context[w]) += d_seen.row(i).segment(w * width, width);
            }
        }
    }

    model_shape shape_;
    std::size_t size_ = 0;
    Eigen::Index body_ = 0;  // parameters before the head
    part embedding_;
    part hidden_weights_;
    part hidden_bias_;
    part head_;
    part head_bias_;
};

}  // namespace align
