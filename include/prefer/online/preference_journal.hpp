// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <prefer/core/state.hpp>
#include <prefer/errors.hpp>
#include <prefer/online/preference_record.hpp>

namespace prefer::online {

/// \file
/// Records as a file that only grows, in which damage costs nothing that lies before it.
///
/// Saving a whole store costs its whole size each time, and any damage costs all of it. A journal
/// is written record by record: a `journal_header`, then a `journal_frame` for each record.
/// `recover_journal` reads it back. The library makes and reads bytes; files are the caller's.
///
/// Layout, little-endian on every platform. Header, 28 bytes: "PREFERJL", u32 format version, u64
/// number of the first record, u64 checksum. Frame, 92 bytes: u32 80, the length of what lies
/// between it and the checksum; u64 number of the record; its nine fields in the order of their
/// declaration, u64 each, scores as the bits of a binary64; u64 checksum. A checksum is the
/// CRC-64/XZ of all that precedes it in its header or frame: every error within 64 neighbouring
/// bits is found, and another is missed with probability 2^-64. The numbers, one more from frame
/// to frame, show where whole frames are missing, doubled or out of order.

/// Where a journal's readable part ends.
enum class journal_end : ::std::uint8_t {
    clean,      ///< at its last byte
    truncated,  ///< inside a header or frame of which nothing contradicts the format
    damaged,    ///< before a header or frame whose checksum, number or content is wrong
    foreign,    ///< at its first byte: no journal, or of another version
};

/// What `recover_journal` found.
struct recovered_journal {
    ::std::vector<preference_record> records;  ///< all before the first fault
    ::std::uint64_t first = 0;                 ///< the number of `records[0]`
    ::std::size_t good = 0;                    ///< bytes before the first fault
    journal_end end = journal_end::clean;      ///< the first fault

    /// The number of the next frame, after the file has been cut to `good` bytes.
    ::std::uint64_t next() const { return first + records.size(); }
};

}  // namespace prefer::online

namespace prefer::detail {

inline constexpr ::std::uint32_t journal_version = 1;
inline constexpr ::std::size_t journal_start_size = 4 + 8;
inline constexpr ::std::size_t journal_header_size = 8 + 4 + 8 + 8;
inline constexpr ::std::size_t journal_frame_size = 4 + 8 + 9 * 8 + 8;

/// Writes `value` to all of `bytes`, the lowest byte first.
inline void put_little_endian(::std::span<::std::byte> bytes, ::std::uint64_t value) {
    for (auto& b : bytes) {
        b = static_cast<::std::byte>(value & 0xffU);
        value >>= 8;
    }
}

inline ::std::uint64_t get_little_endian(::std::span<::std::byte const> bytes) {
    ::std::uint64_t value = 0;
    for (::std::size_t i = bytes.size(); i-- > 0;) {
        value = (value << 8) | static_cast<::std::uint64_t>(bytes[i]);
    }
    return value;
}

inline void put_checksum(::std::span<::std::byte> bytes) {
    put_little_endian(bytes.last(8), crc64(bytes.first(bytes.size() - 8)));
}

inline bool checksum_holds(::std::span<::std::byte const> bytes) {
    return get_little_endian(bytes.last(8)) == crc64(bytes.first(bytes.size() - 8));
}

/// The twelve bytes that every header begins with.
inline ::std::array<::std::byte, journal_start_size> journal_header_start() {
    ::std::array<::std::byte, journal_start_size> start{};
    constexpr ::std::array<char, 8> magic{'P', 'R', 'E', 'F', 'E', 'R', 'J', 'L'};
    for (::std::size_t i = 0; i < magic.size(); ++i) start[i] = static_cast<::std::byte>(magic[i]);
    put_little_endian(::std::span(start).subspan(8), journal_version);
    return start;
}

/// The twelve bytes that the frame of this number begins with.
inline ::std::array<::std::byte, journal_start_size> journal_frame_start(::std::uint64_t number) {
    ::std::array<::std::byte, journal_start_size> start{};
    put_little_endian(::std::span(start).first(4), journal_frame_size - 4 - 8);
    put_little_endian(::std::span(start).subspan(4), number);
    return start;
}

/// Whether `bytes` begin with `start`, as far as there are bytes.
inline bool may_begin_with(::std::span<::std::byte const> bytes,
                           ::std::span<::std::byte const> start) {
    auto const known = start.first(::std::min(bytes.size(), start.size()));
    return ::std::equal(known.begin(), known.end(), bytes.begin());
}

/// Appends what `bytes` hold to `out`, and returns where and how that ends.
inline online::journal_end read_journal(::std::span<::std::byte const> bytes,
                                        online::recovered_journal& out) {
    using online::journal_end;
    if (!may_begin_with(bytes, journal_header_start())) return journal_end::foreign;
    if (bytes.size() < journal_header_size) return journal_end::truncated;
    auto const header = bytes.first(journal_header_size);
    if (!checksum_holds(header)) return journal_end::damaged;
    out.first = get_little_endian(header.subspan(journal_start_size, 8));
    out.good = header.size();
    out.records.reserve((bytes.size() - out.good) / journal_frame_size);
    while (out.good < bytes.size()) {
        auto const rest = bytes.subspan(out.good);
        if (!may_begin_with(rest, journal_frame_start(out.next()))) return journal_end::damaged;
        if (rest.size() < journal_frame_size) return journal_end::truncated;
        auto const frame = rest.first(journal_frame_size);
        if (!checksum_holds(frame)) return journal_end::damaged;
        record_words words{};
        for (::std::size_t i = 0; i < words.size(); ++i) {
            words[i] = get_little_endian(frame.subspan(journal_start_size + 8 * i, 8));
        }
        online::preference_record record;
        if (!read_record(words, record)) return journal_end::damaged;
        out.records.push_back(record);
        out.good += frame.size();
    }
    return journal_end::clean;
}

}  // namespace prefer::detail

namespace prefer::online {

/// What a journal begins with: the number of its first record, 0 or where another one ended.
inline ::std::array<::std::byte, detail::journal_header_size> journal_header(
    ::std::uint64_t first = 0) {
    ::std::array<::std::byte, detail::journal_header_size> bytes{};
    auto const start = detail::journal_header_start();
    ::std::copy(start.begin(), start.end(), bytes.begin());
    detail::put_little_endian(::std::span(bytes).subspan(start.size(), 8), first);
    detail::put_checksum(bytes);
    return bytes;
}

/// The bytes of one record, to be written after those of the record numbered one less. The number
/// is what `preference_store::append` returns. Throws `value_error` for what `preference_record`
/// names.
inline ::std::array<::std::byte, detail::journal_frame_size> journal_frame(
    ::std::uint64_t number, preference_record const& record) {
    if (auto const fault = detail::record_fault(record); !fault.empty()) {
        throw value_error("prefer::online::journal_frame: " + fault);
    }
    ::std::array<::std::byte, detail::journal_frame_size> bytes{};
    auto const start = detail::journal_frame_start(number);
    ::std::copy(start.begin(), start.end(), bytes.begin());
    auto rest = ::std::span(bytes).subspan(start.size());
    for (auto const word : detail::words_of_record(record)) {
        detail::put_little_endian(rest.first(8), word);
        rest = rest.subspan(8);
    }
    detail::put_checksum(bytes);
    return bytes;
}

/// Reads all records of a journal up to its first fault, and says what that is. It never throws
/// for what the bytes are, and returns no record that was not written so.
///
/// A journal that is cut between two frames is a shorter journal, and `clean`: nothing in it tells
/// a cut from a writer that stopped there, and nothing that it holds is wrong. Who knows how many
/// records there should be compares `next()`. No bytes at all are `truncated`, since a journal has
/// a header. Damage to the twelve bytes of name and version cannot be told from a file of another
/// kind, and is `foreign`.
///
/// To go on writing after `truncated` or `damaged`, cut the file to `good` bytes (for `good` 0,
/// begin with a header) and write the frame of number `next()`. That gives up what lies behind
/// damage, readable or not; keep a copy of a damaged or foreign file.
///
/// O(bytes), one allocation of the records' size.
inline recovered_journal recover_journal(::std::span<::std::byte const> bytes) {
    recovered_journal out;
    out.end = detail::read_journal(bytes, out);
    return out;
}

}  // namespace prefer::online
