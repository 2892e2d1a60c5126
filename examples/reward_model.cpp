// A reward model is trained with the same call as a policy: its scores take the place of the
// log-probs. Here a linear one, on comparisons with margins, and on comparisons with ties.

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

namespace {

constexpr std::size_t features = 5;
using vector = std::array<double, features>;

double dot(vector const& a, vector const& b) {
    double sum = 0;
    for (std::size_t k = 0; k < features; ++k) sum += a[k] * b[k];
    return sum;
}

/// Comparisons of two responses. Labels are 1 where the first won, 1/2 for a tie, 0 where it lost.
struct comparisons {
    std::vector<vector> first, second;
    std::vector<double> labels;
    std::vector<double> margins;  ///< how much better the annotator says that the winner is

    std::size_t size() const { return labels.size(); }
};

void score(std::vector<vector> const& responses, vector const& weights, std::vector<double>& out) {
    out.resize(responses.size());
    for (std::size_t i = 0; i < responses.size(); ++i) out[i] = dot(responses[i], weights);
}

/// The weights of the reward model, by gradient descent.
template <class Loss>
vector fit(Loss const& loss, comparisons const& data) {
    vector weights{};
    std::vector<double> first, second, d_first(data.size()), d_second(data.size());
    for (int step = 0; step < 300; ++step) {
        score(data.first, weights, first);
        score(data.second, weights, second);
        auto batch = prefer::pair_batch{first, second}.with_labels(data.labels);
        if constexpr (Loss::inputs().offsets) batch = batch.with_offsets(data.margins);
        prefer::evaluate_pairs(loss, batch, prefer::pair_gradients{d_first, d_second});
        for (std::size_t i = 0; i < data.size(); ++i) {
            for (std::size_t k = 0; k < features; ++k) {
                weights[k] -= d_first[i] * data.first[i][k] + d_second[i] * data.second[i][k];
            }
        }
    }
    return weights;
}

}  // namespace

int main() {
    vector const truth{2.0, -1.5, 1.0, 0.5, 0.0};
    prefer::philox rng(3);
    auto const draw_response = [&] {
        vector x;
        for (double& f : x) f = 2 * prefer::uniform01<double>(rng) - 1;
        return x;
    };

    // Outcomes drawn from Davidson's model: win, tie and loss as e^m : 1 : e^-m, with m half of the
    // difference of true rewards.
    comparisons all, decided;
    for (int i = 0; i < 1000; ++i) {
        vector const first = draw_response(), second = draw_response();
        double const gap = dot(first, truth) - dot(second, truth);
        double const win = std::exp(gap / 2), loss = std::exp(-gap / 2);
        double const u = prefer::uniform01<double>(rng) * (win + 1 + loss);
        double const label = u < win ? 1.0 : u < win + 1 ? 0.5 : 0.0;
        all.first.push_back(first);
        all.second.push_back(second);
        all.labels.push_back(label);
        if (label > 0.4 && label < 0.6) continue;
        // Bradley-Terry has no ties: the winner first, with a margin where it won clearly.
        decided.first.push_back(label > 0.5 ? first : second);
        decided.second.push_back(label > 0.5 ? second : first);
        decided.labels.push_back(1.0);
        decided.margins.push_back(std::abs(gap) > 2 ? 1.0 : 0.0);
    }
    vector const with_ties = fit(prefer::loss::davidson{.nu = 1}, all);
    vector const with_margins = fit(prefer::loss::bradley_terry{.center = 0.01}, decided);

    // On new pairs, how often does the model prefer what is truly better?
    comparisons fresh;
    for (int i = 0; i < 1000; ++i) {
        vector const a = draw_response(), b = draw_response();
        bool const swap = dot(a, truth) < dot(b, truth);
        fresh.first.push_back(swap ? b : a);
        fresh.second.push_back(swap ? a : b);
    }
    std::vector<double> first, second;
    auto const accuracy = [&](vector const& weights) {
        score(fresh.first, weights, first);
        score(fresh.second, weights, second);
        return prefer::evaluate_pairs(prefer::loss::bradley_terry{},
                                      prefer::pair_batch{first, second})
            .accuracy;
    };
    double const davidson = accuracy(with_ties), bradley_terry = accuracy(with_margins);
    std::printf("%zu comparisons, %zu ties\n", all.size(), all.size() - decided.size());
    std::printf("davidson       accuracy %.3f, first weight %.2f of %.2f\n", davidson, with_ties[0],
                truth[0]);
    std::printf("bradley_terry  accuracy %.3f, first weight %.2f of %.2f\n", bradley_terry,
                with_margins[0], truth[0]);

    // Davidson's model is the one that the outcomes come from: it finds the weights themselves.
    double worst = 0;
    for (std::size_t k = 0; k < features; ++k) {
        worst = std::fmax(worst, std::abs(with_ties[k] - truth[k]));
    }
    return davidson > 0.95 && bradley_terry > 0.9 && worst < 0.4 ? 0 : 1;
}
