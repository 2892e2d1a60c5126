// SPDX-License-Identifier: MIT
#include <prefer/logprob/linear_pair_chunks.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <prefer/core/pair_batch.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>

#include <support/catch.hpp>
#include <support/compare.hpp>

namespace {

using prefer::linear_head;
using prefer::matrix_view;
using prefer::pair_chunk;
using prefer::vector_view;
using prefer::test::family;

constexpr std::size_t rows = 14;
constexpr std::size_t size = 3;
constexpr std::size_t vocabulary = 6;

/// Three pairs, of halves: sequences of 3, 2, 2, then 3, 1, 3 tokens.
struct batch {
    std::vector<int> offsets{0, 3, 5, 7, 10, 11, 14};
    std::vector<int> labels{-100, 3, 0, 1, 5, -100, 2, 4, 4, -100, 0, 1, 2, 3};
    std::vector<double> hidden, weight, reference_chosen{-4, -3, -2},
        reference_rejected{-4, -2, -5};
    std::vector<double> d_hidden, d_weight, d_bias, buffer;

    batch()
        : hidden(rows * size), weight(vocabulary * size), d_hidden(rows * size, 9.0),
          d_weight(vocabulary * size, 9.0), d_bias(vocabulary, 9.0), buffer(rows * vocabulary) {
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            hidden[i] = std::sin(static_cast<double>(i * i + 1));
        }
        for (std::size_t i = 0; i < weight.size(); ++i) {
            weight[i] = std::cos(static_cast<double>(3 * i + 2));
        }
    }

    matrix_view<double const> x() const { return {hidden.data(), rows, size}; }
    matrix_view<double const> w() const { return {weight.data(), vocabulary, size}; }
    matrix_view<double> dx() { return {d_hidden.data(), rows, size}; }
    auto d_head() { return linear_head(matrix_view(d_weight.data(), vocabulary, size), d_bias); }

    auto reference(std::vector<double> const& all, pair_chunk const& c) const {
        return vector_view<double const>(all.data(), all.size()).slice(c.first, c.size);
    }
};

TEST_CASE("dpo over chunks has the loss and the gradients of the batch at once") {
    batch whole;
    std::vector<double> token(rows), sequence(6), d_sequence(6), d_token(rows);
    prefer::linear_token_log_probs(whole.x(), whole.w(), whole.labels, token);
    prefer::sequence_sum(token, whole.offsets, sequence);
    vector_view<double> const all(sequence.data(), 6);
    vector_view<double> const d_all(d_sequence.data(), 6);
    auto const at_once =
        prefer::evaluate_pairs(prefer::loss::dpo{.beta = 0.5},
                               prefer::pair_batch{all.slice(0, 3), all.slice(3, 3),
                                                  whole.reference_chosen, whole.reference_rejected},
                               prefer::pair_gradients{d_all.slice(0, 3), d_all.slice(3, 3)});
    prefer::sequence_sum_backward(d_sequence, whole.offsets, d_token);
    prefer::linear_token_log_probs_backward(whole.x(), whole.w(), whole.labels, d_token, whole.dx(),
                                            whole.d_head());

    for (std::size_t const room : {4U, 7U, 11U, 14U}) {
        CAPTURE(room);
        batch b;
        b.buffer.resize(room * vocabulary);
        double loss = 0;
        auto const counts = prefer::linear_pair_chunks(
            b.x(), b.w(), b.labels, b.offsets, b.buffer,
            [&](pair_chunk const& c) {
                prefer::pair_batch const pairs{c.chosen, c.rejected,
                                               b.reference(b.reference_chosen, c),
                                               b.reference(b.reference_rejected, c)};
                prefer::pair_gradients const grad{c.d_chosen, c.d_rejected};
                loss += prefer::evaluate_pairs(prefer::loss::dpo{.beta = 0.5}, pairs, grad,
                                               {.normalizer = 3})
                            .loss;
            },
            b.dx(), b.d_head());
        CHECK(counts.tokens.scored == 11);
        CHECK(counts.tokens.ignored == 3);
        CHECK(counts.chunks == (room == 4 ? 3U : room == 7 ? 2U : 1U));
        CHECK_CLOSE(loss, at_once.loss, family::gradient);
        CHECK_CLOSE(b.d_hidden, whole.d_hidden, family::gradient);
        CHECK_CLOSE(b.d_weight, whole.d_weight, family::gradient);
        CHECK_CLOSE(b.d_bias, whole.d_bias, family::gradient);
    }
}

auto const one = [](pair_chunk const& c) {
    for (std::size_t i = 0; i < c.size; ++i) c.d_chosen[i] = c.d_rejected[i] = 1;
};

TEST_CASE("tokens that the layout does not count are not scored") {
    batch b;
    std::vector<int> mask(rows, 1);
    mask[1] = 0;
    auto masked = b.labels;
    masked[1] = -100;
    batch by_label;
    auto const layout = prefer::packed(b.offsets).with_mask(mask);
    auto const counts = prefer::linear_pair_chunks(b.x(), b.w(), b.labels, layout, b.buffer, one,
                                                   b.dx(), b.d_head());
    CHECK(counts.tokens.scored == 10);
    CHECK(counts.tokens.ignored == 4);
    prefer::linear_pair_chunks(b.x(), b.w(), masked, b.offsets, b.buffer, one, by_label.dx(),
                               by_label.d_head());
    CHECK_SAME_BITS(b.d_hidden, by_label.d_hidden);
    CHECK_SAME_BITS(b.d_weight, by_label.d_weight);
}

TEST_CASE("a loss that writes no derivative shows: it is NaN, not 0") {
    batch b;
    prefer::linear_pair_chunks(
        b.x(), b.w(), b.labels, b.offsets, b.buffer, [](pair_chunk const&) {}, b.dx(), b.d_head());
    CHECK(std::isnan(b.d_hidden[size]));
    CHECK(std::isnan(b.d_weight[0]));
    CHECK_SAME_BITS(b.d_hidden[0], 0.0);  // an ignored row all the same
}

TEST_CASE("no gradient, no pair, or no token: exact zeros") {
    batch b;
    auto const none = [](pair_chunk const& c) {
        for (std::size_t i = 0; i < c.size; ++i) c.d_chosen[i] = c.d_rejected[i] = 0;
    };
    prefer::linear_pair_chunks(b.x(), b.w(), b.labels, b.offsets, b.buffer, none, b.dx(),
                               b.d_head());
    CHECK_SAME_BITS(b.d_hidden, std::vector<double>(rows * size, 0.0));
    CHECK_SAME_BITS(b.d_weight, std::vector<double>(vocabulary * size, 0.0));
    CHECK_SAME_BITS(b.d_bias, std::vector<double>(vocabulary, 0.0));

    batch ignored;
    ignored.labels.assign(rows, -100);
    std::size_t seen = 0;
    auto const look = [&](pair_chunk const& c) {
        seen += c.size;
        for (std::size_t i = 0; i < c.size; ++i) {
            CHECK_SAME(c.chosen[i], 0.0);
            CHECK_SAME(c.chosen_length[i], 0U);
            c.d_chosen[i] = c.d_rejected[i] = 1;
        }
    };
    prefer::linear_pair_chunks(ignored.x(), ignored.w(), ignored.labels, ignored.offsets, b.buffer,
                               look, ignored.dx(), ignored.d_head());
    CHECK(seen == 3);
    CHECK_SAME_BITS(ignored.d_weight, std::vector<double>(vocabulary * size, 0.0));

    batch empty;
    std::vector<int> const no_offsets{0};
    std::vector<int> const no_labels{};
    auto const counts = prefer::linear_pair_chunks(
        matrix_view<double const>(empty.hidden.data(), 0, size), empty.w(), no_labels, no_offsets,
        empty.buffer, look, matrix_view<double>(empty.d_hidden.data(), 0, size), empty.d_head());
    CHECK(counts.chunks == 0);
    CHECK_SAME_BITS(empty.d_weight, std::vector<double>(vocabulary * size, 0.0));
}

TEST_CASE("gradients are added to on request, or not made") {
    batch written;
    prefer::linear_pair_chunks(written.x(), written.w(), written.labels, written.offsets,
                               written.buffer, one, written.dx(), written.d_head());
    batch b;
    b.buffer.resize(7 * vocabulary);
    prefer::linear_pair_chunks(b.x(), b.w(), b.labels, b.offsets, b.buffer, one, b.dx(), b.d_head(),
                               {.accumulate_hidden = true, .accumulate_head = true});
    for (double& d : written.d_hidden) d += 9;
    for (double& d : written.d_weight) d += 9;
    CHECK_CLOSE(b.d_hidden, written.d_hidden, family::gradient);
    CHECK_CLOSE(b.d_weight, written.d_weight, family::gradient);
    batch frozen;
    prefer::linear_pair_chunks(frozen.x(), frozen.w(), frozen.labels, frozen.offsets, frozen.buffer,
                               one, frozen.dx(), prefer::no_gradient{},
                               {.accumulate_hidden = true});
    CHECK_CLOSE(frozen.d_hidden, written.d_hidden, family::gradient);
}

TEST_CASE("errors come before anything is written, and those of the loss pass through") {
    batch b;
    auto const call = [&](auto const& offsets, auto& buffer) {
        prefer::linear_pair_chunks(b.x(), b.w(), b.labels, offsets, buffer, one, b.dx(),
                                   b.d_head());
    };
    CHECK_THROWS_MESSAGE(call(std::vector<int>{0, 7, 10, 14}, b.buffer), prefer::shape_error,
                         "prefer::linear_pair_chunks: the layout has 3 sequences, but must have "
                         "two for each pair");
    CHECK_THROWS_MESSAGE(call(std::vector<int>{0, 7, 13}, b.buffer), prefer::shape_error,
                         "labels has size 14, but the layout has size 13");
    std::vector<double> small(23);
    CHECK_THROWS_MESSAGE(call(b.offsets, small), prefer::shape_error,
                         "prefer::linear_pair_chunks: the buffer has size 23, but pair 0 has 4 "
                         "scored rows of 6 logits, which need 24");
    vector_view<double> gaps(b.buffer.data(), 30, 2);
    CHECK_THROWS_MESSAGE(call(b.offsets, gaps), prefer::shape_error,
                         "the buffer must be contiguous");
    CHECK_SAME(b.d_hidden, std::vector<double>(rows * size, 9.0));
    CHECK_SAME(b.d_weight, std::vector<double>(vocabulary * size, 9.0));
    CHECK_THROWS_AS(prefer::linear_pair_chunks(
                        b.x(), b.w(), b.labels, b.offsets, b.buffer,
                        [](pair_chunk const&) { throw std::runtime_error("the loss"); }, b.dx(),
                        b.d_head()),
                    std::runtime_error);
}

}  // namespace
