// More than two responses to a prompt, ranked: Plackett-Luce on lists of any lengths, packed one
// after the other, the best response of each list first.

#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

int main() {
    // Four prompts with 4, 2, 1 and 3 responses; to begin with, the policy is the reference.
    std::vector<std::size_t> const offsets{0, 4, 6, 7, 10};
    std::vector<double> const reference{-12, -9, -30, -14, -8, -8.5, -11, -20, -19, -25};
    std::vector<double> policy = reference;
    std::vector<double> d_policy(policy.size());

    prefer::loss::plackett_luce const loss{.beta = 0.1};
    prefer::list_batch const batch{policy, reference, offsets};
    prefer::list_gradients const gradients{d_policy};
    auto const before = prefer::evaluate_lists(loss, batch, gradients);
    std::printf("%zu lists of %zu responses, %zu too short to rank anything\n", before.lists,
                before.responses, before.short_lists);

    // Equal log-ratios: log K! for a list of K. Nothing is pushed up without pushing others down.
    bool right = std::abs(before.loss - std::log(24.0 * 2.0 * 6.0) / 3) < 1e-14 &&
                 before.short_lists == 1 && std::abs(d_policy[6]) <= 0;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        double sum = 0;
        for (std::size_t i = offsets[b]; i < offsets[b + 1]; ++i) sum += d_policy[i];
        right = right && std::abs(sum) < 1e-15;
    }

    // A list of two is a pair.
    prefer::pair<double> const pair{.chosen = {.policy = -7, .reference = -8},
                                    .rejected = {.policy = -8, .reference = -8.5}};
    std::vector<double> const two{pair.chosen.log_ratio(), pair.rejected.log_ratio()};
    right = right &&
            std::abs(loss(prefer::as_vector(two)) - prefer::loss::dpo{.beta = 0.1}(pair)) < 1e-15;

    // A few steps down the gradient order every list as it was ranked.
    for (int step = 0; step < 20; ++step) {
        prefer::evaluate_lists(loss, batch, gradients);
        for (std::size_t i = 0; i < policy.size(); ++i) policy[i] -= 50 * d_policy[i];
    }
    auto const after = prefer::evaluate_lists(loss, batch);
    std::printf("loss %.4f -> %.4f, pairs in order %.2f -> %.2f, first is best %.2f -> %.2f\n",
                before.loss, after.loss, before.pair_accuracy, after.pair_accuracy, before.accuracy,
                after.accuracy);
    right = right && after.loss < 0.5 * before.loss && after.pair_accuracy > 0.999 &&
            after.accuracy > 0.999;
    return right ? 0 : 1;
}
