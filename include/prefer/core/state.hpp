// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/core/random.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>

namespace prefer {

/// \file
/// Saved state: how everything with state (generators, trackers, buffers, loops) is written to
/// bytes and read back bit for bit.
///
/// Layout, little-endian on every platform: "PREFERST", u32 format version, u64 payload size, the
/// payload, u64 CRC-64/XZ of all that precedes. The payload is a list of records: u16 name length,
/// name, u8 element code, u64 element count, elements. Records are read in the order they were
/// written, and each read names the record it expects; so a truncated, damaged or foreign file, and
/// a reader that has drifted from its writer, are refused and never half understood.

namespace detail {

inline constexpr ::std::array<char, 8> state_magic{'P', 'R', 'E', 'F', 'E', 'R', 'S', 'T'};
inline constexpr ::std::uint32_t state_version = 1;
inline constexpr ::std::size_t state_header_size = 8 + 4 + 8;

constexpr ::std::array<::std::uint64_t, 256> make_crc64_table() {
    ::std::array<::std::uint64_t, 256> table{};
    for (::std::uint64_t i = 0; i < 256; ++i) {
        ::std::uint64_t c = i;
        for (int bit = 0; bit < 8; ++bit)
            c = (c & 1U) != 0 ? (c >> 1) ^ 0xC96C5795D7870F42U : c >> 1;
        table[i] = c;
    }
    return table;
}

/// CRC-64/XZ (reflected ECMA-182 polynomial). "123456789" gives 995DC9BBDF1939FA.
inline ::std::uint64_t crc64(::std::span<::std::byte const> bytes) {
    static constexpr auto table = make_crc64_table();
    ::std::uint64_t c = ~::std::uint64_t{0};
    for (auto const b : bytes) c = table[(c ^ static_cast<::std::uint64_t>(b)) & 0xffU] ^ (c >> 8);
    return ~c;
}

/// The unsigned integer that has the bits of `T`.
template <class T>
using bits_of_t = ::std::conditional_t<
    sizeof(T) == 1, ::std::uint8_t,
    ::std::conditional_t<sizeof(T) == 2, ::std::uint16_t,
                         ::std::conditional_t<sizeof(T) == 4, ::std::uint32_t, ::std::uint64_t>>>;

template <class T>
concept storable = (::std::is_arithmetic_v<T> && sizeof(T) <= 8) || ::std::same_as<T, bfloat16> ||
                   ::std::same_as<T, half>;

/// Kind in the upper four bits (1 signed, 2 unsigned, 3 IEEE float, 4 bfloat16, 5 bool), size
/// below. A plain char is unsigned here, whatever it is on the platform.
template <storable T>
constexpr ::std::uint8_t element_code() {
    unsigned const kind = ::std::same_as<T, bool>       ? 5U
                          : ::std::same_as<T, bfloat16> ? 4U
                          : ::std::floating_point<T>    ? 3U
                          : ::std::same_as<T, half>     ? 3U
                          : ::std::same_as<T, char>     ? 2U
                          : ::std::is_unsigned_v<T>     ? 2U
                                                        : 1U;
    return static_cast<::std::uint8_t>((kind << 4) | sizeof(T));
}

}  // namespace detail

/// Collects named records and turns them into one checksummed block of bytes.
class state_writer {
public:
    /// One number.
    template <detail::storable T>
    void put(::std::string_view name, T value) {
        put(name, vector_view<T const>(&value, 1));
    }

    /// A vector of numbers.
    template <detail::storable T>
    void put(::std::string_view name, vector_view<T const> values) {
        detail::require(name.size() <= 0xffff, "state_writer::put", "the name's length",
                        name.size(), "at most 65535");
        append(static_cast<::std::uint16_t>(name.size()));
        for (char const c : name) append(static_cast<::std::uint8_t>(c));
        append(detail::element_code<T>());
        append(::std::uint64_t{values.size()});
        for (::std::size_t i = 0; i < values.size(); ++i) {
            append(::std::bit_cast<detail::bits_of_t<T>>(values[i]));
        }
    }

    /// Text; of a string literal, without its closing zero.
    void put(::std::string_view name, ::std::string_view text) {
        put(name, vector_view<char const>(text.data(), text.size()));
    }

    template <vector_like V>
        requires(!::std::convertible_to<V const&, ::std::string_view>)
    void put(::std::string_view name, V const& values) {
        using T = vector_element_t<V const>;
        put(name, vector_view<T const>(as_vector(values)));
    }

    /// The finished block. The writer may go on and be finished again.
    ::std::vector<::std::byte> finish() const {
        state_writer whole;
        for (char const c : detail::state_magic) whole.append(static_cast<::std::uint8_t>(c));
        whole.append(detail::state_version);
        whole.append(::std::uint64_t{payload_.size()});
        whole.payload_.insert(whole.payload_.end(), payload_.begin(), payload_.end());
        whole.append(detail::crc64(whole.payload_));
        return whole.payload_;
    }

private:
    template <::std::unsigned_integral U>
    void append(U value) {
        for (::std::size_t i = 0; i < sizeof(U); ++i) {
            payload_.push_back(
                static_cast<::std::byte>((::std::uint64_t{value} >> (8 * i)) & 0xffU));
        }
    }

    ::std::vector<::std::byte> payload_;
};

/// Reads the records of a `state_writer` in their order.
///
/// The constructor checks magic, version, size and checksum, `get` checks name, type and count;
/// each throws `state_error`, saying what it found and what it expected, and nothing is written
/// then. The bytes must outlive the reader.
class state_reader {
public:
    explicit state_reader(::std::span<::std::byte const> bytes) : bytes_(bytes) {
        if (bytes.size() < detail::state_header_size + 8) fail("the state is truncated");
        for (char const c : detail::state_magic) {
            if (take<::std::uint8_t>() != static_cast<::std::uint8_t>(c)) {
                fail("this is not a saved state");
            }
        }
        auto const version = take<::std::uint32_t>();
        if (version != detail::state_version) {
            fail(detail::message("format version ", version, " is not version ",
                                 detail::state_version));
        }
        auto const size = take<::std::uint64_t>();
        if (size != bytes.size() - detail::state_header_size - 8) {
            fail("the state is truncated or has extra bytes");
        }
        position_ = bytes.size() - 8;
        if (take<::std::uint64_t>() != detail::crc64(bytes.first(bytes.size() - 8))) {
            fail("the checksum does not match: the state is damaged");
        }
        bytes_ = bytes.first(bytes.size() - 8);
        position_ = detail::state_header_size;
    }

    /// One number.
    template <detail::storable T>
    void get(::std::string_view name, T& value) {
        get(name, vector_view<T>(&value, 1));
    }

    /// A vector of exactly this size.
    template <detail::storable T>
    void get(::std::string_view name, vector_view<T> values) {
        auto const count = open<T>(name);
        if (count != values.size()) {
            fail(detail::message("record '", name, "' has ", count, " elements, but ",
                                 values.size(), " are expected"));
        }
        for (::std::size_t i = 0; i < values.size(); ++i) values[i] = take_element<T>();
    }

    /// A vector of whatever size was saved.
    template <detail::storable T>
    void get(::std::string_view name, ::std::vector<T>& values) {
        auto const count = open<T>(name);
        values.resize(static_cast<::std::size_t>(count));
        for (auto&& value : values) value = take_element<T>();
    }

    void get(::std::string_view name, ::std::string& text) {
        auto const count = open<char>(name);
        text.resize(static_cast<::std::size_t>(count));
        for (char& c : text) c = take_element<char>();
    }

    /// Says that no record may be left.
    void finish() const {
        if (position_ != bytes_.size()) fail("records are left over");
    }

private:
    [[noreturn]] static void fail(::std::string const& what) {
        throw state_error("prefer::state_reader: " + what);
    }

    /// Checks the next record's head, and that all of its elements are there.
    template <detail::storable T>
    ::std::uint64_t open(::std::string_view name) {
        ::std::string found;
        ::std::size_t const length = take<::std::uint16_t>();
        for (::std::size_t i = 0; i < length; ++i)
            found += static_cast<char>(take<::std::uint8_t>());
        if (found != name) {
            fail(detail::message("the next record is '", found, "', but '", name, "' is expected"));
        }
        if (take<::std::uint8_t>() != detail::element_code<T>()) {
            fail(detail::message("record '", name, "' has another element type"));
        }
        auto const count = take<::std::uint64_t>();
        if (count > (bytes_.size() - position_) / sizeof(T)) {
            fail(detail::message("record '", name, "' is longer than the state"));
        }
        return count;
    }

    template <::std::unsigned_integral U>
    U take() {
        if (bytes_.size() - position_ < sizeof(U)) fail("the state ends inside a record");
        ::std::uint64_t value = 0;
        for (::std::size_t i = 0; i < sizeof(U); ++i) {
            value |= static_cast<::std::uint64_t>(bytes_[position_++]) << (8 * i);
        }
        return static_cast<U>(value);
    }

    template <detail::storable T>
    T take_element() {
        auto const bits = take<detail::bits_of_t<T>>();
        if constexpr (::std::same_as<T, bool>) {
            return bits != 0;  // not every byte is the bits of a bool
        } else {
            return ::std::bit_cast<T>(bits);
        }
    }

    ::std::span<::std::byte const> bytes_;
    ::std::size_t position_ = 0;
};

/// `save` and `load`: the pair of verbs that every type with state has.
inline void save(state_writer& out, ::std::string_view name, philox const& rng) {
    auto const& s = rng.save();
    out.put(name, ::std::array<::std::uint64_t, 3>{s.seed, s.stream, s.position});
}

inline void load(state_reader& in, ::std::string_view name, philox& rng) {
    ::std::array<::std::uint64_t, 3> s{};
    in.get(name, as_vector(s));
    rng = philox(philox::state{s[0], s[1], s[2]});
}

}  // namespace prefer
