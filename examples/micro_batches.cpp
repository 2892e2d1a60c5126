// Gradient accumulation and data parallelism: with the global number of pairs as the normalizer,
// the parts of a batch add up to the whole, loss, gradients and metrics alike.

#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

int main() {
    constexpr std::size_t pairs = 7;
    std::vector<double> chosen(pairs), rejected(pairs), reference(pairs);
    prefer::philox rng(11);
    for (auto* column : {&chosen, &rejected, &reference}) {
        for (double& x : *column) x = -20 * prefer::uniform01<double>(rng);
    }
    prefer::loss::dpo const loss{.beta = 0.1};

    std::vector<double> whole_chosen(pairs), whole_rejected(pairs);
    auto const whole =
        prefer::evaluate_pairs(loss, prefer::pair_batch{chosen, rejected, reference, reference},
                               prefer::pair_gradients{whole_chosen, whole_rejected});

    // The same in parts of 3, 3 and 1: a naive mean of the three means would weigh the last pair
    // 3x.
    std::vector<double> part_chosen(pairs), part_rejected(pairs);
    double loss_sum = 0;
    prefer::pair_sums sums;
    for (std::size_t first = 0; first < pairs; first += 3) {
        std::size_t const count = std::min<std::size_t>(3, pairs - first);
        auto const part = [&](std::vector<double>& v) {
            return prefer::as_vector(v).slice(first, count);
        };
        auto const summary = prefer::evaluate_pairs(
            loss,
            prefer::pair_batch{part(chosen), part(rejected), part(reference), part(reference)},
            prefer::pair_gradients{part(part_chosen), part(part_rejected)}, {.normalizer = pairs});
        loss_sum += summary.loss;
        sums += summary.sums;
    }
    auto const total = prefer::summarize(sums);
    std::printf("whole: loss %.12f, accuracy %.4f\nparts: loss %.12f, accuracy %.4f\n", whole.loss,
                whole.accuracy, loss_sum, total.accuracy);

    double worst = std::abs(loss_sum - whole.loss) + std::abs(total.accuracy - whole.accuracy);
    for (std::size_t i = 0; i < pairs; ++i) {
        worst = std::max(worst, std::abs(part_chosen[i] - whole_chosen[i]));
        worst = std::max(worst, std::abs(part_rejected[i] - whole_rejected[i]));
    }
    return worst < 1e-15 ? 0 : 1;
}
