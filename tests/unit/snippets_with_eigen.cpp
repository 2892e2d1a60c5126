// The examples in the headers' comments, word for word: tests/cmake/snippets.sh checks that they
// stand here, this file that they compile and do what they say.

#include <vector>

#include <prefer/backend/eigen.hpp>
#include <prefer/logprob/linear_pair_chunks.hpp>
#include <prefer/logprob/linear_token_log_probs.hpp>
#include <prefer/prefer.hpp>

#include "support/catch.hpp"
#include "support/compare.hpp"

using prefer::test::family;

TEST_CASE("the example of dual") {
    auto x = prefer::math::dual<double>::variable(0.6);
    auto y = prefer::math::softplus(-x);  // y.value, y.gradient[0] = -sigmoid(-0.6)

    CHECK_CLOSE(y.value, 0.437487950485, family::quoted);
    CHECK_CLOSE(y.gradient[0], -0.354343693774, family::quoted);
}

TEST_CASE("the example of philox") {
    prefer::philox rng(42);  // seed 42, stream 0
    double u = prefer::uniform01<double>(rng);

    CHECK(u >= 0);
    CHECK(u < 1);
    CHECK(rng.save() == prefer::philox::state{42, 0, 2});
}

TEST_CASE("the example of pair_batch") {
    std::vector<float> const policy_chosen{-1, -2}, policy_rejected{-3, -4};
    std::vector<float> const reference_chosen{-2, -2}, reference_rejected{-2, -2}, w{0, 2};
    std::vector<int> const length_chosen{1, 2}, length_rejected{2, 1};

    prefer::pair_batch batch{policy_chosen, policy_rejected, reference_chosen, reference_rejected};
    auto averaged = batch.with_lengths(length_chosen, length_rejected).with_weights(w);

    CHECK(averaged.length_chosen[1] == 2);
    CHECK(averaged.weights[1] == 2.0F);
    CHECK(averaged.policy_rejected.data() == policy_rejected.data());
}

TEST_CASE("the example of token_log_probs") {
    Eigen::MatrixXf const logits = Eigen::MatrixXf::Zero(2, 4);
    std::vector<int> const labels{0, 3};
    std::vector<float> token_logp(2);

    prefer::token_log_probs(logits, labels, token_logp);
    prefer::token_log_probs(prefer::backend::eigen{.threads = 2}, logits, labels, token_logp);

    CHECK_CLOSE(token_logp[1], -1.386294361119890618834464, family::log_prob);
}

TEST_CASE("the examples of token_outputs") {
    Eigen::MatrixXf const logits = Eigen::MatrixXf::Zero(2, 4);
    std::vector<int> const labels{0, 3};
    std::vector<float> token_logp(2), entropy(2), hits(2), d_token_logp{1, 2};
    std::vector<prefer::row_normalizer<float>> kept(2);
    Eigen::MatrixXf d_logits(2, 4);

    prefer::token_outputs const outputs =
        prefer::token_outputs(token_logp).with_entropy(entropy).with_hits(hits);
    prefer::token_log_probs(logits, labels, outputs);

    CHECK_CLOSE(entropy[1], 1.386294361119890618834464, family::log_prob);
    CHECK(hits[0] == 1);

    prefer::token_outputs const keeping = prefer::token_outputs(token_logp).with_normalizers(kept);
    prefer::token_log_probs(logits, labels, keeping);
    prefer::token_log_probs_backward(logits, labels, d_token_logp, kept, d_logits);

    CHECK_CLOSE(d_logits(1, 3), 1.5, family::gradient);
}

TEST_CASE("the example of the logprob family") {
    // Two sequences of three tokens; the first of each is the prompt.
    Eigen::MatrixXd const logits = Eigen::MatrixXd::Zero(6, 4);
    std::vector<int> const tokens{0, 1, 2, 3, 2, 1}, offsets{0, 3, 6}, prompt_lengths{1, 1};
    std::vector<long> labels(6);
    std::vector<double> token_logp(6), sequence_logp(2), d_token_logp(6);
    std::vector<double> const d_sequence_logp{1, -1};
    Eigen::MatrixXd d_logits(6, 4);

    prefer::next_token_labels(tokens, offsets, prompt_lengths, labels);  // the shift by one
    prefer::token_log_probs(logits, labels, token_logp);                 // [N, V] -> [N]
    prefer::sequence_sum(token_logp, offsets, sequence_logp);            // [N] -> [B]
    // … a loss gives d_sequence_logp [B] …
    prefer::sequence_sum_backward(d_sequence_logp, offsets, d_token_logp);     // [B] -> [N]
    prefer::token_log_probs_backward(logits, labels, d_token_logp, d_logits);  // [N] -> [N, V]

    CHECK_CLOSE(sequence_logp[0], 2 * -1.386294361119890618834464, family::log_prob);
    CHECK_CLOSE(d_logits(0, 1), 0.75, family::gradient);
    CHECK_CLOSE(d_logits(3, 1), 0.25, family::gradient);
    CHECK_CLOSE(d_logits(5, 1), 0.0, family::exact);
}

TEST_CASE("the example of pair_loss") {
    prefer::pair<double> const p{.chosen = {.policy = -1, .reference = -3},
                                 .rejected = {.policy = -2, .reference = -2}};

    auto cubic = [](auto const& pair) {
        auto gap = 1 - 0.1 * pair.margin();
        return gap * gap * gap;
    };
    auto [value, d_chosen, d_rejected] = prefer::loss::value_and_grad(cubic, p);

    CHECK_CLOSE(value, 0.512, family::elementwise);
    CHECK_CLOSE(d_chosen, -0.192, family::gradient);
    CHECK_CLOSE(d_rejected, 0.192, family::gradient);
}

TEST_CASE("the example of evaluate_pairs") {
    std::vector<double> const x(2, -1.0);
    std::vector<double> d(2), e(2);
    prefer::pair_batch batch{x, x, x, x};
    prefer::pair_gradients grad{d, e};

    auto s = prefer::evaluate_pairs(prefer::loss::dpo{}, batch, grad, {.normalizer = 64});

    CHECK_CLOSE(s.loss, 2 * 0.693147180559945309417232 / 64, family::elementwise);
}

TEST_CASE("the examples of example_batch, kto and evaluate_examples") {
    std::vector<double> const policy{-1, -2}, reference{-1, -2}, w{1, 1};
    std::vector<int> const labels{1, 0};
    std::vector<double> d(2);
    {
        prefer::example_batch batch{policy, reference};
        auto labelled = batch.with_labels(labels).with_weights(w);

        CHECK(labelled.labels[0] == 1);
        CHECK(labelled.size() == 2);
    }
    prefer::example_gradients const gradients{d};
    prefer::loss::kto_reference_point point;

    prefer::example_batch batch{policy, reference};
    prefer::loss::kto loss{.reference_point = point.value()};
    auto s = prefer::evaluate_examples(loss, batch.with_labels(labels), gradients);

    CHECK_CLOSE(s.loss, 0.5, family::gradient);
    CHECK_CLOSE(d[1], 0.1 * 0.25 / 2, family::gradient);
}

TEST_CASE("the example of chosen_examples and rejected_examples") {
    using prefer::evaluate_examples, prefer::chosen_examples, prefer::rejected_examples;
    using prefer::example_gradients, prefer::example_options;
    std::vector<double> const x(3, -1.0);
    std::vector<double> dc(3), dr(3);
    double const pairs = 3;
    prefer::pair_batch const batch{x, x, x, x};
    prefer::loss::apo_zero_unpaired const loss{};

    example_options mean{.normalizer = 2 * pairs};  // over both sides
    auto a = evaluate_examples(loss, chosen_examples(batch), example_gradients{dc}, mean);
    auto b = evaluate_examples(loss, rejected_examples(batch), example_gradients{dr}, mean);

    CHECK_CLOSE(a.loss + b.loss, 0.5, family::gradient);
    CHECK_CLOSE(dc[0], -dr[0], family::gradient);
}

TEST_CASE("the example of length_desensitized_sum") {
    std::vector<double> const chosen_tokens{-1, -2, -4}, rejected_tokens{-1};
    std::vector<int> const chosen_offsets{0, 3}, rejected_offsets{0, 1};
    std::vector<double> chosen_logp(1), rejected_logp(1);

    prefer::length_desensitized_sum(chosen_tokens, chosen_offsets, rejected_offsets, chosen_logp,
                                    {.alpha = 0.5});
    prefer::length_desensitized_sum(rejected_tokens, rejected_offsets, chosen_offsets,
                                    rejected_logp, {.alpha = 0.5});

    CHECK_SAME(chosen_logp[0], -4.0);
    CHECK_SAME(rejected_logp[0], -1.0);
}

TEST_CASE("the example of aot_quantiles") {
    std::vector<double> const pc{-1, -2}, pr{-3, -3}, rc{-1, -1}, rr{-2, -4};
    std::vector<double> offsets(2), dc(2), dr(2);
    prefer::pair_batch const batch{pc, pr, rc, rr};
    prefer::pair_gradients const gradients{dc, dr};
    prefer::pair_options const options{.normalizer = 2};
    using prefer::evaluate_pairs;

    // clang-format off
    prefer::loss::aot_quantiles quantiles;
    auto first = quantiles.add(batch);          // for each micro-batch
    quantiles.offsets(batch, first, offsets);   // for each micro-batch, when all are added
    evaluate_pairs(prefer::loss::aot{}, batch.with_offsets(offsets), gradients, options);
    // clang-format on

    CHECK_SAME(offsets[0], 3.0);
    CHECK_SAME(offsets[1], 1.0);
}

TEST_CASE("the example of aot_partners") {
    std::vector<double> const policy{-1, -2}, reference{-2, -4};
    std::vector<int> const labels{1, 0};
    std::vector<double> partners(2), d(2);
    auto const batch = prefer::example_batch{policy, reference}.with_labels(labels);
    prefer::example_gradients const gradients{d};
    using prefer::evaluate_examples;

    // clang-format off
    prefer::loss::aot_partners couples;
    auto place = couples.add(batch);              // for each micro-batch
    couples.partners(batch, place, partners);     // for each micro-batch, when all are added
    evaluate_examples(prefer::loss::aot_unpaired{}, batch.with_scores(partners), gradients,
                      {.normalizer = couples.couples()});   // the mean over couples
    // clang-format on

    CHECK_SAME(partners[0], 2.0);
    CHECK_SAME(partners[1], 1.0);
}

TEST_CASE("the example of curvature") {
    prefer::pair<double> const p{.chosen = {.policy = -1, .reference = -1},
                                 .rejected = {.policy = -2, .reference = -2}};

    auto [value, slope, curvature] = prefer::loss::curvature(prefer::loss::dpo{.beta = 0.1}, p);
    // slope = -β·σ(-z), curvature = β²·σ(z)·σ(-z)

    CHECK_CLOSE(value, 0.693147180559945309417232, family::elementwise);
    CHECK_CLOSE(slope, -0.05, family::gradient);
    CHECK_CLOSE(curvature, 0.0025, family::gradient);
}

TEST_CASE("the example of evaluate_lists") {
    std::vector<double> const policy{-1, -2, -3}, reference{-1, -2, -3};
    std::vector<int> const offsets{0, 3};
    std::vector<double> d_policy(3);

    prefer::list_batch batch{policy, reference, offsets};
    auto s = prefer::evaluate_lists(prefer::loss::plackett_luce{}, batch,
                                    prefer::list_gradients{d_policy});

    CHECK_CLOSE(s.loss, 1.79175946922805500, family::gradient);  // log 3!
}

TEST_CASE("the examples of with_divergence and mixture") {
    prefer::pair<double> const p{.chosen = {.policy = -1, .reference = -1},
                                 .rejected = {.policy = -2, .reference = -2}};
    {
        auto const loss = prefer::loss::with_divergence{prefer::loss::dpo{.beta = 0.1},
                                                        prefer::loss::divergence::jensen_shannon{}};

        CHECK_CLOSE(loss(p), 0.693147180559945309417232, family::elementwise);
    }
    prefer::loss::mixture const loss{prefer::loss::weighted{prefer::loss::dpo{}, 0.8},
                                     prefer::loss::weighted{prefer::loss::hinge_norm{}, 0.2}};

    CHECK_CLOSE(loss(p), 0.8 * 0.693147180559945309417232 + 0.2, family::elementwise);
}

TEST_CASE("the examples of linear_token_log_probs and its backward") {
    std::vector<float> const x{1, -1}, w{0.5F, 0.25F, -1}, b(3, 0.0F), d_token_logp{1, 2};
    std::vector<float> token_logp(2), dx(2), dw(3), d_bias(3), buffer(6);
    std::vector<int> const labels{0, 2};
    prefer::matrix_view const hidden(x.data(), 2, 1);
    prefer::matrix_view const weight(w.data(), 3, 1);
    prefer::matrix_view const d_hidden(dx.data(), 2, 1);
    prefer::matrix_view const d_weight(dw.data(), 3, 1);
    auto const& bias = b;
    prefer::linear_head const head(weight, bias);
    prefer::linear_head const d_head(d_weight, d_bias);
    {
        prefer::linear_token_log_probs(hidden, head, labels, token_logp);
        prefer::linear_token_log_probs(prefer::backend::eigen{.threads = 2}, hidden, head, labels,
                                       token_logp, {.workspace_bytes = 1 << 24});
    }
    prefer::linear_token_log_probs_backward(hidden, head, labels, d_token_logp, d_hidden, d_head);
    std::vector<float> const recomputed = dw;

    prefer::linear_kept<float> kept(buffer);
    prefer::linear_token_log_probs(hidden, head, labels, token_logp, kept);
    prefer::linear_token_log_probs_backward(hidden, head, labels, d_token_logp, kept, d_hidden,
                                            d_head);

    for (std::size_t j = 0; j < 3; ++j) {
        CHECK_CLOSE(dw[j], static_cast<double>(recomputed[j]), family::product);
    }
}

TEST_CASE("the example of linear_pair_chunks") {
    std::vector<float> const x{1, -1}, w{0.5F, 0.25F, -1};
    std::vector<float> dx(2), dw(3), buffer(6);
    std::vector<int> const labels{0, 2}, offsets{0, 1, 2};
    std::vector<double> const r(1, -1.0);
    prefer::matrix_view const hidden(x.data(), 2, 1);
    prefer::matrix_view const head(w.data(), 3, 1);
    prefer::matrix_view const d_hidden(dx.data(), 2, 1);
    prefer::matrix_view const d_head(dw.data(), 3, 1);
    prefer::vector_view const reference_chosen(r.data(), 1);
    prefer::vector_view const reference_rejected(r.data(), 1);
    prefer::loss::dpo const dpo{.beta = 0.1};
    prefer::backend::eigen const on{};
    double loss = 0;
    double const pairs = 1;

    prefer::linear_pair_chunks(
        on, hidden, head, labels, offsets, buffer,
        [&](prefer::pair_chunk const& c) {
            prefer::pair_batch const batch{c.chosen, c.rejected,
                                           reference_chosen.slice(c.first, c.size),
                                           reference_rejected.slice(c.first, c.size)};
            prefer::pair_gradients const grad{c.d_chosen, c.d_rejected};
            loss += prefer::evaluate_pairs(dpo, batch, grad, {.normalizer = pairs}).loss;
        },
        d_hidden, d_head);

    CHECK(loss > 0.6);
    CHECK(loss < 0.8);
    CHECK(dw[0] < 0.0F);
}

TEST_CASE("the example of wpo_weights") {
    std::vector<double> const x(1, -1.0), chosen_token_logp{-1, -1}, rejected_token_logp{-2};
    std::vector<int> const chosen_offsets{0, 2}, rejected_offsets{0, 1};
    std::vector<double> weights(1), d(1), e(1);
    prefer::pair_batch const batch{x, x, x, x};
    prefer::pair_gradients const grad{d, e};

    using prefer::loss::wpo_tokens;
    prefer::loss::wpo_weights(wpo_tokens{chosen_token_logp, chosen_offsets},
                              wpo_tokens{rejected_token_logp, rejected_offsets}, weights);
    prefer::evaluate_pairs(prefer::loss::dpo{}, batch.with_weights(weights), grad);

    CHECK_CLOSE(weights[0], 0.0497870683678639429793, family::elementwise);  // e^-3
}
