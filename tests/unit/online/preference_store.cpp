// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/environment.hpp"

#include <prefer/core/random.hpp>
#include <prefer/core/state.hpp>
#include <prefer/online/preference_store.hpp>
#include <prefer/online/replay_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

using prefer::philox;
using prefer::state_error;
using prefer::value_error;
using prefer::online::label_source;
using prefer::online::preference_record;
using prefer::online::preference_store;
using prefer::online::replay_options;
using prefer::online::replay_reader;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

preference_record any_record(philox& rng) {
    double const scores[] = {prefer::uniform01<double>(rng), -0.0, infinity, -infinity, 5e-324};
    auto const word = [&] { return prefer::detail::random_bits_64(rng); };
    preference_record r{.prompt = word(), .chosen = word(), .chosen_version = word()};
    r.rejected = r.chosen + 1 + prefer::uniform_index(rng, 9);
    r.chosen_score = scores[prefer::uniform_index(rng, 5)];
    r.rejected_score = scores[prefer::uniform_index(rng, 5)];
    r.rejected_version = word();
    r.source = static_cast<label_source>(prefer::uniform_index(rng, 3));
    r.step = word();
    return r;
}

std::vector<std::byte> saved(preference_store const& store) {
    prefer::state_writer out;
    store.save(out, "s");
    return out.finish();
}

void load(preference_store& store, std::vector<std::byte> const& bytes) {
    prefer::state_reader in(bytes);
    store.load(in, "s");
    in.finish();
}

std::string what_append_says(preference_record const& r) {
    preference_store store;
    try {
        store.append(r);
    } catch (value_error const& e) {
        CHECK(store.total() == 0);
        CHECK(store.size() == 0);
        return e.what();
    }
    return "";
}

constexpr preference_record good{.prompt = 7,
                                 .chosen = 1,
                                 .rejected = 2,
                                 .chosen_score = 0.5,
                                 .rejected_score = -0.5,
                                 .chosen_version = 800,
                                 .rejected_version = 0,
                                 .source = label_source::reward_model,
                                 .step = 12};

}  // namespace

TEST_CASE("preference_store: it holds the newest records by age and by number, as a deque does") {
    philox rng(prefer::test::seed());
    for (int trial = 0; trial < 60; ++trial) {
        bool const bounded = trial % 4 != 0;
        std::size_t const capacity = 1 + prefer::uniform_index(rng, 9);
        preference_store store = bounded ? preference_store(capacity) : preference_store();
        CHECK(store.capacity() == (bounded ? capacity : preference_store::unbounded));
        std::deque<preference_record> model;
        std::size_t const count = prefer::uniform_index(rng, 30);
        for (std::size_t n = 0; n <= count; ++n) {
            REQUIRE(store.size() == model.size());
            CHECK(store.total() == n);
            CHECK(store.first() == n - model.size());
            for (std::size_t i = 0; i < model.size(); ++i) {
                CHECK(store[i] == model[i]);
                CHECK(&store.at(store.first() + i) == &store[i]);
            }
            CHECK_THROWS_AS(store[store.size()], value_error);
            CHECK_THROWS_AS(store.at(n), value_error);
            if (store.first() > 0) CHECK_THROWS_AS(store.at(store.first() - 1), value_error);
            model.push_back(any_record(rng));
            CHECK(store.append(model.back()) == n);
            if (bounded && model.size() > capacity) model.pop_front();
        }
    }
}

TEST_CASE("preference_store: restored between any two records it goes on identically") {
    philox rng(prefer::test::seed(), 1);
    for (std::uint64_t const capacity :
         {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{8}, preference_store::unbounded}) {
        for (int stop = 0; stop <= 12; ++stop) {
            preference_store store(capacity);
            for (int i = 0; i < stop; ++i) store.append(any_record(rng));
            auto const bytes = saved(store);
            preference_store again(capacity);
            again.append(good);  // is replaced
            load(again, bytes);
            CHECK(saved(again) == bytes);  // -0.0 and all: every bit
            for (int i = 0; i < 5; ++i) {
                auto const r = any_record(rng);
                CHECK(store.append(r) == again.append(r));
                CHECK(saved(again) == saved(store));
                CHECK(again[again.size() - 1] == r);
            }
        }
    }
}

TEST_CASE("preference_store: what is no record is refused") {
    CHECK_THROWS_AS(preference_store(0), value_error);
    CHECK(what_append_says(good).empty());
    auto r = good;
    r.chosen_score = infinity;
    r.rejected_score = infinity;
    CHECK(what_append_says(r).empty());

    std::string const function = "prefer::online::preference_store::append: ";
    r = good;
    r.chosen_score = not_a_number;
    CHECK(what_append_says(r) == function + "chosen_score is NaN, but must be a number");
    r = good;
    r.rejected_score = -not_a_number;
    CHECK(what_append_says(r) == function + "rejected_score is NaN, but must be a number");
    r = good;
    r.rejected = 1;
    CHECK(what_append_says(r) ==
          function + "rejected is 1, but must be another response than chosen");
    r = good;
    r.source = static_cast<label_source>(3);
    CHECK(what_append_says(r) == function + "source is 3, but must be a label_source, 0 to 2");
}

TEST_CASE("preference_store: inconsistent state is refused and changes nothing") {
    using words = std::vector<std::uint64_t>;
    words const one{7, 1, 2, 0, 0, 800, 0, 1, 12};  // a record, scores 0 and 0
    auto const state = [](words const& shape, words const& records) {
        prefer::state_writer out;
        out.put("s.shape", shape);
        out.put("s.records", records);
        return out.finish();
    };
    preference_store store(2);
    store.append(good);
    auto const before = saved(store);
    auto const refused = [&](words const& shape, words const& records) {
        CHECK_THROWS_AS(load(store, state(shape, records)), state_error);
        CHECK(saved(store) == before);
    };
    refused({3, 1}, one);     // another capacity
    refused({2, 2}, one);     // a record is missing
    refused({2, 0}, one);     // one too many
    refused({2}, one);        // no total
    refused({2, 1, 0}, one);  // and something else
    refused({2, 1}, {7, 1, 2, 0, 0, 800, 0, 1});
    refused({2, 0}, {7});
    for (std::size_t const field : {3U, 4U}) {
        auto bad = one;
        bad[field] = 0x7ff8000000000000U;  // NaN
        refused({2, 1}, bad);
    }
    for (std::uint64_t const source : {std::uint64_t{3}, std::uint64_t{0x101}}) {
        auto bad = one;
        bad[7] = source;
        refused({2, 1}, bad);
    }
    auto same = one;
    same[2] = 1;
    refused({2, 1}, same);

    load(store, state({2, 1}, one));
    CHECK(store.total() == 1);
    CHECK(store[0] == preference_record{.prompt = 7,
                                        .chosen = 1,
                                        .rejected = 2,
                                        .chosen_version = 800,
                                        .source = label_source::reward_model,
                                        .step = 12});
}

TEST_CASE("preference_store: read again in recorded order, shuffled, and shuffled in windows") {
    std::size_t const batch = 4;
    preference_store store(40);
    for (std::uint64_t step = 0; step < 50; ++step) {
        store.append({.prompt = step, .chosen = 1, .rejected = 2, .step = step / batch});
    }
    auto const prompts = [&](std::size_t window) {
        std::vector<std::uint64_t> out;
        replay_reader reader(store.size(), {.batch = batch, .window = window}, philox(5));
        while (reader.left() > 0) out.push_back(store[reader.next()].prompt);
        return out;
    };
    auto const online = prompts(1);  // D_online
    REQUIRE(online.size() == 40);
    for (std::size_t i = 0; i < 40; ++i) CHECK(online[i] == 10 + i);

    auto shuffled = prompts(replay_options::whole_record);  // D_online-shuffled
    CHECK(shuffled != online);
    std::sort(shuffled.begin(), shuffled.end());
    CHECK(shuffled == online);

    auto windows = prompts(2);  // appendix G: within 2 batches, that is 8 records
    CHECK(windows != online);
    for (std::size_t at = 0; at < 40; at += 8) {
        std::sort(windows.data() + at, windows.data() + at + 8);
    }
    CHECK(windows == online);
}

TEST_CASE("preference_store: a reader by number goes on while the store grows") {
    philox const rng(3);
    preference_store store(27);  // 7 more than are read: as far as a window of 8 looks back
    std::uint64_t prompt = 0;
    auto const record = [&] { store.append({.prompt = prompt++, .chosen = 1, .rejected = 2}); };
    while (prompt < 20) record();
    std::vector<std::uint64_t> read;
    auto const use = [&](preference_record const& r) { read.push_back(r.prompt), record(); };

    auto const first = store.first();
    replay_reader reader(store.size(), {.batch = 4, .window = 2}, rng);
    while (reader.left() > 0) use(store.at(first + reader.next()));

    CHECK(store.total() == 40);
    CHECK(store.first() == 13);
    CHECK_THROWS_AS(store.at(first), value_error);  // overwritten, once it had been read
    std::sort(read.begin(), read.end());
    for (std::uint64_t i = 0; i < 20; ++i) CHECK(read[i] == i);
}

TEST_CASE("preference_store: store and reader, saved together anywhere, go on identically") {
    for (std::size_t stop = 0; stop <= 10; ++stop) {
        philox rng(prefer::test::seed(), 2);
        preference_store store(10);
        for (int i = 0; i < 13; ++i) store.append(any_record(rng));
        replay_options const options{.batch = 2, .window = 2};
        replay_reader reader(store.size(), options, philox(1));
        for (std::size_t i = 0; i < stop; ++i) reader.next();
        prefer::state_writer out;
        store.save(out, "store");
        reader.save(out, "reader");
        auto const bytes = out.finish();

        preference_store store2(10);
        prefer::state_reader in(bytes);
        store2.load(in, "store");
        replay_reader reader2(store2.size(), options, philox(9));
        reader2.load(in, "reader");
        in.finish();
        while (reader.left() > 0) CHECK(store2[reader2.next()] == store[reader.next()]);
        CHECK(reader2.left() == 0);
    }
}

TEST_CASE("preference_store: the example of the README") {
    philox const rng(1);
    std::uint64_t const step = 801;
    std::size_t used = 0;
    auto const use = [&](preference_record const& r) { used += r.step == step ? 1 : 0; };

    prefer::online::preference_store store;  // or store(n): the newest n records
    store.append({.prompt = 7,
                  .chosen = 3,
                  .rejected = 0,
                  .chosen_score = 1.25,
                  .rejected_score = 0.5,
                  .chosen_version = 800,
                  .rejected_version = 800,
                  .source = prefer::online::label_source::reward_model,
                  .step = step});
    prefer::online::replay_reader reader(store.size(), {.batch = 32, .window = 16}, rng);
    while (reader.left() > 0) use(store[reader.next()]);

    CHECK(used == 1);
}
