// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include "align/metrics.hpp"
#include "align/task.hpp"
#include "align/trainer.hpp"

#include <prefer/prefer.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace align;

/// A loss that the library does not have: the margin is pulled towards 2 nats, gently from afar.
struct pseudo_huber {
    double target = 2.0;

    static constexpr prefer::pair_inputs inputs() { return {.reference = true, .lengths = false}; }

    template <class S>
    S operator()(prefer::pair<S> const& p) const {
        using std::sqrt, prefer::math::sqrt;
        S const gap = p.margin() - target;
        return sqrt(1 + gap * gap) - 1;
    }
};

preference_set encoded(std::vector<preference> const& pairs, std::size_t window) {
    preference_set out;
    for (auto const& p : pairs) out.pairs.push_back(letter_task::words().encode(p, window));
    return out;
}

trainer<float> small_trainer(std::size_t threads = 2) {
    auto const words = letter_task::words();
    prefer::philox rng(7);
    auto const training = letter_task::draw(400, rng);
    auto const held_out = letter_task::draw(40, rng);
    return {{.inputs = words.inputs(),
             .outputs = words.outputs(),
             .window = 6,
             .embedding = 6,
             .hidden = 24,
             .padding = words.nothing()},
            encoded(training, 6),
            encoded(held_out, 6),
            {.batch = 32, .threads = threads, .seed = 3}};
}

}  // namespace

TEST_CASE("a loss of the user's own trains like a built-in one") {
    trainer<float> t = small_trainer();
    for (int i = 0; i < 60; ++i) t.supervised_step(3e-3);
    t.start_alignment();

    auto const before = t.evaluate(pseudo_huber{}, t.training());
    CHECK(before.pairs == 400);
    CHECK(std::abs(before.loss - (std::sqrt(5.0) - 1)) < 1e-12);  // every margin is exactly 0
    CHECK(before.accuracy == 0.5);
    CHECK(before.strict_accuracy == 0);
    for (int i = 0; i < 100; ++i) t.preference_step(pseudo_huber{}, 3e-3);
    auto const after = t.evaluate(pseudo_huber{}, t.training());
    CHECK(after.loss < 0.8 * before.loss);
    CHECK(after.accuracy > 0.7);
    CHECK(t.evaluate(pseudo_huber{}, t.held_out()).accuracy > 0.6);
    CHECK(after.margin > 0.5);
    CHECK(after.margin < 3);  // a finite target
}

TEST_CASE("a lambda is a loss as well") {
    auto const hinge = [](auto const& p) {
        using prefer::math::max;
        auto const gap = 1 - p.margin();
        return max(gap - gap, gap);
    };
    trainer<float> t = small_trainer();
    t.start_alignment();
    auto const first = t.preference_step(hinge, 1e-2);
    for (int i = 0; i < 40; ++i) t.preference_step(hinge, 1e-2);
    CHECK(t.evaluate(hinge, t.training()).loss < first.loss);
}

TEST_CASE("a saved trainer goes on exactly where it was") {
    prefer::loss::dpo const loss{.beta = 0.1};
    trainer<float> whole = small_trainer(1);
    for (int i = 0; i < 5; ++i) whole.supervised_step(1e-2);
    whole.start_alignment();
    for (int i = 0; i < 5; ++i) whole.preference_step(loss, 1e-2);

    prefer::state_writer out;
    whole.save(out);
    auto const bytes = out.finish();
    trainer<float> resumed = small_trainer(2);
    prefer::state_reader in(bytes);
    resumed.load(in);
    in.finish();
    for (int i = 0; i < 20; ++i) {
        auto const a = whole.preference_step(loss, 1e-2);
        auto const b = resumed.preference_step(loss, 1e-2);
        REQUIRE(a.loss == b.loss);
        REQUIRE(a.margin == b.margin);
    }
    CHECK((whole.policy().array() == resumed.policy().array()).all());
}

TEST_CASE("metrics survive being saved, and read back from CSV what was measured") {
    metrics m;
    metrics::row row;
    row[metrics::phase] = 0;
    row[metrics::step] = 1;
    row[metrics::loss] = 0.1;
    m.add(row);
    prefer::state_writer out;
    m.save(out);
    auto const bytes = out.finish();
    metrics again;
    prefer::state_reader in(bytes);
    again.load(in);
    CHECK(again.csv() == m.csv());
    std::string const csv = m.csv();
    CHECK(csv.substr(csv.find('\n') + 1) == "sft,1,0.1,,,,,,,,,,\n");
}

TEST_CASE("minibatches visit everything once an epoch") {
    minibatches batches(10, prefer::philox(1));
    for (int epoch = 0; epoch < 3; ++epoch) {
        std::vector<int> seen(10, 0);
        for (int b = 0; b < 5; ++b) {
            for (std::size_t const i : batches.next(2)) ++seen[i];
        }
        CHECK(seen == std::vector<int>(10, 1));
    }
    CHECK(batches.next(25).size() == 25);
    CHECK_THROWS_AS(minibatches(0, prefer::philox(1)), std::invalid_argument);
}
