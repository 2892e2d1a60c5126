// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <prefer/online/preference_journal.hpp>
#include <prefer/online/preference_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using prefer::value_error;
using namespace prefer::online;

namespace {

using bytes = std::vector<std::byte>;

preference_record record(std::uint64_t i) {
    return {.prompt = 100 + i,
            .chosen = i,
            .rejected = i + 1,
            .chosen_score = 0.1 * static_cast<double>(i),
            .rejected_score = -std::numeric_limits<double>::infinity(),
            .chosen_version = 800,
            .rejected_version = 0xfedcba9876543210U,
            .source = label_source::preference_model,
            .step = 7 * i};
}

template <class Part>
void append(bytes& to, Part const& part) {
    to.insert(to.end(), part.begin(), part.end());
}

bytes journal(std::uint64_t first, std::uint64_t records) {
    bytes out;
    append(out, journal_header(first));
    for (std::uint64_t i = first; i < first + records; ++i)
        append(out, journal_frame(i, record(i)));
    return out;
}

constexpr std::size_t header = 28;
constexpr std::size_t frame = 92;

/// The records found are the first of those written.
void check_prefix(recovered_journal const& found, std::uint64_t first) {
    for (std::size_t i = 0; i < found.records.size(); ++i) {
        REQUIRE(found.records[i] == record(first + i));
    }
}

}  // namespace

TEST_CASE("journal: what was written is read, from any first number") {
    for (std::uint64_t const first : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
        for (std::uint64_t const n : {0U, 1U, 5U}) {
            auto const written = journal(first, n);
            CHECK(written.size() == header + n * frame);
            auto const found = recover_journal(written);
            CHECK(found.end == journal_end::clean);
            CHECK(found.good == written.size());
            CHECK(found.first == first);
            CHECK(found.next() == first + n);
            REQUIRE(found.records.size() == n);
            check_prefix(found, first);
        }
    }
}

TEST_CASE("journal: its bytes are the same on every platform") {
    // Header: name, version 1, number 2; then a frame's length 80 and number, and its first field.
    auto const written = journal(2, 1);
    char const* const name = "PREFERJL";
    for (std::size_t i = 0; i < 8; ++i) CHECK(written[i] == static_cast<std::byte>(name[i]));
    CHECK(written[8] == std::byte{1});
    CHECK(written[12] == std::byte{2});
    CHECK(written[header] == std::byte{80});
    CHECK(written[header + 4] == std::byte{2});
    CHECK(written[header + 12] == std::byte{102});
    CHECK(written[header + 12 + 6 * 8] == std::byte{0x10});
    CHECK(written[header + 12 + 6 * 8 + 7] == std::byte{0xfe});
}

TEST_CASE("journal: cut after any byte, everything before the cut is recovered") {
    auto const written = journal(3, 4);
    for (std::size_t cut = 0; cut < written.size(); ++cut) {
        auto const found = recover_journal(std::span(written).first(cut));
        std::size_t const whole = cut < header ? 0 : (cut - header) / frame;
        CAPTURE(cut);
        REQUIRE(found.records.size() == whole);
        check_prefix(found, 3);
        REQUIRE(found.good == (cut < header ? 0 : header + whole * frame));
        REQUIRE(found.end ==
                (cut >= header && found.good == cut ? journal_end::clean : journal_end::truncated));
    }
}

TEST_CASE("journal: with any bit turned, everything before it is recovered and nothing else") {
    auto const written = journal(3, 3);
    for (std::size_t at = 0; at < written.size(); ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            auto damaged = written;
            damaged[at] ^= static_cast<std::byte>(1U << bit);
            auto const found = recover_journal(damaged);
            CAPTURE(at, bit);
            REQUIRE(found.records.size() == (at < header ? 0 : (at - header) / frame));
            check_prefix(found, 3);
            REQUIRE(found.end == (at < 12 ? journal_end::foreign : journal_end::damaged));
        }
    }
}

TEST_CASE("journal: frames that are missing, doubled or of another journal are damage") {
    auto const written = journal(0, 4);
    auto const part = [&](std::size_t i) {
        return std::span(written).subspan(header + i * frame, frame);
    };
    for (auto const& order : {std::vector<std::size_t>{0, 2, 3}, {0, 1, 1, 2}, {0, 2, 1}}) {
        bytes other(written.begin(), written.begin() + header);
        for (std::size_t const i : order) append(other, part(i));
        auto const found = recover_journal(other);
        CHECK(found.end == journal_end::damaged);
        CHECK(found.records.size() == (order[1] == 1 ? 2 : 1));
    }
    auto zeros = written;
    zeros.resize(written.size() + 200);
    CHECK(recover_journal(zeros).end == journal_end::damaged);
    CHECK(recover_journal(zeros).records.size() == 4);
    bytes const text(40, std::byte{'x'});
    CHECK(recover_journal(text).end == journal_end::foreign);
}

TEST_CASE("journal: after a cut, writing goes on with the next number") {
    auto written = journal(0, 4);
    written.resize(header + 2 * frame + 50);
    auto const found = recover_journal(written);
    written.resize(found.good);
    for (std::uint64_t i = found.next(); i < 6; ++i) append(written, journal_frame(i, record(i)));
    auto const again = recover_journal(written);
    CHECK(again.end == journal_end::clean);
    CHECK(again.records.size() == 6);
    check_prefix(again, 0);
}

TEST_CASE("journal: a store written as it grows is a store again") {
    preference_store store;
    bytes written;
    append(written, journal_header());
    for (std::uint64_t i = 0; i < 20; ++i) {
        auto const number = store.append(record(i));
        append(written, journal_frame(number, record(i)));
    }
    preference_store again;
    for (auto const& r : recover_journal(written).records) again.append(r);
    REQUIRE(again.size() == store.size());
    for (std::size_t i = 0; i < store.size(); ++i) CHECK(again[i] == store[i]);
}

TEST_CASE("journal: what is no record is not written") {
    auto bad = record(1);
    bad.rejected = bad.chosen;
    CHECK_THROWS_AS(journal_frame(0, bad), value_error);
    bad = record(1);
    bad.chosen_score = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(journal_frame(0, bad), value_error);
}
