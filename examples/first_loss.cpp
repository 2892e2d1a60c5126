// The library's first page: a preference loss over a batch, with gradients, on the caller's memory.

#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

int main() {
    // [README] Summed log-probs of each response, from your model and from the frozen reference.
    std::vector<double> const policy_chosen{-10.2, -7.5}, policy_rejected{-9.1, -8.0};
    std::vector<double> const reference_chosen{-11.0, -7.5}, reference_rejected{-8.7, -8.0};
    std::vector<double> d_policy_chosen(2), d_policy_rejected(2);

    prefer::pair_batch batch{policy_chosen, policy_rejected, reference_chosen, reference_rejected};
    prefer::pair_gradients gradients{d_policy_chosen, d_policy_rejected};
    auto summary = prefer::evaluate_pairs(prefer::loss::dpo{.beta = 0.1}, batch, gradients);

    std::printf("loss %.6f, accuracy %.2f, reward margin %.3f\n", summary.loss, summary.accuracy,
                summary.margin);
    std::printf("d loss / d log-prob of the first chosen response: %.6f\n", d_policy_chosen[0]);
    // [README]

    // Margins 1.2 and 0, so the loss is (softplus(-0.12) + log 2)/2; the tie counts one half.
    bool const right = summary.loss > 0.66404663 && summary.loss < 0.66404666 &&
                       summary.accuracy > 0.7499 && summary.accuracy < 0.7501 &&
                       d_policy_chosen[0] > -0.0235019 && d_policy_chosen[0] < -0.0235017;
    return right ? 0 : 1;
}
