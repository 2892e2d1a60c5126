// SPDX-License-Identifier: MIT

/// \file
/// Uses the library as a project outside it does, in a build with warnings as errors: a loss of the
/// library and one of its own, log-probs, randomness. Prints the version of the headers it sees.

#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

namespace {

struct squared_hinge {
    double beta = 0.1;

    template <class S>
    PREFER_HOST_DEVICE S operator()(prefer::pair<S> const& p) const {
        using prefer::math::max;
        using real = prefer::math::primal_t<S>;
        S const gap = max(S(real(0)), real(1) - real(beta) * p.margin());
        return gap * gap;
    }
};

template <class T>
double total_loss() {
    std::vector<T> const logits{1, 0, 0, 0, 2, 0};
    std::vector<int> const labels{0, 1};
    std::vector<T> log_probs(2), d_chosen(1), d_rejected(1);
    prefer::token_log_probs(prefer::matrix_view(logits.data(), 2, 3), labels, log_probs);

    prefer::vector_view const chosen(log_probs.data(), 1), rejected(log_probs.data() + 1, 1);
    prefer::pair_batch const batch{chosen, rejected, rejected, rejected};
    prefer::pair_gradients const gradients{d_chosen, d_rejected};
    return prefer::evaluate_pairs(prefer::loss::dpo{}, batch, gradients).loss +
           prefer::evaluate_pairs(squared_hinge{}, batch, gradients).loss;
}

}  // namespace

int main() {
    prefer::philox rng(1);
    // Margin -0.311899948: softplus(0.0311899948) + 1.0311899948^2
    bool const right = std::abs(total_loss<double>() - 1.7722165803) < 1e-8 &&
                       std::abs(total_loss<float>() - 1.7722165803) < 1e-5 &&
                       prefer::uniform01<float>(rng) < 1;
    std::printf("%d.%d.%d\n", PREFER_VERSION_MAJOR, PREFER_VERSION_MINOR, PREFER_VERSION_PATCH);
    return right ? 0 : 1;
}
