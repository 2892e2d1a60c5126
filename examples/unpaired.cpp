// Learning from single responses, thumbs up or down, with KTO. Its reference point is a statistic
// of the whole batch, so a step has two stages: collect it over the micro-batches, then evaluate
// them.

#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

int main() {
    // Two micro-batches of three prompts with a response each. Mismatched log-probs are those of
    // the next prompt's response after this prompt: your model scores them beside the others.
    constexpr std::size_t size = 6, micro = 3;
    std::vector<double> policy(size), reference(size);
    std::vector<double> mismatched_policy(size), mismatched_reference(size);
    std::vector<int> const thumbs_up{1, 0, 1, 1, 1, 1};  // the second micro-batch has no other kind
    prefer::philox rng(5);
    for (std::size_t i = 0; i < size; ++i) {
        reference[i] = -10 - 10 * prefer::uniform01<double>(rng);
        policy[i] = reference[i] + 4 * prefer::uniform01<double>(rng) - 2;
        mismatched_reference[i] = -30 - 10 * prefer::uniform01<double>(rng);
        mismatched_policy[i] = mismatched_reference[i] + 4 * prefer::uniform01<double>(rng) - 1;
    }
    std::vector<double> d_policy(size);

    prefer::loss::kto_reference_point point;  // over ranks: sums and counts add up with +=
    for (std::size_t first = 0; first < size; first += micro) {
        auto const part = [&](auto& v) { return prefer::as_vector(v).slice(first, micro); };
        point.add(prefer::example_batch{part(mismatched_policy), part(mismatched_reference)});
    }

    prefer::loss::kto const loss{
        .beta = 0.1, .undesirable_weight = 2, .reference_point = point.value()};
    prefer::example_sums sums;
    double total = 0;
    for (std::size_t first = 0; first < size; first += micro) {
        auto const part = [&](auto& v) { return prefer::as_vector(v).slice(first, micro); };
        auto const batch =
            prefer::example_batch{part(policy), part(reference)}.with_labels(part(thumbs_up));
        auto const summary = prefer::evaluate_examples(
            loss, batch, prefer::example_gradients{part(d_policy)}, {.normalizer = size});
        std::printf("%zu up with mean reward %6.3f, %zu down with mean reward %6.3f\n",
                    summary.desirable.examples, summary.desirable.reward,
                    summary.undesirable.examples, summary.undesirable.reward);
        total += summary.loss;
        sums += summary.sums;
    }
    std::printf("reference point %.4f, loss %.6f\n", loss.reference_point, total);

    // By hand, over the whole batch.
    double mean = 0;
    for (std::size_t i = 0; i < size; ++i) {
        mean += (mismatched_policy[i] - mismatched_reference[i]) / size;
    }
    double const point_by_hand = std::fmax(0, mean);
    double by_hand = 0;
    bool right = point_by_hand > 0;
    for (std::size_t i = 0; i < size; ++i) {
        double const z = 0.1 * (policy[i] - reference[i] - point_by_hand);
        by_hand += thumbs_up[i] == 1 ? 1 / (1 + std::exp(z)) : 2 / (1 + std::exp(-z));
        right = right && (thumbs_up[i] == 1 ? d_policy[i] < 0 : d_policy[i] > 0);
    }
    right = right && std::abs(loss.reference_point - point_by_hand) < 1e-14 &&
            std::abs(total - by_hand / size) < 1e-14 && sums.desirable.examples > 4.5 &&
            sums.undesirable.examples < 1.5;
    return right ? 0 : 1;
}
