// The examples in the headers' comments, word for word: tests/cmake/snippets.sh checks that they
// stand here, this file that they compile and do what they say.

#include <vector>

#include <prefer/backend/eigen.hpp>
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
