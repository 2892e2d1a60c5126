// SPDX-License-Identifier: MIT
#include "align/options.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <system_error>
#include <thread>

#include <CLI/CLI.hpp>

namespace align {
namespace {

/// Defaults that depend on the job: the embedded task, or a file of real text.
struct sizes {
    std::size_t sft_steps, steps, batch;
    double sft_rate, rate;
    std::size_t window, embedding, hidden;
};

constexpr sizes embedded_sizes{.sft_steps = 600,
                               .steps = 600,
                               .batch = 64,
                               .sft_rate = 3e-3,
                               .rate = 1e-3,
                               .window = 6,
                               .embedding = 12,
                               .hidden = 64};
constexpr sizes file_sizes{.sft_steps = 400,
                           .steps = 160,
                           .batch = 16,
                           .sft_rate = 2e-3,
                           .rate = 1e-3,
                           .window = 16,
                           .embedding = 16,
                           .hidden = 128};

std::string both(double embedded, double file) {
    std::string const a = support::shortest(embedded);
    std::string const b = support::shortest(file);
    return " [" + a + (a == b ? "" : "; with --data " + b) + "]";
}

std::string both(std::size_t embedded, std::size_t file) {
    return both(static_cast<double>(embedded), static_cast<double>(file));
}

/// "NAME=VALUE" of --set.
std::pair<std::string, std::string> parse_parameter(std::string const& text) {
    std::size_t const sign = text.find('=');
    if (sign == 0 || sign == std::string::npos) {
        throw usage_error("--set " + text + ": this is not NAME=VALUE");
    }
    return {text.substr(0, sign), text.substr(sign + 1)};
}

/// CLI11 takes a negative number for a huge unsigned one.
CLI::Validator whole_number() {
    return {[](std::string const& text) {
                bool const digits = text.find_first_not_of("0123456789") == std::string::npos;
                return digits && !text.empty() ? std::string() : text + " is not a whole number";
            },
            ""};
}

void require_rate(char const* option, double rate) {
    if (!(std::isfinite(rate) && rate > 0)) {
        throw usage_error(std::string(option) + " is " + support::shortest(rate) +
                          ", but must be finite and positive");
    }
}

/// All of `text` as a number.
template <class T>
T number_of(std::string const& text, std::string const& whole) {
    T value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
        throw usage_error("--reference " + whole + ": " + text + " is not a number");
    }
    return value;
}

}  // namespace

reference_rule parse_reference_rule(std::string const& text) {
    std::size_t const colon = std::min(text.find(':'), text.size());
    std::string const name = text.substr(0, colon);
    std::string const number = text.substr(std::min(colon + 1, text.size()));
    if (text == "frozen") return prefer::reference::frozen{};
    if (name == "soft" && colon < text.size()) {
        prefer::reference::soft const rule{.alpha = number_of<double>(number, text)};
        rule.validate();
        return rule;
    }
    if (name == "hard" && colon < text.size()) {
        prefer::reference::hard const rule{.every = number_of<std::uint64_t>(number, text)};
        rule.validate();
        return rule;
    }
    throw usage_error("--reference " + text + ": this is not frozen, soft:ALPHA or hard:STEPS");
}

std::vector<std::pair<std::string, std::string>> settings::fingerprint() const {
    std::vector<std::pair<std::string, std::string>> list{{"--loss", loss.name}};
    for (auto const& [name, value] : loss.parameters) list.emplace_back("--set " + name, value);
    list.emplace_back("--reference", reference_text);
    auto const add = [&](char const* option, auto value) {
        list.emplace_back(option, support::shortest(static_cast<double>(value)));
    };
    add("--sft-steps", sft_steps);
    add("--steps", steps);
    add("--batch", batch);
    add("--sft-lr", sft_rate);
    add("--lr", rate);
    add("--window", window);
    add("--embedding", embedding);
    add("--hidden", hidden);
    list.emplace_back("--seed", std::to_string(seed));
    add("--hold-out", hold_out);
    return list;
}

std::optional<settings> parse_options(int argc, char const* const* argv) {
    settings s;
    CLI::App app("Fine-tunes a small byte-level language model on the chosen responses of "
                 "preferences, then\n"
                 "aligns it with a preference loss. Without --data it does so on a generated task "
                 "whose true\n"
                 "reward is known. Defaults are in [brackets].",
                 "align");
    app.set_help_flag("-h,--help", "Print this and exit");
    app.get_formatter()->column_width(34);

    app.add_option("--data", s.data, "JSONL file of preferences, plain or gzip")
        ->type_name("FILE")
        ->group("Data");
    app.add_option("--max-length", s.max_length,
                   "bytes of prompt and response together; responses are cut at their end [2048]")
        ->check(whole_number())
        ->type_name("BYTES")
        ->group("Data");
    app.add_flag("--skip-bad", s.skip_bad, "count malformed lines and go on")->group("Data");
    app.add_option("--hold-out", s.hold_out, "share of the preferences kept from training [0.1]")
        ->type_name("SHARE")
        ->group("Data");

    std::string loss_name = "dpo";
    std::string beta;
    std::vector<std::string> parameters;
    bool list_losses = false;
    app.add_option("--loss", loss_name, "what preferences are aligned with [dpo]")
        ->type_name("NAME")
        ->group("Loss");
    app.add_option("--beta", beta, "short for --set beta=NUMBER")
        ->type_name("NUMBER")
        ->group("Loss");
    app.add_option("--set", parameters, "a hyper-parameter of the loss; may be repeated")
        ->allow_extra_args(false)
        ->type_name("NAME=VALUE")
        ->group("Loss");
    app.add_flag("--list-losses", list_losses,
                 "Print the losses, their hyper-parameters and defaults, and exit")
        ->group("Loss");

    app.add_option("--reference", s.reference_text,
                   "how the reference follows the policy: frozen, soft:ALPHA (a share of it each "
                   "step) or hard:STEPS (a copy every so many steps) [frozen]")
        ->type_name("RULE")
        ->group("Loss");

    std::optional<std::size_t> sft_steps, steps, batch, window, embedding, hidden;
    std::optional<double> sft_rate, rate;
    sizes const &e = embedded_sizes, &f = file_sizes;
    app.add_option("--sft-steps", sft_steps,
                   "steps of fine-tuning" + both(e.sft_steps, f.sft_steps))
        ->check(whole_number())
        ->type_name("N")
        ->group("Training");
    app.add_option("--steps", steps, "steps of alignment" + both(e.steps, f.steps))
        ->check(whole_number())
        ->type_name("N")
        ->group("Training");
    app.add_option("--batch", batch, "responses or pairs in a step" + both(e.batch, f.batch))
        ->check(whole_number())
        ->type_name("N")
        ->group("Training");
    app.add_option("--sft-lr", sft_rate,
                   "learning rate of fine-tuning" + both(e.sft_rate, f.sft_rate))
        ->type_name("RATE")
        ->group("Training");
    app.add_option("--lr", rate, "learning rate of alignment" + both(e.rate, f.rate))
        ->type_name("RATE")
        ->group("Training");
    app.add_option("--seed", s.seed, "seed of everything that is random [1]")
        ->check(whole_number())
        ->type_name("N")
        ->group("Training");
    app.add_option("--threads", s.threads, "threads; the results do not depend on it [all cores]")
        ->check(whole_number())
        ->type_name("N")
        ->group("Training");

    app.add_option("--window", window, "bytes that the model sees" + both(e.window, f.window))
        ->check(whole_number())
        ->type_name("N")
        ->group("Model");
    app.add_option("--embedding", embedding,
                   "numbers for each of these bytes" + both(e.embedding, f.embedding))
        ->check(whole_number())
        ->type_name("N")
        ->group("Model");
    app.add_option("--hidden", hidden, "width of the hidden layer" + both(e.hidden, f.hidden))
        ->check(whole_number())
        ->type_name("N")
        ->group("Model");

    app.add_option("--out", s.out, "folder for the results [align-out]")
        ->type_name("DIR")
        ->group("Results");
    app.add_option("--save-every", s.save_every, "steps between checkpoints; 0: none [0]")
        ->check(whole_number())
        ->type_name("N")
        ->group("Results");
    app.add_flag("--resume", s.resume, "go on from the checkpoint in DIR")->group("Results");
    app.add_flag("--quiet", s.quiet, "print no progress")->group("Results");

    s.threads = std::max(1U, std::thread::hardware_concurrency());
    try {
        app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
        std::cout << app.help();
        return std::nullopt;
    } catch (CLI::ParseError const& error) {
        throw usage_error(std::string(error.what()) + " (see --help)");
    }

    if (list_losses) {
        std::cout << loss_table();
        return std::nullopt;
    }
    parameter_texts given;
    if (app.count("--beta") > 0) given.emplace_back("beta", beta);
    for (std::string const& text : parameters) given.push_back(parse_parameter(text));
    s.loss = make_loss(loss_name, given);
    s.reference = parse_reference_rule(s.reference_text);
    for (char const* const option : {"--max-length", "--skip-bad"}) {
        if (app.count(option) > 0 && app.count("--data") == 0) {
            throw usage_error(std::string(option) + " has no effect without --data");
        }
    }
    if (app.count("--data") > 0 && s.data.empty()) throw usage_error("--data is empty");
    if (s.out.empty()) throw usage_error("--out is empty");

    sizes const& defaults = s.data.empty() ? embedded_sizes : file_sizes;
    s.sft_steps = sft_steps.value_or(defaults.sft_steps);
    s.steps = steps.value_or(defaults.steps);
    s.batch = batch.value_or(defaults.batch);
    s.sft_rate = sft_rate.value_or(defaults.sft_rate);
    s.rate = rate.value_or(defaults.rate);
    s.window = window.value_or(defaults.window);
    s.embedding = embedding.value_or(defaults.embedding);
    s.hidden = hidden.value_or(defaults.hidden);

    auto const require_range = [](char const* option, std::size_t value, std::size_t low,
                                  std::size_t high) {
        if (value < low || value > high) {
            throw usage_error(std::string(option) + " is " + std::to_string(value) +
                              ", but must be in [" + std::to_string(low) + ", " +
                              std::to_string(high) + "]");
        }
    };
    require_range("--sft-steps", s.sft_steps, 0, 100'000'000);
    require_range("--steps", s.steps, 0, 100'000'000);
    require_range("--batch", s.batch, 1, 65'536);
    require_range("--window", s.window, 1, 4'096);
    require_range("--embedding", s.embedding, 1, 4'096);
    require_range("--hidden", s.hidden, 1, 65'536);
    require_range("--threads", s.threads, 1, 1'024);
    require_range("--max-length", s.max_length, 1, 1'000'000'000);
    require_rate("--lr", s.rate);
    require_rate("--sft-lr", s.sft_rate);
    if (!(s.hold_out >= 0 && s.hold_out < 1)) {
        throw usage_error("--hold-out is " + support::shortest(s.hold_out) +
                          ", but must be in [0, 1)");
    }
    return s;
}

}  // namespace align
