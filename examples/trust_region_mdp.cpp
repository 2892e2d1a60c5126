// SPDX-License-Identifier: MIT

/// \file
/// The toy experiment of "Learn your reference model for real good alignment" (arXiv:2404.09656,
/// appendix B): does a preference loss push probability to trajectories that nobody has seen, and
/// does a reference that follows the policy prevent it?
///
///     trust_region_mdp --out DIR [--seeds 100]
///
/// writes DIR/trust_region_mdp.csv, .md (a table) and, with gnuplot, .png. Without arguments it
/// runs a few seeds and checks itself. What was found: docs/trust-region-mdp.md.

#include "support/atomic_file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <prefer/prefer.hpp>

namespace {

constexpr std::size_t actions = 3, depth = 3, hidden = 3;
constexpr double rate = 0.03;  // of Adam, in both phases
constexpr std::size_t sft_epochs = 50, epochs = 200;

using trajectory = std::array<int, depth>;
using parameters = std::vector<double>;

constexpr trajectory chosen{1, 1, 0}, rejected{0, 0, 0}, third{2, 2, 2};

/// A recurrent policy: h = tanh(W x + U h + b), logits = V h + c; x is the last action, or a start
/// symbol.
class policy {
public:
    static constexpr std::size_t inputs = actions + 1;
    static constexpr std::size_t w = 0, u = w + hidden * inputs, b = u + hidden * hidden,
                                 v = b + hidden, c = v + actions * hidden, size = c + actions;

    /// log π(y). With a slope, adds slope · ∂ log π(y) to the gradient.
    static double log_prob(parameters const& p, trajectory const& y, double slope = 0,
                           parameters* gradient = nullptr) {
        std::array<std::array<double, hidden>, depth + 1> h{};
        std::array<double, depth * actions> logits{};
        std::array<double, depth> log_probs{};
        for (std::size_t t = 0; t < depth; ++t) {
            for (std::size_t i = 0; i < hidden; ++i) {
                double sum = p[w + i * inputs + input(y, t)] + p[b + i];
                for (std::size_t j = 0; j < hidden; ++j) sum += p[u + i * hidden + j] * h[t][j];
                h[t + 1][i] = std::tanh(sum);
            }
            for (std::size_t a = 0; a < actions; ++a) {
                double& logit = logits[t * actions + a];
                logit = p[c + a];
                for (std::size_t i = 0; i < hidden; ++i)
                    logit += p[v + a * hidden + i] * h[t + 1][i];
            }
        }
        prefer::matrix_view rows(logits.data(), depth, actions);
        prefer::token_log_probs(rows, y, log_probs);
        if (gradient != nullptr) {
            std::array<double, depth> const slopes{slope, slope, slope};
            prefer::token_log_probs_backward(rows, y, slopes, rows);
            backward(p, y, h, logits, *gradient);
        }
        return log_probs[0] + log_probs[1] + log_probs[2];
    }

private:
    static std::size_t input(trajectory const& y, std::size_t t) {
        return t == 0 ? actions : static_cast<std::size_t>(y[t - 1]);
    }

    static void backward(parameters const& p, trajectory const& y,
                         std::array<std::array<double, hidden>, depth + 1> const& h,
                         std::array<double, depth * actions> const& d_logits, parameters& g) {
        std::array<double, hidden> d_next{};
        for (std::size_t t = depth; t-- > 0;) {
            std::array<double, hidden> d_sum{};
            for (std::size_t i = 0; i < hidden; ++i) {
                double d_h = d_next[i];
                for (std::size_t a = 0; a < actions; ++a) {
                    double const d = d_logits[t * actions + a];
                    d_h += d * p[v + a * hidden + i];
                    g[v + a * hidden + i] += d * h[t + 1][i];
                }
                d_sum[i] = d_h * (1 - h[t + 1][i] * h[t + 1][i]);
            }
            for (std::size_t a = 0; a < actions; ++a) g[c + a] += d_logits[t * actions + a];
            d_next = {};
            for (std::size_t i = 0; i < hidden; ++i) {
                g[w + i * inputs + input(y, t)] += d_sum[i];
                g[b + i] += d_sum[i];
                for (std::size_t j = 0; j < hidden; ++j) {
                    g[u + i * hidden + j] += d_sum[i] * h[t][j];
                    d_next[j] += d_sum[i] * p[u + i * hidden + j];
                }
            }
        }
    }
};

/// Adam with its usual constants.
class adam {
public:
    void step(parameters& p, parameters const& g) {
        ++steps_;
        for (std::size_t i = 0; i < p.size(); ++i) {
            m_[i] += 0.1 * (g[i] - m_[i]);
            v_[i] += 0.001 * (g[i] * g[i] - v_[i]);
            double const m = m_[i] / (1 - std::pow(0.9, steps_));
            double const v = v_[i] / (1 - std::pow(0.999, steps_));
            p[i] -= rate * m / (std::sqrt(v) + 1e-8);
        }
    }

private:
    int steps_ = 0;
    parameters m_ = parameters(policy::size), v_ = parameters(policy::size);
};

/// What is measured at an epoch.
enum column : std::size_t {
    p_chosen,
    p_rejected,
    p_third,
    p_ood,
    gradient_scale,
    curvature,
    columns
};
constexpr std::array<char const*, columns> column_names{"chosen", "rejected",       "third",
                                                        "ood",    "gradient_scale", "curvature"};

using row = std::array<double, columns>;

/// The probabilities of the three trajectories of fine-tuning, and of the other 24 together.
row probabilities(parameters const& p) {
    row out{};
    out[p_chosen] = std::exp(policy::log_prob(p, chosen));
    out[p_rejected] = std::exp(policy::log_prob(p, rejected));
    out[p_third] = std::exp(policy::log_prob(p, third));
    out[p_ood] = 1 - out[p_chosen] - out[p_rejected] - out[p_third];
    return out;
}

/// Kahneman-Tversky optimization of both responses of a pair. The pair has no other prompt to
/// mismatch it with, so its reference point is 0.
struct kto_of_pair {
    prefer::loss::kto kto{.beta = 0.1};

    template <class S>
    S operator()(prefer::pair<S> const& p) const {
        return kto(prefer::example<S>{.completion = p.chosen, .label = 1}) +
               kto(prefer::example<S>{.completion = p.rejected, .label = 0});
    }
};

/// Fine-tuned on three trajectories, then aligned by one pair; a row for each epoch, from before
/// the first on.
template <class Loss, class Rule>
std::vector<row> run(Loss const& loss, Rule const& rule, std::uint64_t seed) {
    prefer::philox rng(seed);
    parameters theta(policy::size);
    for (double& x : theta) {
        x = (2 * prefer::uniform01<double>(rng) - 1) / std::sqrt(static_cast<double>(hidden));
    }
    adam fine_tuning;
    for (std::size_t epoch = 0; epoch < sft_epochs; ++epoch) {
        parameters gradient(policy::size);
        for (auto const& y : {chosen, rejected, third}) {
            policy::log_prob(theta, y, -1.0 / 3, &gradient);
        }
        fine_tuning.step(theta, gradient);
    }

    parameters reference = theta;
    prefer::reference::tracker tracker(rule);
    adam optimiser;
    std::vector<row> out;
    for (std::size_t epoch = 0; epoch <= epochs; ++epoch) {
        prefer::pair<double> const pair{
            .chosen = {.policy = policy::log_prob(theta, chosen),
                       .reference = policy::log_prob(reference, chosen),
                       .length = depth},
            .rejected = {.policy = policy::log_prob(theta, rejected),
                         .reference = policy::log_prob(reference, rejected),
                         .length = depth}};
        auto const [value, d_chosen, d_rejected] = prefer::loss::value_and_grad(loss, pair);
        out.push_back(probabilities(theta));
        out.back()[gradient_scale] = (std::abs(d_chosen) + std::abs(d_rejected)) / 2;
        out.back()[curvature] = prefer::loss::curvature(loss, pair).second;
        parameters gradient(policy::size);
        policy::log_prob(theta, chosen, d_chosen, &gradient);
        policy::log_prob(theta, rejected, d_rejected, &gradient);
        optimiser.step(theta, gradient);
        tracker.after_step(theta, reference);
    }
    return out;
}

struct setting {
    std::string loss;
    std::string rule;
    std::function<std::vector<row>(std::uint64_t seed)> run;
};

std::vector<setting> settings() {
    std::vector<setting> out;
    auto const add = [&](char const* name, auto const& loss) {
        using namespace prefer::reference;
        out.push_back({name, "vanilla", [=](auto seed) { return run(loss, frozen{}, seed); }});
        out.push_back({name, "soft 0.6", [=](auto s) { return run(loss, soft{.alpha = 0.6}, s); }});
        out.push_back({name, "hard 8", [=](auto s) { return run(loss, hard{.every = 8}, s); }});
    };
    add("dpo", prefer::loss::dpo{.beta = 0.1});
    add("ipo", prefer::loss::ipo{.beta = 0.1, .margin_of = prefer::log_probs::summed});
    add("kto", kto_of_pair{});
    return out;
}

/// Mean and standard error over seeds, for each epoch.
struct curve {
    std::vector<row> mean, error;
};

curve average(setting const& s, std::size_t seeds) {
    curve out{std::vector<row>(epochs + 1), std::vector<row>(epochs + 1)};
    std::vector<std::vector<row>> all;
    for (std::size_t seed = 0; seed < seeds; ++seed) all.push_back(s.run(seed));
    auto const n = static_cast<double>(seeds);
    for (std::size_t epoch = 0; epoch <= epochs; ++epoch) {
        for (std::size_t k = 0; k < columns; ++k) {
            double sum = 0, squares = 0;
            for (auto const& one : all) sum += one[epoch][k];
            for (auto const& one : all) {
                double const off = one[epoch][k] - sum / n;
                squares += off * off;
            }
            out.mean[epoch][k] = sum / n;
            out.error[epoch][k] = seeds > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
        }
    }
    return out;
}

std::string picture_script(std::string const& csv, std::string const& png) {
    std::string script = "set terminal pngcairo size 1200,900\nset output '" + png +
                         "'\nset datafile separator ','\nset multiplot layout 3,3\n"
                         "set yrange [0:1]\nset key top left samplen 1\nset xlabel 'epoch'\n";
    for (auto const& s : settings()) {
        script += "set title '" + s.loss + ", " + s.rule + "'\nplot ";
        int column = 4;
        for (char const* const name : {"chosen", "rejected", "", "ood"}) {
            if (*name != '\0') {
                script += std::string(column > 4 ? ", " : "") + "'" + csv +
                          "' using (strcol(1) eq '" + s.loss + "' && strcol(2) eq '" + s.rule +
                          "' ? $3 : NaN):" + std::to_string(column) + " with lines lw 2 title '" +
                          name + "'";
            }
            column += 2;
        }
        script += '\n';
    }
    return script + "unset multiplot\n";
}

void draw(std::filesystem::path const& csv, std::filesystem::path const& png) {
    struct closer {
        void operator()(std::FILE* pipe) const { ::pclose(pipe); }
    };
    std::unique_ptr<std::FILE, closer> const gnuplot(::popen("gnuplot 2>/dev/null", "w"));
    std::string const script = picture_script(csv.string(), png.string());
    if (gnuplot) std::fwrite(script.data(), 1, script.size(), gnuplot.get());
}

void write_results(std::filesystem::path const& folder, std::size_t seeds) {
    std::string csv = "loss,rule,epoch";
    for (char const* const name : column_names) csv += std::string(",") + name + "," + name + "_se";
    csv += '\n';
    std::string table =
        "| loss | reference | chosen | rejected | out of distribution | largest, at "
        "epoch | gradient scale | curvature |\n|---|---|---|---|---|---|---|---|\n";
    for (auto const& s : settings()) {
        curve const c = average(s, seeds);
        for (std::size_t epoch = 0; epoch <= epochs; ++epoch) {
            csv += s.loss + ',' + s.rule + ',' + std::to_string(epoch);
            for (std::size_t k = 0; k < columns; ++k) {
                csv += ',' + support::shortest(c.mean[epoch][k]) + ',' +
                       support::shortest(c.error[epoch][k]);
            }
            csv += '\n';
        }
        auto const from_to = [&](column k, int decimals) {
            return support::fixed(c.mean.front()[k], decimals) + " → " +
                   support::fixed(c.mean.back()[k], decimals) + " ± " +
                   support::fixed(c.error.back()[k], decimals);
        };
        auto const most =
            std::max_element(c.mean.begin(), c.mean.end(),
                             [](row const& x, row const& y) { return x[p_ood] < y[p_ood]; });
        table += "| `" + s.loss + "` | " + s.rule + " | " + from_to(p_chosen, 3) + " | " +
                 from_to(p_rejected, 3) + " | " + from_to(p_ood, 3) + " | " +
                 support::fixed((*most)[p_ood], 3) + ", " + std::to_string(most - c.mean.begin()) +
                 " | " + from_to(gradient_scale, 4) + " | " + from_to(curvature, 5) + " |\n";
    }
    std::filesystem::create_directories(folder);
    support::write_file(folder / "trust_region_mdp.csv", csv);
    support::write_file(folder / "trust_region_mdp.md", table);
    draw(folder / "trust_region_mdp.csv", folder / "trust_region_mdp.png");
    std::printf("%s\nWritten to %s.\n", table.c_str(), folder.c_str());
}

/// The gradient of the policy against central differences, and what must hold of every run.
bool self_test() {
    prefer::philox rng(1);
    parameters p(policy::size), gradient(policy::size);
    for (double& x : p) x = prefer::uniform01<double>(rng) - 0.5;
    policy::log_prob(p, chosen, 2, &gradient);
    bool right = true;
    for (std::size_t i = 0; i < p.size(); ++i) {
        double const x = p[i], step = 1e-5;
        p[i] = x + step;
        double const above = policy::log_prob(p, chosen);
        p[i] = x - step;
        double const below = policy::log_prob(p, chosen);
        p[i] = x;
        right = right && std::abs(gradient[i] - (above - below) / step) < 1e-8;
    }
    double total = 0;
    for (int y = 0; y < 27; ++y) total += std::exp(policy::log_prob(p, {y / 9, y / 3 % 3, y % 3}));
    right = right && std::abs(total - 1) < 1e-14;
    for (auto const& s : settings()) {
        curve const c = average(s, 3);
        row const &first = c.mean.front(), &last = c.mean.back();
        std::printf("%s, %-8s  chosen %.3f -> %.3f  rejected %.3f -> %.3f  ood %.3f -> %.3f\n",
                    s.loss.c_str(), s.rule.c_str(), first[p_chosen], last[p_chosen],
                    first[p_rejected], last[p_rejected], first[p_ood], last[p_ood]);
        // Fine-tuning has made the three likely; alignment tells the two of the pair apart.
        right = right && first[p_ood] < 0.35 &&
                std::abs(first[p_chosen] - first[p_rejected]) < 0.1 &&
                last[p_chosen] > 4 * last[p_rejected];
    }
    return right;
}

}  // namespace

int main(int argc, char** argv) {
    std::string folder;
    std::size_t seeds = 100;
    CLI::App app{"The toy MDP of trust-region alignment; without --out, a self-test"};
    auto* const out = app.add_option("--out", folder, "where the results go");
    app.add_option("--seeds", seeds, "runs of each setting")
        ->needs(out)
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        if (folder.empty()) return self_test() ? 0 : 1;
        write_results(folder, seeds);
        return 0;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "trust_region_mdp: %s\n", error.what());
        return 1;
    }
}
