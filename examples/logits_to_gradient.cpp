// The whole path that a trainer needs: logits -> token log-probs -> sequence log-probs -> loss, and
// back to the gradient of the logits, checked against a finite difference.

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

namespace {

constexpr std::size_t vocabulary = 5;

// One pair, packed: [prompt prompt chosen chosen chosen | prompt prompt rejected rejected].
constexpr std::array<int, 9> tokens{1, 2, 0, 3, 4, 1, 2, 4, 4};
constexpr std::array<int, 3> offsets{0, 5, 9};
constexpr std::array<int, 2> prompt_lengths{2, 2};

/// Loss of the pair, and its gradient with respect to every logit.
double pair_loss(std::vector<double> const& logits, std::vector<double>& d_logits) {
    prefer::matrix_view const x(logits.data(), tokens.size(), vocabulary);
    prefer::matrix_view const d_x(d_logits.data(), tokens.size(), vocabulary);

    // [docs] Labels: the shift by one, prompts left out.
    std::vector<std::int64_t> labels(tokens.size());
    prefer::next_token_labels(tokens, offsets, prompt_lengths, labels);
    auto const layout = prefer::packed(offsets).with_labels(labels);

    // Forward: [N, V] logits -> [N] token log-probs -> [2] sequence log-probs.
    std::vector<double> token_logp(tokens.size()), logp(2);
    prefer::token_log_probs(x, labels, token_logp);
    prefer::sequence_sum(token_logp, layout, logp);

    // The loss of the pair (chosen, rejected), against a reference of the same log-probs.
    prefer::vector_view const sequences(logp.data(), 2);
    std::vector<double> const reference{-5.0, -4.0};
    std::vector<double> d_logp(2), d_token_logp(tokens.size());
    prefer::vector_view const d_sequences(d_logp.data(), 2);
    prefer::pair_batch const batch{sequences.slice(0, 1), sequences.slice(1, 1),
                                   prefer::vector_view(reference.data(), 1),
                                   prefer::vector_view(reference.data() + 1, 1)};
    prefer::pair_gradients const gradients{d_sequences.slice(0, 1), d_sequences.slice(1, 1)};
    auto const summary = prefer::evaluate_pairs(prefer::loss::dpo{.beta = 0.5}, batch, gradients);

    // Backward: the same steps in reverse.
    prefer::sequence_sum_backward(d_logp, layout, d_token_logp);
    prefer::token_log_probs_backward(x, labels, d_token_logp, d_x);
    // [docs]
    return summary.loss;
}

}  // namespace

int main() {
    std::vector<double> logits(tokens.size() * vocabulary);
    prefer::philox rng(7);
    for (double& x : logits) x = 4 * prefer::uniform01<double>(rng) - 2;

    std::vector<double> gradient(logits.size()), unused(logits.size());
    double const loss = pair_loss(logits, gradient);

    double worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        double const step = 1e-5;
        auto moved = logits;
        moved[i] = logits[i] + step;
        double const above = pair_loss(moved, unused);
        moved[i] = logits[i] - step;
        double const below = pair_loss(moved, unused);
        worst = std::max(worst, std::abs((above - below) / (2 * step) - gradient[i]));
    }
    std::printf("loss %.6f; largest difference from a finite difference: %.1e\n", loss, worst);
    return worst < 1e-9 ? 0 : 1;
}
