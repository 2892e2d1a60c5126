// Losses made of losses: a mixture under another divergence, with a likelihood term, and with the
// weights of WPO for off-policy pairs. Gradients, metrics and checks follow from the parts.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

namespace {

namespace loss = prefer::loss;

double mean_over_tokens(std::vector<double> const& tokens, std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t t = first; t < last; ++t) sum += tokens[t];
    return sum / static_cast<double>(last - first);
}

}  // namespace

int main() {
    auto const composed = loss::with_nll{
        loss::mixture{loss::weighted{loss::with_divergence{loss::dpo{.beta = 0.1},
                                                           loss::divergence::jensen_shannon{}},
                                     0.8},
                      loss::weighted{loss::hinge_norm{.beta = 0.5}, 0.2}},
        0.1};

    // Three pairs, packed: 2, 3 and 1 tokens of the chosen, 3, 1 and 2 of the rejected responses.
    std::vector<std::size_t> const chosen_offsets{0, 2, 5, 6}, rejected_offsets{0, 3, 4, 6};
    std::vector<double> const chosen_tokens{-0.5, -1.5, -0.2, -0.4, -3.0, -0.7};
    std::vector<double> const rejected_tokens{-2.0, -0.1, -0.9, -1.1, -0.6, -4.0};
    std::vector<double> const reference_chosen{-2.5, -3.0, -1.0};
    std::vector<double> const reference_rejected{-2.0, -2.0, -4.1};

    std::vector<double> chosen(3), rejected(3), weights(3), d_chosen(3), d_rejected(3);
    std::vector<int> chosen_lengths(3), rejected_lengths(3);
    prefer::sequence_sum(chosen_tokens, chosen_offsets, chosen);
    prefer::sequence_sum(rejected_tokens, rejected_offsets, rejected);
    prefer::sequence_lengths(chosen_offsets, chosen_lengths);
    prefer::sequence_lengths(rejected_offsets, rejected_lengths);
    loss::wpo_weights(loss::wpo_tokens{chosen_tokens, chosen_offsets},
                      loss::wpo_tokens{rejected_tokens, rejected_offsets}, weights);

    auto const batch = prefer::pair_batch{chosen, rejected, reference_chosen, reference_rejected}
                           .with_lengths(chosen_lengths, rejected_lengths)
                           .with_weights(weights);
    auto const summary =
        prefer::evaluate_pairs(composed, batch, prefer::pair_gradients{d_chosen, d_rejected});
    std::printf("loss %.6f, accuracy %.3f, weights %.3f %.3f %.3f\n", summary.loss,
                summary.accuracy, weights[0], weights[1], weights[2]);

    // By hand.
    double by_hand = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        double const likelihood =
            mean_over_tokens(chosen_tokens, chosen_offsets[i], chosen_offsets[i + 1]);
        double const weight =
            std::exp(likelihood + mean_over_tokens(rejected_tokens, rejected_offsets[i],
                                                   rejected_offsets[i + 1]));
        double const dw = chosen[i] - reference_chosen[i];
        double const dl = rejected[i] - reference_rejected[i];
        double const divergence_margin = std::log(1 + std::exp(-dl)) - std::log(1 + std::exp(-dw));
        double const dpo = std::log(1 + std::exp(-0.1 * divergence_margin));
        double const hinge = std::max(0.0, 1 - 0.5 * (dw - dl));
        by_hand += weight * (0.8 * dpo + 0.2 * hinge - 0.1 * likelihood) / 3;
    }
    bool right = std::abs(summary.loss - by_hand) < 1e-14;

    // The gradient, against a central difference in one log-prob.
    auto const moved = [&](double by) {
        chosen[1] += by;
        double const value = prefer::evaluate_pairs(composed, batch).loss;
        chosen[1] -= by;
        return value;
    };
    right = right && std::abs((moved(1e-5) - moved(-1e-5)) / 2e-5 - d_chosen[1]) < 1e-9;

    // A divergence belongs to differences of scores; around a likelihood it does not compile.
    using dpo_under_divergence = loss::with_divergence<loss::dpo, loss::divergence::forward_kl>;
    static_assert(prefer::score_difference_loss<loss::dpo>);
    static_assert(!prefer::score_difference_loss<loss::with_nll<loss::dpo>>);
    static_assert(!prefer::score_difference_loss<dpo_under_divergence>);
    return right ? 0 : 1;
}
