// SPDX-License-Identifier: MIT
#include "align/losses.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <prefer/loss/loss.hpp>

namespace align {
namespace {

namespace loss = prefer::loss;

template <class Enum, std::size_t N>
using words = std::array<std::pair<std::string_view, Enum>, N>;

// What the hyper-parameters that are no numbers may be.
constexpr auto words_of(prefer::log_probs) {
    using e = prefer::log_probs;
    return words<e, 2>{{{"summed", e::summed}, {"averaged", e::averaged}}};
}
constexpr auto words_of(loss::ipo_target) {
    using e = loss::ipo_target;
    return words<e, 2>{{{"half_inverse_beta", e::half_inverse_beta}, {"half_beta", e::half_beta}}};
}
constexpr auto words_of(loss::simpo_gamma) {
    using e = loss::simpo_gamma;
    return words<e, 2>{{{"ratio", e::ratio}, {"absolute", e::absolute}}};
}

std::string as_text(double value) {
    return support::shortest(value);
}

template <class Enum>
std::string as_text(Enum value) {
    for (auto const& [word, meaning] : words_of(value)) {
        if (meaning == value) return std::string(word);
    }
    return "?";
}

/// What a hyper-parameter may be, where its type says so, the default first.
std::string choices(double value) {
    return as_text(value);
}

template <class Enum>
std::string choices(Enum value) {
    std::string all = as_text(value);
    for (auto const& [word, meaning] : words_of(value)) {
        if (meaning != value) all += '|' + std::string(word);
    }
    return all;
}

bool read(std::string const& text, double& value) {
    char const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stop == end;
}

template <class Enum>
bool read(std::string const& text, Enum& value) {
    for (auto const& [word, meaning] : words_of(value)) {
        if (word != text) continue;
        value = meaning;
        return true;
    }
    return false;
}

template <class Loss, class Use>
void for_each_parameter(Use const& use) {
    std::apply([&](auto const&... p) { (use(p), ...); }, Loss::parameters());
}

/// "beta=0.1 margin_of=summed|averaged"
template <class Loss>
std::string describe() {
    Loss const defaults{};
    std::string all;
    for_each_parameter<Loss>([&](auto const& p) {
        all += (all.empty() ? "" : " ") + std::string(p.name) + '=' + choices(defaults.*p.member);
    });
    return all;
}

template <class Loss>
named_loss make(std::string const& name, parameter_texts const& given) {
    Loss made{};
    for (auto entry = given.begin(); entry != given.end(); ++entry) {
        auto const& [parameter, text] = *entry;
        auto const is_same = [&](auto const& other) { return other.first == parameter; };
        if (std::any_of(given.begin(), entry, is_same)) {
            throw usage_error("the loss's " + parameter + " is given twice");
        }
        bool known = false;
        for_each_parameter<Loss>([&](auto const& p) {
            if (parameter != p.name) return;
            known = true;
            if (!read(text, made.*p.member)) {
                throw usage_error("the loss's " + parameter + " cannot be '" + text + "': " + name +
                                  " has " + describe<Loss>());
            }
        });
        if (!known) {
            throw usage_error("the loss " + name + " has no " + parameter + "; it has " +
                              describe<Loss>());
        }
    }
    made.validate();
    parameter_texts all;
    for_each_parameter<Loss>(
        [&](auto const& p) { all.emplace_back(p.name, as_text(made.*p.member)); });
    return {name, all, made};
}

struct entry {
    std::string_view name;
    named_loss (*make)(std::string const&, parameter_texts const&);
    std::string (*describe)();
};

template <class Loss>
constexpr entry of(std::string_view name) {
    constexpr prefer::pair_inputs reads = Loss{}.inputs();
    static_assert(!reads.scores && !reads.labels && !reads.offsets,
                  "the preferences of this trainer have no scores, labels or offsets");
    return {name, make<Loss>, describe<Loss>};
}

constexpr std::array losses{
    of<loss::dpo>("dpo"),
    of<loss::robust_dpo>("robust-dpo"),
    of<loss::ipo>("ipo"),
    of<loss::hinge_norm>("hinge-norm"),
    of<loss::exo>("exo"),
    of<loss::discopop>("discopop"),
    of<loss::r_dpo>("r-dpo"),
    of<loss::spin>("spin"),
    of<loss::nca>("nca"),
    of<loss::bco_pair>("bco-pair"),
    of<loss::sppo_hard>("sppo-hard"),
    of<loss::apo_zero>("apo-zero"),
    of<loss::apo_down>("apo-down"),
    of<loss::dpop>("dpop"),
    of<loss::cal_dpo>("cal-dpo"),
    of<loss::slic>("slic"),
    of<loss::cpo>("cpo"),
    of<loss::simpo>("simpo"),
    of<loss::alpha_po>("alpha-po"),
    of<loss::orpo>("orpo"),
    of<loss::tpo>("tpo"),
};

}  // namespace

named_loss make_loss(std::string const& name, parameter_texts const& given) {
    for (entry const& e : losses) {
        if (e.name == name) return e.make(name, given);
    }
    std::string all;
    for (entry const& e : losses) all += (all.empty() ? "" : ", ") + std::string(e.name);
    throw usage_error("there is no loss " + name + "; there are " + all);
}

std::vector<std::string> loss_names() {
    std::vector<std::string> names;
    for (entry const& e : losses) names.emplace_back(e.name);
    return names;
}

std::string loss_table() {
    std::string out;
    for (entry const& e : losses) {
        std::string name(e.name);
        name.resize(12, ' ');
        out += name + e.describe() + '\n';
    }
    return out;
}

}  // namespace align
