// SPDX-License-Identifier: MIT
#include "support/losses.hpp"
#include "support/catch.hpp"

#include "align/losses.hpp"
#include "align/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using align::make_loss;
using align::parameter_texts;
using align::usage_error;

template <class L, class List>
struct is_in : std::false_type {};

template <class L, class... Ls>
struct is_in<L, std::tuple<Ls...>> : std::bool_constant<(std::is_same_v<L, Ls> || ...)> {};

std::string what(std::string const& name, parameter_texts const& given) {
    try {
        make_loss(name, given);
    } catch (usage_error const& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("every loss that the trainer has the inputs of is there, under its name") {
    std::vector<std::string> expected;
    auto const add = [&](auto const& loss) {
        using L = std::remove_cvref_t<decltype(loss)>;
        prefer::pair_inputs const reads = loss.inputs();
        if (is_in<L, prefer::test::modified_losses>::value ||
            is_in<L, prefer::test::reward_models_losses>::value || reads.scores || reads.labels ||
            reads.offsets) {
            return;
        }
        std::string name = prefer::test::loss_facts<L>::name();
        std::replace(name.begin(), name.end(), '_', '-');
        expected.push_back(name);
    };
    std::apply([&](auto const&... losses) { (add(losses), ...); }, prefer::test::pair_losses{});
    std::vector<std::string> names = align::loss_names();
    std::sort(expected.begin(), expected.end());
    std::sort(names.begin(), names.end());
    CHECK(names == expected);
}

TEST_CASE("a loss is made from texts, and says what it became") {
    auto const made = make_loss("simpo", {{"gamma_is", "absolute"}, {"beta", "2.5"}});
    CHECK(made.name == "simpo");
    CHECK(made.parameters == parameter_texts{{"beta", "2.5"},
                                             {"gamma", "0.25"},
                                             {"gamma_is", "absolute"},
                                             {"label_smoothing", "0"}});

    std::vector<double> const chosen{-6}, rejected{-8};
    std::vector<std::int64_t> const length{2};
    auto const batch = prefer::pair_batch(chosen, rejected).with_lengths(length, length);
    prefer::loss::simpo const same{.beta = 2.5, .gamma_is = prefer::loss::simpo_gamma::absolute};
    std::vector<double> d_chosen(1), d_rejected(1), e_chosen(1), e_rejected(1);
    auto const a = made.loss.evaluate(batch, prefer::pair_gradients{d_chosen, d_rejected});
    auto const b = evaluate_pairs(same, batch, prefer::pair_gradients{e_chosen, e_rejected});
    CHECK(a.loss == b.loss);
    CHECK(a.margin == b.margin);
    CHECK(d_chosen == e_chosen);
    CHECK(d_rejected == e_rejected);
    CHECK(made.loss.evaluate(batch).loss == b.loss);
}

TEST_CASE("the hyper-parameters of every loss read back as they are listed") {
    for (std::string const& name : align::loss_names()) {
        CAPTURE(name);
        parameter_texts const all = make_loss(name).parameters;
        CHECK(make_loss(name, all).parameters == all);
        for (std::size_t i = 0; i < all.size(); ++i) {
            CHECK(make_loss(name, {all[i]}).parameters == all);
        }
    }
    for (auto const& [name, parameter, text] :
         std::vector<std::array<std::string, 3>>{{"dpo", "beta", "0.30000000000000004"},
                                                 {"dpo", "margin_of", "averaged"},
                                                 {"ipo", "margin_of", "summed"},
                                                 {"ipo", "target", "half_beta"},
                                                 {"simpo", "gamma_is", "absolute"}}) {
        auto const all = make_loss(name, {{parameter, text}}).parameters;
        CHECK(std::count(all.begin(), all.end(), std::pair(parameter, text)) == 1);
    }
}

TEST_CASE("the fingerprint of a run has every hyper-parameter") {
    align::settings s;
    s.loss = make_loss("ipo", {{"beta", "0.25"}});
    auto const print = s.fingerprint();
    auto const has = [&](char const* name, char const* value) {
        return std::find(print.begin(), print.end(),
                         std::pair<std::string, std::string>(name, value)) != print.end();
    };
    CHECK(has("--loss", "ipo"));
    CHECK(has("--set beta", "0.25"));
    CHECK(has("--set margin_of", "averaged"));
    CHECK(has("--set target", "half_inverse_beta"));
}

TEST_CASE("what a loss does not have is refused, with what it has") {
    CHECK(what("best", {}).substr(0, 42) == "there is no loss best; there are dpo, robu");
    CHECK(what("hinge_norm", {}).substr(0, 24) == "there is no loss hinge_n");
    CHECK(what("nca", {{"gamma", "1"}}) == "the loss nca has no gamma; it has beta=0.1");
    CHECK(what("nca", {{"beta", "1e"}}) == "the loss's beta cannot be '1e': nca has beta=0.1");
    CHECK(what("ipo", {{"target", "beta"}}) ==
          "the loss's target cannot be 'beta': ipo has beta=0.1 margin_of=averaged|summed "
          "target=half_inverse_beta|half_beta");
    CHECK(what("nca", {{"beta", "1"}, {"beta", "1"}}) == "the loss's beta is given twice");
    CHECK_THROWS_AS(make_loss("nca", {{"beta", "0"}}), prefer::value_error);
    CHECK_THROWS_AS(make_loss("tpo", {{"gamma", "inf"}}), prefer::value_error);
}
