// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/element.hpp>
#include <prefer/core/layout.hpp>
#include <prefer/core/pair_batch.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/evaluate_pairs.hpp>
#include <prefer/loss/wpo.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using prefer::loss::wpo_clamp;
using prefer::loss::wpo_tokens;
using prefer::loss::wpo_weights;
using prefer::test::family;

namespace {

double const unset = std::numeric_limits<double>::quiet_NaN();

// One pair: means -1.5 and -2; with the collision terms -0.5 and -2/3.
std::array const chosen{-1.0, -2.0};
std::array const rejected{-0.5, -1.5, -4.0};
std::array const chosen_collision{-0.5, -1.5};
std::array const rejected_collision{-1.0, -1.0, -2.0};
std::array const two{0, 2};
std::array const three{0, 3};

}  // namespace

TEST_CASE("wpo: the product of geometric-mean probabilities") {
    std::vector<double> w(1, unset);
    auto const counts = wpo_weights(wpo_tokens{chosen, two}, wpo_tokens{rejected, three}, w);
    CHECK_CLOSE(w[0], 0.0301973834223185, family::pair_loss);  // e^-3.5
    CHECK(counts.chosen.tokens == 2);
    CHECK(counts.rejected.tokens == 3);
    CHECK(counts.chosen.empty == 0);
    CHECK(counts.rejected.sequences == 1);
    CHECK_DISTINGUISHES(0.0301973834223185, std::exp(-9.0), family::pair_loss);  // of the sums
}

TEST_CASE("wpo: adjusted by the collision probability, on both sides or on one") {
    std::vector<double> w(1, unset);
    wpo_weights(wpo_tokens{chosen, two, chosen_collision},
                wpo_tokens{rejected, three, rejected_collision}, w);
    CHECK_CLOSE(w[0], 0.3114032239145977, family::pair_loss);
    wpo_weights(wpo_tokens{chosen, two, chosen_collision}, wpo_tokens{rejected, three}, w);
    CHECK_CLOSE(w[0], 0.0820849986238987952, family::pair_loss);  // e^-2.5
}

TEST_CASE("wpo: what is capped at 1") {
    // Means of 1 and -0.5: factors e and e^-0.5.
    std::array const likely{-0.25};
    std::array const spread{-1.25};
    std::array const one{0, 1};
    std::array const unlikely{-0.5};
    auto const weight = [&](wpo_clamp clamp, bool other) {
        std::vector<double> w(1, unset);
        if (other) {
            wpo_weights(wpo_tokens{likely, one, spread}, wpo_tokens{likely, one, spread}, w,
                        {.clamp = clamp});
        } else {
            wpo_weights(wpo_tokens{likely, one, spread}, wpo_tokens{unlikely, one}, w,
                        {.clamp = clamp});
        }
        return w[0];
    };
    CHECK_CLOSE(weight(wpo_clamp::none, false), 1.64872127070012815, family::pair_loss);
    CHECK_CLOSE(weight(wpo_clamp::none, true), 7.38905609893065023, family::pair_loss);
    CHECK_SAME(weight(wpo_clamp::pair, false), 1.0);
    CHECK_SAME(weight(wpo_clamp::pair, true), 1.0);
    CHECK_CLOSE(weight(wpo_clamp::each_response, false), 0.606530659712633424, family::pair_loss);
    CHECK_SAME(weight(wpo_clamp::each_response, true), 1.0);
    // The default is none.
    std::vector<double> w(1, unset);
    wpo_weights(wpo_tokens{likely, one, spread}, wpo_tokens{unlikely, one}, w);
    CHECK_SAME(w[0], weight(wpo_clamp::none, false));
}

TEST_CASE("wpo: tokens that do not count are not read, in any layout (L2)") {
    std::array const padded_chosen{unset, -1.0, -2.0, HUGE_VAL, 9.0, 9.0};
    std::array const mask{0, 1, 1, 0, 0, 0};
    std::array const offsets{0, 4, 6};
    std::array const mask_rejected{1, 1, 1, 1, 0, 0};
    std::array const padded_rejected{-0.5, -1.5, -4.0, -3.0, unset, unset};
    std::array const collision{unset, -0.5, -1.5, unset, unset, unset};
    std::vector<double> w(2, unset);
    auto const counts =
        wpo_weights(wpo_tokens{padded_chosen, prefer::packed(offsets).with_mask(mask), collision},
                    wpo_tokens{padded_rejected,
                               prefer::padded(prefer::matrix_view(mask_rejected.data(), 2, 3))},
                    w);
    CHECK_CLOSE(w[0], 0.0820849986238987952, family::pair_loss);
    // The second chosen response has no counted token: a factor of 1, and no NaN (L3).
    CHECK_CLOSE(w[1], 0.0497870683678639430, family::pair_loss);  // e^-3
    CHECK(counts.chosen.empty == 1);
    CHECK(counts.rejected.empty == 0);
}

TEST_CASE("wpo: empty pairs weigh 1, impossible ones 0, no pairs nothing") {
    std::array const none{0, 0};
    std::vector<double> const no_tokens;
    std::vector<double> w(1, unset);
    wpo_weights(wpo_tokens{no_tokens, none}, wpo_tokens{no_tokens, none}, w);
    CHECK_SAME(w[0], 1.0);
    std::array const impossible{-1.0, -HUGE_VAL};
    wpo_weights(wpo_tokens{impossible, two}, wpo_tokens{rejected, three}, w);
    CHECK_SAME(w[0], 0.0);
    std::array const no_pairs{0};
    std::vector<double> nothing;
    auto const counts =
        wpo_weights(wpo_tokens{no_tokens, no_pairs}, wpo_tokens{no_tokens, no_pairs}, nothing);
    CHECK(counts.chosen.sequences == 0);
}

TEST_CASE("wpo: other element types, and into a batch") {
    std::array const c{-1.0F, -2.0F};
    std::array const r{prefer::bfloat16(-0.5F), prefer::bfloat16(-1.5F), prefer::bfloat16(-4.0F)};
    std::vector<float> w(1);
    wpo_weights(wpo_tokens{c, two}, wpo_tokens{r, three}, w);
    CHECK_CLOSE(w[0], 0.0301973834223185, family::pair_loss);

    std::vector<float> const pc{-3}, pr{-6}, rc{-3}, rr{-6};
    prefer::pair_batch const batch{pc, pr, rc, rr};
    auto const s = prefer::evaluate_pairs(prefer::loss::dpo{}, batch.with_weights(w));
    CHECK_CLOSE(static_cast<float>(s.loss), 0.020931231179467699, family::pair_loss);
}

TEST_CASE("wpo: what does not fit is refused, before anything is written") {
    std::vector<double> w{7};
    std::vector<double> two_weights(2);
    std::array const pairs{0, 1, 3};
    std::array const broken{0, 3, 2};
    CHECK_THROWS_MESSAGE(wpo_weights(wpo_tokens{chosen, three}, wpo_tokens{rejected, three}, w),
                         prefer::shape_error,
                         "prefer::loss::wpo_weights: chosen.token_logp has size 2");
    CHECK_THROWS_MESSAGE(wpo_weights(wpo_tokens{chosen, two}, wpo_tokens{rejected, two}, w),
                         prefer::shape_error, "rejected.token_logp has size 3");
    CHECK_THROWS_MESSAGE(
        wpo_weights(wpo_tokens{chosen, two, rejected}, wpo_tokens{rejected, three}, w),
        prefer::shape_error, "chosen.log_collision has size 3");
    CHECK_THROWS_MESSAGE(wpo_weights(wpo_tokens{chosen, two}, wpo_tokens{rejected, pairs}, w),
                         prefer::shape_error, "rejected has size 2");
    CHECK_THROWS_MESSAGE(wpo_weights(wpo_tokens{chosen, two}, wpo_tokens{rejected, broken}, w),
                         prefer::shape_error, "never fall");
    CHECK_THROWS_MESSAGE(
        wpo_weights(wpo_tokens{chosen, two}, wpo_tokens{rejected, three}, two_weights),
        prefer::shape_error, "weights has size 2");
    CHECK_THROWS_MESSAGE(wpo_weights(wpo_tokens{chosen, two}, wpo_tokens{rejected, three}, w,
                                     {.clamp = static_cast<wpo_clamp>(3)}),
                         prefer::value_error, "clamp is 3, but must be a named enumerator");
    CHECK_SAME(w[0], 7.0);
}
