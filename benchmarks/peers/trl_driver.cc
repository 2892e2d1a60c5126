// SPDX-License-Identifier: MIT
//
// Evaluates cases that trl_agreement.py writes, in double, through the public calls: log-probs of
// tokens (or logits) -> log-probs of sequences -> loss, and all the way back.
//
// usage: trl_driver < cases > results
//
// A case is a block of lines, each a name, a count and that many numbers: "case ID", "loss NAME",
// "set PARAMETER VALUE" (a member by its name in `parameters()`, of a member by "outer.inner";
// enumerators by their number), arrays, "end". Pairs have chosen_tokens and chosen_offsets,
// rejected_…; single responses tokens and offsets. With logits (…_logits [N, V] and …_ids [N]) in
// place of tokens the log-probs come from them. The answer is "case ID", "value 1 X", the gradient
// arrays d_… with 17 digits, "end".

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <prefer/prefer.hpp>

namespace {

using column = std::vector<double>;
using indices = std::vector<std::int64_t>;

struct question {
    std::string id, loss;
    std::map<std::string, double> settings;
    std::map<std::string, column> arrays;

    bool has(std::string const& name) const { return arrays.count(name) > 0; }

    column const& at(std::string const& name) const {
        auto const found = arrays.find(name);
        if (found == arrays.end()) throw std::runtime_error("the case has no array " + name);
        return found->second;
    }

    indices whole(std::string const& name) const {
        indices out;
        for (double const x : at(name)) out.push_back(static_cast<std::int64_t>(x));
        return out;
    }

    std::optional<double> number(std::string const& name) const {
        if (!has(name)) return std::nullopt;
        return at(name).at(0);
    }
};

/// Sets the member of that name.
template <class L>
bool set(L& loss, std::string_view name, double value) {
    bool found = false;
    auto const visit = [&](auto const& parameter) {
        auto& member = loss.*(parameter.member);
        using M = std::remove_reference_t<decltype(member)>;
        std::string_view const own = parameter.name;
        if constexpr (requires { M::parameters(); }) {
            if (name.starts_with(own) && name.substr(own.size()).starts_with(".")) {
                found = found || set(member, name.substr(own.size() + 1), value);
            }
        } else if (name == own) {
            if constexpr (std::is_enum_v<M>) {
                member = static_cast<M>(static_cast<int>(value));
            } else {
                member = static_cast<M>(value);
            }
            found = true;
        }
    };
    std::apply([&](auto const&... parameters) { (visit(parameters), ...); }, L::parameters());
    return found;
}

template <class L>
L configured(question const& q) {
    L loss{};
    for (auto const& [name, value] : q.settings) {
        if (!set(loss, name, value)) throw std::runtime_error(q.loss + " has no member " + name);
    }
    return loss;
}

using results = std::vector<std::pair<std::string, column>>;

/// The responses of one side: from tokens or logits to summed log-probs, and back.
class side {
    template <class Column>
    auto matrix(Column& values) const {
        using T = std::remove_pointer_t<decltype(values.data())>;
        std::size_t const rows = ids_.size();
        return prefer::matrix_view<T>(values.data(), rows, rows > 0 ? values.size() / rows : 0);
    }

public:
    side(question const& q, std::string name)
        : name_(std::move(name)), offsets_(q.whole(name_ + "offsets")) {
        std::size_t const sequences = offsets_.size() - 1;
        from_logits_ = q.has(name_ + "logits");
        if (from_logits_) {
            ids_ = q.whole(name_ + "ids");
            logits_ = q.at(name_ + "logits");
            tokens_.resize(ids_.size());
            if (!ids_.empty()) prefer::token_log_probs(matrix(logits_), ids_, tokens_);
        } else {
            tokens_ = q.at(name_ + "tokens");
        }
        lengths.resize(sequences);
        prefer::sequence_lengths(offsets_, lengths);
        if (q.has(name_ + "lengths")) lengths = q.whole(name_ + "lengths");
    }

    void sum() {
        log_probs.resize(lengths.size());
        prefer::sequence_sum(tokens_, offsets_, log_probs);
    }

    void sum(side const& other, double alpha) {
        log_probs.resize(lengths.size());
        prefer::length_desensitized_sum(tokens_, offsets_, other.offsets_, log_probs,
                                        {.alpha = alpha});
    }

    /// The gradient of tokens or logits, from that of the sums in `gradient`.
    void add_to(results& out, side const* other = nullptr, double alpha = 1) const {
        column d_tokens(tokens_.size());
        if (other != nullptr) {
            prefer::length_desensitized_sum_backward(gradient, offsets_, other->offsets_, d_tokens,
                                                     {.alpha = alpha});
        } else {
            prefer::sequence_sum_backward(gradient, offsets_, d_tokens);
        }
        if (!from_logits_) {
            out.emplace_back("d_" + name_ + "tokens", std::move(d_tokens));
            return;
        }
        column d_logits(logits_.size());
        if (!ids_.empty()) {
            prefer::token_log_probs_backward(matrix(logits_), ids_, d_tokens, matrix(d_logits));
        }
        out.emplace_back("d_" + name_ + "logits", std::move(d_logits));
    }

    column const& tokens() const { return tokens_; }
    indices const& offsets() const { return offsets_; }

    indices lengths;
    column log_probs;
    column gradient;

private:
    std::string name_;
    bool from_logits_ = false;
    indices offsets_, ids_;
    column tokens_, logits_;
};

/// The log-probs of the reference, of the same layout.
side reference_of(question const& q, std::string const& name) {
    question r;
    r.arrays[name + "offsets"] = q.at(name + "offsets");
    r.arrays[name + "tokens"] = q.at("reference_" + name + "tokens");
    return side(r, name);
}

void write(double value, results const& gradients) {
    std::printf("value 1 %.17g\n", value);
    for (auto const& [name, values] : gradients) {
        std::printf("%s %zu", name.c_str(), values.size());
        for (double const x : values) std::printf(" %.17g", x);
        std::printf("\n");
    }
}

template <class L>
void run_pairs(question const& q) {
    L const loss = configured<L>(q);
    side chosen(q, "chosen_"), rejected(q, "rejected_");
    auto const ld = q.number("ld_alpha");
    auto const sum_both = [&](side& a, side& b) {
        if (ld) {
            a.sum(b, *ld);
            b.sum(a, *ld);
        } else {
            a.sum();
            b.sum();
        }
    };
    sum_both(chosen, rejected);
    prefer::pair_batch<double> batch(chosen.log_probs, rejected.log_probs);
    std::optional<side> reference_chosen, reference_rejected;
    if (q.has("reference_chosen_tokens")) {
        reference_chosen = reference_of(q, "chosen_");
        reference_rejected = reference_of(q, "rejected_");
        sum_both(*reference_chosen, *reference_rejected);
        batch = prefer::pair_batch(chosen.log_probs, rejected.log_probs,
                                   reference_chosen->log_probs, reference_rejected->log_probs);
    }
    batch = batch.with_lengths(chosen.lengths, rejected.lengths);

    column margins, weights(batch.size());
    if constexpr (std::is_same_v<L, prefer::loss::aot>) {
        prefer::loss::aot_quantiles quantiles;
        quantiles.add(batch);
        margins = quantiles.offsets();
    } else if (q.has("margins")) {
        margins = q.at("margins");
    }
    if (!margins.empty()) batch = batch.with_offsets(margins);
    if (q.has("chosen_collision")) {
        using prefer::loss::wpo_tokens;
        prefer::loss::wpo_weights(
            wpo_tokens{chosen.tokens(), chosen.offsets(), q.at("chosen_collision")},
            wpo_tokens{rejected.tokens(), rejected.offsets(), q.at("rejected_collision")}, weights);
        batch = batch.with_weights(weights);
    }
    chosen.gradient.resize(batch.size());
    rejected.gradient.resize(batch.size());
    prefer::pair_gradients const gradients{chosen.gradient, rejected.gradient};
    auto const summary = prefer::evaluate_pairs(loss, batch, gradients);
    results out;
    chosen.add_to(out, ld ? &rejected : nullptr, ld.value_or(1));
    rejected.add_to(out, ld ? &chosen : nullptr, ld.value_or(1));
    write(summary.loss, out);
}

template <class L>
void run_examples(question const& q) {
    L loss = configured<L>(q);
    side completion(q, "");
    completion.sum();
    std::optional<side> reference;
    prefer::example_batch<double> batch(completion.log_probs);
    if (q.has("reference_tokens")) {
        reference = reference_of(q, "");
        reference->sum();
        batch = prefer::example_batch(completion.log_probs, reference->log_probs);
    }
    batch = batch.with_lengths(completion.lengths);
    if (q.has("labels")) batch = batch.with_labels(q.at("labels"));
    prefer::example_options options;
    if constexpr (std::is_same_v<L, prefer::loss::kto>) {
        if (q.has("mismatched_tokens")) {
            side mismatched(q, "mismatched_");
            side mismatched_reference = reference_of(q, "mismatched_");
            mismatched.sum();
            mismatched_reference.sum();
            prefer::loss::kto_reference_point point;
            point.add(prefer::example_batch(mismatched.log_probs, mismatched_reference.log_probs));
            loss.reference_point = point.value();
        }
    }
    column partners(batch.size());
    if constexpr (std::is_same_v<L, prefer::loss::aot_unpaired>) {
        prefer::loss::aot_partners couples;
        auto const place = couples.add(batch);
        couples.partners(batch, place, partners);
        batch = batch.with_scores(partners);
        options.normalizer = static_cast<double>(couples.couples());
    }
    completion.gradient.resize(batch.size());
    prefer::example_gradients const gradients{completion.gradient};
    auto const summary = prefer::evaluate_examples(loss, batch, gradients, options);
    results out;
    completion.add_to(out);
    write(summary.loss, out);
}

using runner = void (*)(question const&);

template <class L>
void add_divergences(std::map<std::string, runner>& all, std::string const& name) {
    using namespace prefer::loss;
    all[name + "+forward_kl"] = run_pairs<with_divergence<L, divergence::forward_kl>>;
    all[name + "+jensen_shannon"] = run_pairs<with_divergence<L, divergence::jensen_shannon>>;
    all[name + "+alpha"] = run_pairs<with_divergence<L, divergence::alpha>>;
}

std::map<std::string, runner> runners() {
    using namespace prefer::loss;
    std::map<std::string, runner> all{
        {"dpo", run_pairs<dpo>},
        {"robust_dpo", run_pairs<robust_dpo>},
        {"ipo", run_pairs<ipo>},
        {"hinge_norm", run_pairs<hinge_norm>},
        {"exo", run_pairs<exo>},
        {"discopop", run_pairs<discopop>},
        {"nca", run_pairs<nca>},
        {"bco_pair", run_pairs<bco_pair>},
        {"sppo_hard", run_pairs<sppo_hard>},
        {"aot", run_pairs<aot>},
        {"apo_zero", run_pairs<apo_zero>},
        {"apo_down", run_pairs<apo_down>},
        {"cpo", run_pairs<cpo>},
        {"simpo", run_pairs<simpo>},
        {"alpha_po", run_pairs<alpha_po>},
        {"orpo", run_pairs<orpo>},
        {"tpo", run_pairs<tpo>},
        {"bradley_terry", run_pairs<bradley_terry>},
        {"with_nll<hinge_norm>", run_pairs<with_nll<hinge_norm>>},
        {"with_nll<ipo>", run_pairs<with_nll<ipo>>},
        {"with_nll<simpo>", run_pairs<with_nll<simpo>>},
        {"mpo", run_pairs<with_nll<mixture<dpo, bco_pair>>>},
        {"kto", run_examples<kto>},
        {"apo_zero_unpaired", run_examples<apo_zero_unpaired>},
        {"aot_unpaired", run_examples<aot_unpaired>},
        {"sft", run_examples<sft>},
    };
    add_divergences<dpo>(all, "dpo");
    add_divergences<robust_dpo>(all, "robust_dpo");
    add_divergences<ipo>(all, "ipo");
    add_divergences<hinge_norm>(all, "hinge_norm");
    add_divergences<exo>(all, "exo");
    add_divergences<discopop>(all, "discopop");
    return all;
}

}  // namespace

int main() {
    auto const all = runners();
    question q;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string first;
        words >> first;
        if (first == "case") {
            q = question{};
            words >> q.id;
        } else if (first == "loss") {
            words >> q.loss;
        } else if (first == "set") {
            std::string name, value;
            words >> name >> value;
            q.settings[name] = std::stod(value);
        } else if (first == "end") {
            std::printf("case %s\n", q.id.c_str());
            try {
                auto const found = all.find(q.loss);
                if (found == all.end()) throw std::runtime_error("no loss " + q.loss);
                found->second(q);
            } catch (std::exception const& error) {
                std::printf("error %s\n", error.what());
            }
            std::printf("end\n");
        } else {
            std::size_t count = 0;
            words >> count;
            column values;
            std::string word;
            while (words >> word) values.push_back(std::stod(word));
            if (values.size() != count) {
                std::fprintf(stderr, "trl_driver: %s is cut off\n", first.c_str());
                return 2;
            }
            q.arrays[first] = std::move(values);
        }
    }
    return 0;
}
