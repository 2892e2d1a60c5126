// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <prefer/prefer.hpp>

#include "support/atomic_file.hpp"
#include "support/progress.hpp"
#include "support/text.hpp"

#include "align/checkpoint.hpp"
#include "align/jobs.hpp"
#include "align/metrics.hpp"
#include "align/options.hpp"
#include "align/report.hpp"
#include "align/sampling.hpp"
#include "align/task.hpp"
#include "align/trainer.hpp"

namespace align {

/// One run: fine-tune, align, report. Nothing here knows which loss it is.
class run {
public:
    run(settings const& s, job const& work)
        : settings_(s), job_(work), fingerprint_(s.fingerprint()),
          trainer_(
              {.inputs = work.words.inputs(),
               .outputs = work.words.outputs(),
               .window = s.window,
               .embedding = s.embedding,
               .hidden = s.hidden,
               .padding = work.words.nothing()},
              encode(work.training), encode(work.held_out),
              {.batch = s.batch, .threads = s.threads, .seed = s.seed, .reference = s.reference}) {
        fingerprint_.emplace_back("the data", data_digest(work));
    }

    void operator()() {
        prepare_folder();
        std::printf("%s\nModel: %zu parameters.\n", job_.description.c_str(),
                    trainer_.language_model().parameter_count());
        std::fflush(stdout);
        if (settings_.resume) resume();
        fine_tune();
        align();
        finish();
    }

private:
    using scalar = float;

    preference_set encode(std::vector<preference> const& preferences) const {
        preference_set out;
        for (auto const& p : preferences) {
            out.pairs.push_back(job_.words.encode(p, settings_.window));
        }
        return out;
    }

    std::filesystem::path file(char const* name) const { return settings_.out / name; }

    /// Finds out now, not after an hour, whether anything can be written; and overwrites nobody's
    /// checkpoint for want of an option.
    void prepare_folder() const {
        if (!settings_.resume && std::filesystem::exists(file("checkpoint"))) {
            throw usage_error(
                settings_.out.string() +
                " has a checkpoint already: go on from it with --resume, remove it, or "
                "choose another --out");
        }
        std::error_code error;
        std::filesystem::create_directories(settings_.out, error);
        if (error) {
            throw std::runtime_error("cannot create the folder " + settings_.out.string() + ": " +
                                     error.message());
        }
        support::write_file(file("probe"), "This file is left over from a run that was killed.\n");
        std::filesystem::remove(file("probe"));
    }

    void resume() {
        if (!std::filesystem::exists(file("checkpoint"))) {
            std::printf("There is no checkpoint in %s yet: starting at the beginning.\n",
                        settings_.out.c_str());
            return;
        }
        load_checkpoint(file("checkpoint"), fingerprint_, progress_, trainer_);
        std::printf("Resumed after %llu steps of fine-tuning and %llu of alignment.\n",
                    static_cast<unsigned long long>(progress_.supervised_steps),
                    static_cast<unsigned long long>(progress_.preference_steps));
    }

    void save_if_due(bool last) {
        std::size_t const steps = progress_.supervised_steps + progress_.preference_steps;
        if (settings_.save_every == 0 || (steps % settings_.save_every != 0 && !last)) return;
        save_checkpoint(file("checkpoint"), fingerprint_, progress_, trainer_);
        support::write_file(file("metrics.csv"), progress_.measured.csv());
    }

    /// The held-out preferences are looked at twenty times in each phase.
    bool evaluation_due(std::size_t step, std::size_t steps) const {
        std::size_t const every = std::max<std::size_t>(1, steps / 20);
        return !job_.held_out.empty() && (step % every == 0 || step == steps);
    }

    void fine_tune() {
        support::progress bar("fine-tuning", progress_.supervised_steps, settings_.sft_steps,
                              settings_.quiet);
        while (progress_.supervised_steps < settings_.sft_steps) {
            double const loss = trainer_.supervised_step(settings_.sft_rate);
            std::size_t const step = ++progress_.supervised_steps;
            metrics::row row;
            row[metrics::phase] = 0;
            row[metrics::step] = static_cast<double>(step);
            row[metrics::loss] = loss;
            if (evaluation_due(step, settings_.sft_steps)) {
                row[metrics::held_out_loss] = trainer_.chosen_loss(trainer_.held_out());
            }
            progress_.measured.add(row);
            save_if_due(false);
            bar.update(step, "loss " + support::fixed(loss, 4));
        }
    }

    void align() {
        if (trainer_.fine_tuned().size() == 0) trainer_.start_alignment();
        support::progress bar("alignment", progress_.preference_steps, settings_.steps,
                              settings_.quiet);
        while (progress_.preference_steps < settings_.steps) {
            auto const summary = trainer_.preference_step(settings_.loss.loss, settings_.rate);
            std::size_t const step = ++progress_.preference_steps;
            metrics::row row;
            row[metrics::phase] = 1;
            row[metrics::step] = static_cast<double>(step);
            row[metrics::loss] = summary.loss;
            row[metrics::accuracy] = summary.accuracy;
            row[metrics::strict_accuracy] = summary.strict_accuracy;
            row[metrics::margin] = summary.margin;
            row[metrics::reward_chosen] = summary.reward_chosen;
            row[metrics::reward_rejected] = summary.reward_rejected;
            row[metrics::log_prob_chosen] = summary.log_prob_chosen;
            row[metrics::log_prob_rejected] = summary.log_prob_rejected;
            row[metrics::gradient_scale] = summary.gradient_scale;
            if (evaluation_due(step, settings_.steps)) {
                auto const held_out = trainer_.evaluate(settings_.loss.loss, trainer_.held_out());
                row[metrics::held_out_loss] = held_out.loss;
                row[metrics::held_out_accuracy] = held_out.accuracy;
            }
            progress_.measured.add(row);
            save_if_due(step == settings_.steps);
            bar.update(step, "loss " + support::fixed(summary.loss, 4) + "  accuracy " +
                                 support::fixed(summary.accuracy, 3));
        }
    }

    void finish() {
        std::string const report = job_.description + '\n' + outcome();
        support::write_file(file("metrics.csv"), progress_.measured.csv());
        support::write_file(file("samples.txt"), samples());
        support::write_file(file("report.txt"), report);
        std::string const no_picture = draw_curves(progress_.measured, file("curves.png"));
        std::printf("\n%s", report.c_str());
        if (!no_picture.empty()) {
            std::printf("There is no curves.png: %s.\n", no_picture.c_str());
        }
        std::printf("Written to %s: metrics.csv, samples.txt, report.txt%s\n",
                    settings_.out.c_str(), no_picture.empty() ? ", curves.png" : "");
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
            throw std::runtime_error("cannot write the report to the standard output");
        }
    }

    static std::string line(std::string name, std::string const& value) {
        name.resize(std::max<std::size_t>(name.size(), 44), ' ');
        return "  " + name + value + '\n';
    }

    std::string outcome() {
        using support::fixed;
        bool const some_held_out = !job_.held_out.empty();
        std::string out;

        // The fine-tuned model is what alignment is measured against.
        auto const perplexity = [&](std::vector<preference> const& preferences) {
            std::vector<sequence> chosen;
            double tokens = 0;
            for (auto const& p : preferences) {
                chosen.push_back(job_.words.encode(p, settings_.window).chosen);
                tokens += static_cast<double>(chosen.back().tokens.size()) -
                          static_cast<double>(chosen.back().prompt_length);
            }
            double sum = 0;
            for (double const l : trainer_.sequence_log_probs(chosen, trainer_.fine_tuned()))
                sum += l;
            return std::exp(-sum / tokens);
        };
        unigram const baseline(job_.words, job_.training);
        out += "Fine-tuning: perplexity per byte of chosen responses\n";
        out += line("on training responses", fixed(perplexity(job_.training), 3));
        if (some_held_out) {
            out += line("on held-out responses", fixed(perplexity(job_.held_out), 3));
            out += line("unigram model, on held-out responses",
                        fixed(baseline.perplexity(job_.held_out), 3));
        }

        out += "Alignment with " + settings_.loss.name + '\n';
        auto const training = trainer_.evaluate(settings_.loss.loss, trainer_.training());
        out += line("accuracy on training pairs", fixed(training.accuracy, 4));
        out += line("mean reward margin on training pairs", fixed(training.margin, 4));
        if (some_held_out) {
            auto const held_out = trainer_.evaluate(settings_.loss.loss, trainer_.held_out());
            double const n = static_cast<double>(held_out.pairs);
            double const error = std::sqrt(held_out.accuracy * (1 - held_out.accuracy) / n);
            out += line("accuracy on held-out pairs", fixed(held_out.accuracy, 4) + " +- " +
                                                          fixed(error, 4) + " (" + fixed(n, 0) +
                                                          " pairs)");
            out += line("mean reward margin on held-out pairs", fixed(held_out.margin, 4));
        }
        if (job_.embedded) out += exact_outcomes();
        return out;
    }

    /// What can be said without sampling, where the space of responses is small.
    std::string exact_outcomes() {
        using support::fixed;
        auto const responses = letter_task::responses();
        std::vector<exact_outcome> all;
        double mass_error = 0;
        for (auto const& prompt : letter_task::prompts()) {
            std::vector<sequence> sequences;
            for (auto const& r : responses) {
                sequences.push_back(
                    job_.words.encode(prompt, r, letter_task::ends(r), settings_.window));
            }
            all.push_back(compare_exactly(
                prompt, responses, trainer_.sequence_log_probs(sequences, trainer_.fine_tuned()),
                trainer_.sequence_log_probs(sequences, trainer_.policy())));
            mass_error = std::max({mass_error, std::abs(all.back().mass_before - 1),
                                   std::abs(all.back().mass_after - 1)});
        }
        if (mass_error > 1e-4) {
            throw std::logic_error("the probabilities of all responses do not add up to 1");
        }
        auto const mean = [&](double exact_outcome::* field) {
            double sum = 0;
            for (auto const& o : all) sum += o.*field;
            return sum / static_cast<double>(all.size());
        };
        auto const by = [](double exact_outcome::* field) {
            return [field](exact_outcome const& a, exact_outcome const& b) {
                return a.*field < b.*field;
            };
        };
        auto const worst = std::min_element(all.begin(), all.end(), by(&exact_outcome::win_rate));
        auto const furthest = std::max_element(all.begin(), all.end(), by(&exact_outcome::kl));
        return "Exactly, over all " + std::to_string(responses.size()) + " responses to each of " +
               std::to_string(all.size()) + " prompts\n" +
               line("true win rate, aligned against SFT",
                    fixed(mean(&exact_outcome::win_rate), 4) + " (lowest " +
                        fixed(worst->win_rate, 4) + ", prompt " + worst->prompt + ")") +
               line("KL(aligned || SFT), nats", fixed(mean(&exact_outcome::kl), 4) + " (highest " +
                                                    fixed(furthest->kl, 4) + ", prompt " +
                                                    furthest->prompt + ")") +
               line("mean true reward, SFT to aligned",
                    fixed(mean(&exact_outcome::reward_before), 4) + " to " +
                        fixed(mean(&exact_outcome::reward_after), 4));
    }

    /// The same prompts before and after, with the same random numbers.
    std::string samples() {
        auto const& prompts = job_.sample_prompts;
        auto const draw = [&](auto const& parameters) {
            return sample_responses(trainer_.language_model(), parameters, job_.words, prompts,
                                    job_.sample_length, generator(settings_.seed, stream::samples),
                                    trainer_.threads());
        };
        auto const before = draw(trainer_.fine_tuned());
        auto const after = draw(trainer_.policy());
        auto const say = [&](char const* label, std::size_t i, std::string const& response) {
            std::string out = label + support::printable(response);
            if (job_.embedded) {
                out += "   (true reward " +
                       support::shortest(letter_task::reward(prompts[i], response)) + ")";
            }
            return out + '\n';
        };
        std::string out = "Samples at temperature 1, before and after alignment with " +
                          settings_.loss.name + "\n";
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            out += "\nprompt  " + support::printable(prompts[i]) + '\n';
            out += say("before  ", i, before[i]);
            out += say("after   ", i, after[i]);
        }
        return out;
    }

    settings settings_;
    job job_;
    fingerprint fingerprint_;
    trainer<scalar> trainer_;
    run_progress progress_;
};

}  // namespace align
