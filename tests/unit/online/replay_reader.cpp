// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <prefer/online/replay_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using prefer::philox;
using prefer::online::replay_options;
using prefer::online::replay_reader;

namespace {

std::vector<std::size_t> rest(replay_reader& reader) {
    std::vector<std::size_t> out;
    while (reader.left() > 0) out.push_back(reader.next());
    return out;
}

}  // namespace

TEST_CASE("replay_reader: each window is a permutation of its own records") {
    for (std::size_t const records : {0U, 1U, 5U, 12U, 23U}) {
        for (std::size_t const window :
             {std::size_t{1}, std::size_t{2}, std::size_t{3}, replay_options::whole_record}) {
            replay_reader reader(records, {.batch = 3, .window = window}, philox(7));
            auto const order = rest(reader);
            REQUIRE(order.size() == records);
            std::size_t const span = window > records ? records + 1 : 3 * window;
            auto sorted = order;
            for (std::size_t at = 0; at < records; at += span) {
                auto const end = std::min(records, at + span);
                std::sort(sorted.data() + at, sorted.data() + end);
            }
            for (std::size_t i = 0; i < records; ++i) CHECK(sorted[i] == i);
            if (window == 1) CHECK(order == sorted);
            if (window > 1 && records == 23) CHECK(order != sorted);
            CHECK_THROWS_AS(reader.next(), prefer::value_error);
        }
    }
}

TEST_CASE("replay_reader: restored between any two reads it goes on identically") {
    for (std::size_t const window :
         {std::size_t{1}, std::size_t{2}, replay_options::whole_record}) {
        for (std::size_t done = 0; done <= 11; ++done) {
            replay_options const options{.batch = 2, .window = window};
            replay_reader reader(11, options, philox(3));
            for (std::size_t i = 0; i < done; ++i) reader.next();
            prefer::state_writer out;
            reader.save(out, "r");
            auto const bytes = out.finish();
            replay_reader again(11, options, philox(99));
            prefer::state_reader in(bytes);
            again.load(in, "r");
            in.finish();
            CHECK(rest(again) == rest(reader));

            replay_reader other(12, options, philox(3));
            prefer::state_reader twice(bytes);
            CHECK_THROWS_AS(other.load(twice, "r"), prefer::state_error);
            CHECK(other.left() == 12);
        }
    }
}

TEST_CASE("replay_reader: an empty batch or window is refused") {
    CHECK_THROWS_AS(replay_reader(3, {.batch = 0}, philox(1)), prefer::value_error);
    CHECK_THROWS_AS(replay_reader(3, {.window = 0}, philox(1)), prefer::value_error);
}

TEST_CASE("replay_reader: the example of the README") {
    philox const rng(1);
    std::size_t visited = 0, sum = 0;
    auto const use = [&](std::size_t record) { ++visited, sum += record; };

    prefer::online::replay_reader reader(1000, {.batch = 8, .window = 16}, rng);
    while (reader.left() > 0) use(reader.next());

    CHECK(visited == 1000);
    CHECK(sum == 499500);
}
