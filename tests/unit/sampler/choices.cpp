// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/scripted_generator.hpp"

#include <prefer/sampler/sampler.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <vector>

using prefer::philox;
using prefer::value_error;
using namespace prefer::sampler;
using prefer::test::family;
using prefer::test::scripted_uniforms;

namespace {

using indices = std::vector<std::size_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("best_of_n, top_k: the largest, the first of equals") {
    std::vector<float> const rewards{1, 3, 2, 3, 0};
    CHECK(best_of_n(rewards) == 1);
    CHECK(top_k(rewards, 0).empty());
    CHECK(top_k(rewards, 3) == indices{1, 3, 2});
    CHECK(top_k(rewards, 5) == indices{1, 3, 2, 0, 4});
    CHECK_THROWS_AS(top_k(rewards, 6), value_error);
    std::vector<float> const none, bad{1, std::numeric_limits<float>::infinity()};
    CHECK_THROWS_AS(best_of_n(none), value_error);
    CHECK_THROWS_AS(best_of_n(bad), value_error);
    CHECK_THROWS_AS(top_k(bad, 1), value_error);
}

TEST_CASE("best_of_n_kl_bound: log n - (n - 1) / n") {
    CHECK_SAME(best_of_n_kl_bound(1), 0.0);
    // log 2 - 1/2 and log 64 - 63/64, to 9 digits.
    CHECK_CLOSE(best_of_n_kl_bound(2), 0.193147181, family::quoted);
    CHECK_CLOSE(best_of_n_kl_bound(64), 3.17450808, family::quoted);
    CHECK_THROWS_AS(best_of_n_kl_bound(0), value_error);
    // Exact for the best of n uniform numbers: the density n x^(n-1), by the midpoint rule.
    double kl = 0;
    for (int i = 0; i < 1000; ++i) {
        double const density = 4 * std::pow((i + 0.5) / 1000, 3);
        kl += density * std::log(density) / 1000;
    }
    CHECK_CLOSE(static_cast<float>(best_of_n_kl_bound(4)), kl, family::finite_difference);
}

TEST_CASE("raft, rest: the choices as indices") {
    std::vector<double> const rewards{1, 4, 4, 0, 7};
    indices const offsets{0, 3, 3, 5};
    CHECK(raft(rewards, offsets) == indices{1, 4});
    CHECK(rest(rewards, 1) == indices{1, 2, 4});
    CHECK(rest(rewards, 7).empty());
    CHECK(rest(rewards, -infinity).size() == 5);
    CHECK_THROWS_AS(rest(rewards, not_a_number), value_error);
    indices const wrong{0, 3, 4};
    CHECK_THROWS_AS(raft(rewards, wrong), prefer::shape_error);
}

TEST_CASE("softmax_resample: the running sum of the weights") {
    // Logits 0 and 2 at temperature 2: 0.268941421 and 0.731058579; the running sums are these.
    std::vector<double> const rewards{0, 2};
    auto rng = scripted_uniforms({0, 0.2689, 0.2690, 0.99999});
    CHECK(softmax_resample{.beta = 2, .count = 4}(rewards, rng) == indices{0, 0, 1, 1});
    std::vector<double> const tied{1, 3, 3};
    philox any(1);
    for (std::size_t const i : softmax_resample{.beta = 0, .count = 50}(tied, any)) CHECK(i > 0);
    auto const all = softmax_resample{.beta = infinity, .count = 50}(tied, any);
    CHECK(std::set<std::size_t>(all.begin(), all.end()).size() == 3);
    // A weight that is nothing beside the others is never drawn, not even by the last number.
    std::vector<double> const far{0, -1e6};
    auto last = scripted_uniforms({1 - 0x1p-53});
    CHECK(softmax_resample{.beta = 1, .count = 1}(far, last) == indices{0});
    std::vector<double> const none, bad{not_a_number};
    CHECK(softmax_resample{.count = 0}(none, any).empty());
    CHECK_THROWS_AS((softmax_resample{.count = 1}(none, any)), value_error);
    CHECK_THROWS_AS((softmax_resample{.count = 1}(bad, any)), value_error);
    CHECK_THROWS_AS((softmax_resample{.beta = -1}(rewards, any)), value_error);
}

TEST_CASE("gumbel_top_k: the largest of rewards and Gumbel numbers") {
    // E = -log(1 - u): for u = 1 - 1/e, E = 1 and -log E = 0; u = 0.9 gives -log 2.302585 =
    // -0.834. Rewards 0 and 0.5 become 0 and -0.334.
    std::vector<double> const rewards{0, 0.5};
    auto rng = scripted_uniforms({1 - std::exp(-1.0), 0.9});
    CHECK(gumbel_top_k{.beta = 1, .count = 2}(rewards, rng) == indices{0, 1});
    std::vector<double> const more{1, 3, 2, 3};
    philox any(4);
    CHECK(gumbel_top_k{.beta = 0, .count = 3}(more, any) == indices{1, 3, 2});
    CHECK(any.save().position == 8);
    CHECK(gumbel_top_k{.beta = 5e-324, .count = 2}(more, any).size() == 2);
    std::vector<double> const far{-1e308, 1e308};
    CHECK(gumbel_top_k{.beta = 0.5, .count = 1}(far, any) == indices{1});
    for (int i = 0; i < 20; ++i) {
        auto const drawn = gumbel_top_k{.beta = infinity, .count = 4}(more, any);
        CHECK(std::set<std::size_t>(drawn.begin(), drawn.end()).size() == 4);
    }
    CHECK_THROWS_AS((gumbel_top_k{.count = 5}(more, any)), value_error);
    CHECK_THROWS_AS((gumbel_top_k{.beta = not_a_number, .count = 1}(more, any)), value_error);
}

TEST_CASE("streaming_rejection: a known bound is kept, an estimated one raised") {
    auto rng = scripted_uniforms({0.1, 0.2, 0.9});
    streaming_rejection known(0.5, 2, reward_bound::known);
    CHECK(known.offer(1, rng));        // exp(-2) = 0.135 > 0.1
    CHECK_FALSE(known.offer(1, rng));  // 0.2
    CHECK(known.offer(2, rng));        // the bound itself, always
    CHECK(known.offered() == 3);
    CHECK(known.accepted() == 2);
    CHECK_THROWS_AS(known.offer(2.1, rng), value_error);
    CHECK_THROWS_AS(known.offer(not_a_number, rng), value_error);
    CHECK(rng.calls() == 3);

    streaming_rejection estimated(0.5, -infinity, reward_bound::estimated);
    auto more = scripted_uniforms({0.99, 0.99, 0.99});
    CHECK(estimated.offer(0, more));
    CHECK_SAME(estimated.survival(), 1.0);
    CHECK(estimated.offer(1, more));
    CHECK_CLOSE(estimated.survival(), 0.135335283, family::quoted);  // exp(-2)
    CHECK_SAME(estimated.bound(), 1.0);
    CHECK_FALSE(estimated.offer(0, more));
    CHECK_SAME(estimated.survival(), 1.0);

    CHECK_THROWS_AS(streaming_rejection(-1, 0, reward_bound::known), value_error);
    CHECK_THROWS_AS(streaming_rejection(1, -infinity, reward_bound::known), value_error);
    CHECK_THROWS_AS(streaming_rejection(1, not_a_number, reward_bound::estimated), value_error);
}

TEST_CASE("streaming_rejection: saved and loaded between any two offers") {
    philox rng(8);
    streaming_rejection whole(0.5, -infinity, reward_bound::estimated);
    streaming_rejection parts = whole;
    for (int i = 0; i < 30; ++i) {
        prefer::state_writer out;
        parts.save(out, "stream");
        auto const bytes = out.finish();
        prefer::state_reader in(bytes);
        streaming_rejection loaded(0.5, -infinity, reward_bound::estimated);
        loaded.load(in, "stream");
        parts = loaded;
        double const reward = prefer::uniform01<double>(rng);
        philox same = rng;
        CHECK(whole.offer(reward, rng) == parts.offer(reward, same));
        CHECK_SAME_BITS(whole.bound(), parts.bound());
        CHECK_SAME_BITS(whole.survival(), parts.survival());
        CHECK(whole.accepted() == parts.accepted());
    }
    prefer::state_writer out;
    whole.save(out, "stream");
    auto const bytes = out.finish();
    prefer::state_reader in(bytes);
    streaming_rejection other(0.25, -infinity, reward_bound::estimated);
    CHECK_THROWS_AS(other.load(in, "stream"), prefer::state_error);
    CHECK(other.offered() == 0);
}
