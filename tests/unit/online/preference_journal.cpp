// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <prefer/core/random.hpp>
#include <prefer/core/state.hpp>
#include <prefer/online/preference_journal.hpp>
#include <prefer/online/preference_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
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

// Packed by Python's struct with "<", the checksums by a bit-by-bit CRC-64/XZ written for it.
TEST_CASE("journal: every byte is that of the stated layout") {
    auto const from_hex = [](std::string const& text) {
        bytes out;
        for (std::size_t i = 0; i < text.size(); i += 2) {
            out.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
        }
        return out;
    };
    std::uint64_t const number = 0x0102030405060708U;
    preference_record const one{.prompt = 7,
                                .chosen = 3,
                                .rejected = 0,
                                .chosen_score = 1.25,
                                .rejected_score = -0.5,
                                .chosen_version = 800,
                                .source = label_source::reward_model,
                                .step = 801};
    bytes written;
    append(written, journal_header(number));
    append(written, journal_frame(number, one));
    CHECK(written == from_hex("5052454645524a4c01000000080706050403020184212e956a63166f"
                              "500000000807060504030201"
                              "070000000000000003000000000000000000000000000000"
                              "000000000000f43f000000000000e0bf"
                              "20030000000000000000000000000000"
                              "01000000000000002103000000000000"
                              "43c215d10a61e560"));
}

TEST_CASE("journal: overwritten, cut and lengthened at random, nothing wrong is returned") {
    prefer::philox rng(20260602);
    for (int trial = 0; trial < 2000; ++trial) {
        auto const written = journal(3, 1 + prefer::uniform_index(rng, 5));
        auto damaged = written;
        std::size_t const from = prefer::uniform_index(rng, damaged.size());
        std::size_t const to = from + 1 + prefer::uniform_index(rng, damaged.size() - from);
        bool const zeros = prefer::uniform_index(rng, 3) == 0;  // as a crashed system leaves
        for (std::size_t i = from; i < to; ++i) {
            damaged[i] = static_cast<std::byte>(zeros ? 0U : rng() & 0xffU);
        }
        damaged.resize(to + prefer::uniform_index(rng, 200));
        auto const fault = static_cast<std::size_t>(
            std::mismatch(damaged.begin(), damaged.end(), written.begin(), written.end()).first -
            damaged.begin());
        auto const found = recover_journal(damaged);
        std::size_t const whole = fault < header ? 0 : (fault - header) / frame;
        CAPTURE(trial, from, to);
        REQUIRE(found.records.size() == whole);
        check_prefix(found, 3);
        REQUIRE(found.good == (fault < header ? 0 : header + whole * frame));
        bool const all = fault >= header && found.good == damaged.size();
        REQUIRE((found.end == journal_end::clean) == all);
    }
}

TEST_CASE("journal: a frame whose checksum holds but that is no record is damage") {
    auto const forged = [](std::size_t field, std::uint64_t value) {
        auto written = journal(0, 3);
        auto const put = [&](std::size_t offset, std::uint64_t word) {
            for (std::size_t i = 0; i < 8; ++i, word >>= 8) {
                written[header + frame + offset + i] = static_cast<std::byte>(word & 0xffU);
            }
        };
        put(12 + 8 * field, value);
        put(frame - 8,
            prefer::detail::crc64(std::span(written).subspan(header + frame, frame - 8)));
        return recover_journal(written);
    };
    auto const good = forged(8, 7777);  // another step: a record, so the forging works
    CHECK(good.end == journal_end::clean);
    REQUIRE(good.records.size() == 3);
    CHECK(good.records[1].step == 7777);

    struct forgery {
        std::size_t field;
        std::uint64_t value;
    };
    for (auto const& [field, value] :
         {forgery{1, 2},                                                     // chosen = rejected
          forgery{3, 0x7ff8000000000000U}, forgery{4, 0xfff0000000000001U},  // scores that are NaN
          forgery{7, 3}, forgery{7, 0x100}}) {                               // unknown sources
        auto const found = forged(field, value);
        CAPTURE(field, value);
        CHECK(found.end == journal_end::damaged);
        CHECK(found.good == header + frame);
        REQUIRE(found.records.size() == 1);
        check_prefix(found, 0);
    }
}

TEST_CASE("journal: with a store saved at any record it gives the uninterrupted store") {
    auto const saved = [](preference_store const& store) {
        prefer::state_writer out;
        store.save(out, "s");
        return out.finish();
    };
    for (std::uint64_t checkpoint = 0; checkpoint <= 20; ++checkpoint) {
        preference_store store(6);
        auto snapshot = saved(store);
        bytes written;
        append(written, journal_header());
        for (std::uint64_t i = 0; i < 20; ++i) {
            append(written, journal_frame(store.append(record(i)), record(i)));
            if (store.total() == checkpoint) snapshot = saved(store);
        }
        preference_store again(6);
        prefer::state_reader in(snapshot);
        again.load(in, "s");
        auto const found = recover_journal(written);
        for (auto n = again.total(); n < found.next(); ++n) {
            again.append(found.records[static_cast<std::size_t>(n - found.first)]);
        }
        CHECK(saved(again) == saved(store));
    }
}

TEST_CASE("journal: the example of the README") {
    auto const record = ::record(1);
    preference_store store;
    preference_store restored;
    bytes file;
    auto const append_to_file = [&](auto const& part) { append(file, part); };

    append_to_file(prefer::online::journal_header());  // once, to a new file
    append_to_file(prefer::online::journal_frame(store.append(record), record));
    file.push_back(std::byte{80});  // the writer was stopped in the next frame

    auto const read = prefer::online::recover_journal(file);
    for (auto const& r : read.records) restored.append(r);
    if (read.end == prefer::online::journal_end::truncated) file.resize(read.good);

    REQUIRE(restored.size() == 1);
    CHECK(restored[0] == record);
    CHECK(file.size() == header + frame);
}
