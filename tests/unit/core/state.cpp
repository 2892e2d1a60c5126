// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/compare.hpp"

#include <prefer/core/state.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

using prefer::bfloat16;
using prefer::half;
using prefer::state_error;
using prefer::state_reader;
using prefer::state_writer;

namespace {

using bytes = std::vector<std::byte>;

bytes as_bytes(std::string const& text) {
    bytes result;
    for (char const c : text) result.push_back(static_cast<std::byte>(c));
    return result;
}

std::uint64_t crc64(bytes const& b) {
    return prefer::detail::crc64(b);
}

/// Replaces the checksum, as somebody would who forges a state.
void seal(bytes& b) {
    std::uint64_t const crc = prefer::detail::crc64(std::span(b).first(b.size() - 8));
    for (std::size_t i = 0; i < 8; ++i) {
        b[b.size() - 8 + i] = static_cast<std::byte>((crc >> (8 * i)) & 0xffU);
    }
}

bytes small_state() {
    state_writer out;
    out.put("step", std::int64_t{-7});
    out.put("w", std::vector<float>{0.5F, -2.0F});
    return out.finish();
}

/// Reads what `small_state` wrote; throws whatever is wrong with it.
void read_small(bytes const& b) {
    state_reader in(b);
    std::int64_t step = 0;
    std::array<float, 2> w{};
    in.get("step", step);
    in.get("w", prefer::as_vector(w));
    in.finish();
    if (step != -7 || w[0] != 0.5F || w[1] != -2.0F) throw std::logic_error("wrong values");
}

template <class T>
bool same_bits(T a, T b) {
    using bits = prefer::detail::bits_of_t<T>;
    return std::bit_cast<bits>(a) == std::bit_cast<bits>(b);
}

template <class T>
void round_trip(std::vector<T> const& values) {
    state_writer out;
    out.put("first", values[0]);
    out.put("all", values);
    out.put("none", std::vector<T>{});
    bytes const b = out.finish();

    state_reader in(b);
    T first{};
    std::vector<T> all;
    std::vector<T> none(3);
    in.get("first", first);
    in.get("all", all);
    in.get("none", none);
    in.finish();
    CHECK(same_bits(first, values[0]));
    REQUIRE(all.size() == values.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(i);
        CHECK(same_bits(all[i], values[i]));
    }
    CHECK(none.empty());
}

}  // namespace

TEMPLATE_TEST_CASE("state: integers of every size come back", "", std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t, char, long, unsigned long long) {
    using limits = std::numeric_limits<TestType>;
    round_trip<TestType>({limits::min(), limits::max(), TestType(0), TestType(1), TestType(100)});
}

TEMPLATE_TEST_CASE("state: floating numbers come back bit for bit", "", float, double) {
    using limits = std::numeric_limits<TestType>;
    using bits = prefer::detail::bits_of_t<TestType>;
    auto const payload = std::bit_cast<bits>(limits::quiet_NaN()) | bits{0x1234};
    round_trip<TestType>({TestType(0), -TestType(0), limits::infinity(), -limits::infinity(),
                          limits::denorm_min(), limits::max(), limits::quiet_NaN(),
                          std::bit_cast<TestType>(payload), TestType(0.1L)});
}

TEST_CASE("state: 16-bit numbers come back bit for bit, every pattern of them") {
    std::vector<bfloat16> b(65536);
    std::vector<half> h(65536);
    for (std::size_t i = 0; i < 65536; ++i) {
        b[i].bits = static_cast<std::uint16_t>(i);
        h[i].bits = static_cast<std::uint16_t>(i);
    }
    state_writer out;
    out.put("b", b);
    out.put("h", h);
    bytes const saved = out.finish();
    state_reader in(saved);
    std::vector<bfloat16> b2;
    std::vector<half> h2;
    in.get("b", b2);
    in.get("h", h2);
    in.finish();
    bool same = b2.size() == b.size() && h2.size() == h.size();
    for (std::size_t i = 0; same && i < 65536; ++i) {
        same = b2[i].bits == b[i].bits && h2[i].bits == h[i].bits;
    }
    CHECK(same);
}

TEST_CASE("state: bools and text come back") {
    state_writer out;
    out.put("yes", true);
    out.put("flags", std::array<bool, 3>{true, false, true});
    out.put("text", std::string("pr\0ompt", 7));
    out.put("literal", "abc");
    out.put("empty", "");
    bytes const b = out.finish();
    state_reader in(b);
    bool yes = false;
    std::vector<bool> flags;
    std::string text;
    in.get("yes", yes);
    in.get("flags", flags);
    CHECK(yes);
    CHECK((flags == std::vector<bool>{true, false, true}));
    in.get("text", text);
    CHECK((text == std::string("pr\0ompt", 7)));
    in.get("literal", text);
    CHECK(text == "abc");  // without the closing zero
    in.get("empty", text);
    CHECK(text.empty());
}

TEST_CASE("state: strided vectors are saved and restored in place") {
    std::array<double, 5> const from{1, 2, 3, 4, 5};
    state_writer out;
    out.put("x", prefer::vector_view<double const>(from.data(), 3, 2));
    bytes const b = out.finish();
    std::array<double, 5> to{};
    state_reader in(b);
    in.get("x", prefer::vector_view<double>(to.data() + 4, 3, -2));
    CHECK_SAME(to, (std::array<double, 5>{5, 0, 3, 0, 1}));
}

TEST_CASE("state: the bytes are the documented ones on every platform") {
    state_writer out;
    out.put("ab", std::uint16_t{0x0102});
    bytes b = out.finish();
    std::array<unsigned, 35> const expected{
        'P',  'R', 'E', 'F', 'E', 'R', 'S', 'T',  // magic
        1,    0,   0,   0,                        // format version
        15,   0,   0,   0,   0,   0,   0,   0,    // size of the payload
        2,    0,   'a', 'b',                      // name
        0x22,                                     // unsigned, two bytes
        1,    0,   0,   0,   0,   0,   0,   0,    // count
        0x02, 0x01};                              // the number, low byte first
    REQUIRE(b.size() == expected.size() + 8);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(std::to_integer<unsigned>(b[i]) == expected[i]);
    }
    CHECK(prefer::detail::element_code<std::int8_t>() == 0x11);
    CHECK(prefer::detail::element_code<char>() == 0x21);
    CHECK(prefer::detail::element_code<half>() == 0x32);
    CHECK(prefer::detail::element_code<float>() == 0x34);
    CHECK(prefer::detail::element_code<double>() == 0x38);
    CHECK(prefer::detail::element_code<bfloat16>() == 0x42);
    CHECK(prefer::detail::element_code<bool>() == 0x51);
}

TEST_CASE("state: the checksum is CRC-64/XZ") {
    CHECK(crc64(as_bytes("123456789")) == 0x995DC9BBDF1939FAU);
    CHECK(crc64({}) == 0);
}

TEST_CASE("state: an empty state is a state") {
    bytes const b = state_writer{}.finish();
    CHECK(b.size() == 28);
    state_reader in(b);
    in.finish();
    int value = 0;
    CHECK_THROWS_MESSAGE(in.get("x", value), state_error, "ends inside a record");
}

TEST_CASE("state: a writer goes on after finish") {
    state_writer out;
    out.put("a", 1);
    bytes const before = out.finish();
    CHECK((out.finish() == before));
    out.put("b", 2);
    bytes const after = out.finish();
    state_reader in(after);
    int a = 0;
    int b = 0;
    in.get("a", a);
    in.get("b", b);
    in.finish();
    CHECK(a == 1);
    CHECK(b == 2);
}

TEST_CASE("state: cut short at any byte, it is refused") {
    bytes const whole = small_state();
    read_small(whole);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CAPTURE(size);
        bytes const cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_THROWS_AS(read_small(cut), state_error);
    }
    bytes longer = whole;
    longer.push_back(std::byte{0});
    CHECK_THROWS_MESSAGE(read_small(longer), state_error, "extra bytes");
}

TEST_CASE("state: with any single bit flipped, it is refused") {
    bytes const whole = small_state();
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        CAPTURE(bit);
        bytes damaged = whole;
        damaged[bit / 8] ^= std::byte{1} << (bit % 8);
        CHECK_THROWS_AS(read_small(damaged), state_error);
    }
}

TEST_CASE("state: another format is named in the error") {
    bytes foreign = small_state();
    foreign[0] = std::byte{'X'};
    CHECK_THROWS_MESSAGE(read_small(foreign), state_error, "not a saved state");
    bytes newer = small_state();
    newer[8] = std::byte{2};
    seal(newer);
    CHECK_THROWS_MESSAGE(read_small(newer), state_error, "version 2 is not version 1");
    bytes damaged = small_state();
    damaged[30] ^= std::byte{1};
    CHECK_THROWS_MESSAGE(read_small(damaged), state_error, "checksum");
}

TEST_CASE("state: a reader that drifted from its writer is refused, and nothing is written") {
    bytes const b = small_state();
    std::int64_t step = 99;
    std::array<float, 3> w{9, 9, 9};
    SECTION("another order") {
        state_reader in(b);
        CHECK_THROWS_MESSAGE(in.get("w", prefer::as_vector(w)), state_error,
                             "the next record is 'step', but 'w' is expected");
    }
    SECTION("another name") {
        state_reader in(b);
        CHECK_THROWS_MESSAGE(in.get("steps", step), state_error, "'steps' is expected");
    }
    SECTION("another type") {
        state_reader in(b);
        std::uint64_t unsigned_step = 99;
        CHECK_THROWS_MESSAGE(in.get("step", unsigned_step), state_error, "another element type");
        CHECK(unsigned_step == 99);
    }
    SECTION("another size of the same kind") {
        state_reader in(b);
        std::int32_t narrow = 99;
        CHECK_THROWS_MESSAGE(in.get("step", narrow), state_error, "another element type");
        CHECK(narrow == 99);
    }
    SECTION("another count") {
        state_reader in(b);
        in.get("step", step);
        CHECK(step == -7);
        CHECK_THROWS_MESSAGE(in.get("w", prefer::as_vector(w)), state_error,
                             "has 2 elements, but 3 are expected");
    }
    SECTION("records left over") {
        state_reader in(b);
        in.get("step", step);
        CHECK_THROWS_MESSAGE(in.finish(), state_error, "left over");
    }
    CHECK_SAME(w, (std::array<float, 3>{9, 9, 9}));
}

TEST_CASE("state: a forged record cannot make the reader read or allocate too much") {
    bytes forged = small_state();
    // The count of "step" stands after the header, the name and the element code.
    std::size_t const count = 20 + 2 + 4 + 1;
    for (std::size_t i = 0; i < 8; ++i) forged[count + i] = std::byte{0xff};
    seal(forged);
    state_reader in(forged);
    std::vector<std::int64_t> values;
    CHECK_THROWS_MESSAGE(in.get("step", values), state_error, "longer than the state");
    CHECK(values.empty());

    bytes name = small_state();
    name[20] = std::byte{0xff};
    name[21] = std::byte{0xff};
    seal(name);
    CHECK_THROWS_MESSAGE(read_small(name), state_error, "ends inside a record");
}

TEST_CASE("state: a byte that is no bool is read as true") {
    state_writer out;
    out.put("yes", true);
    bytes forged = out.finish();
    forged[forged.size() - 9] = std::byte{2};
    seal(forged);
    state_reader in(forged);
    bool yes = false;
    in.get("yes", yes);
    CHECK(yes);
}

TEST_CASE("state: a name is at most 65535 bytes long") {
    state_writer out;
    std::string const longest(65535, 'n');
    out.put(longest, 1);
    bytes const b = out.finish();
    state_reader in(b);
    int value = 0;
    in.get(longest, value);
    CHECK(value == 1);
    CHECK_THROWS_MESSAGE(out.put(longest + 'n', 2), prefer::value_error, "at most 65535");
    CHECK((out.finish() == b));
}

TEST_CASE("state: a generator goes on where it stood, at every phase of its buffer") {
    for (std::uint64_t drawn = 0; drawn < 10; ++drawn) {
        CAPTURE(drawn);
        prefer::philox rng(42, 7);
        for (std::uint64_t i = 0; i < drawn; ++i) static_cast<void>(rng());
        state_writer out;
        save(out, "rng", rng);
        bytes const b = out.finish();
        prefer::philox restored(1);
        state_reader in(b);
        load(in, "rng", restored);
        in.finish();
        CHECK((restored == rng));
        for (int i = 0; i < 9; ++i) CHECK(restored() == rng());
    }
}

TEST_CASE("state: a generator is left alone by a state that is not one") {
    bytes const b = small_state();
    prefer::philox rng(42);
    static_cast<void>(rng());
    prefer::philox const before = rng;
    state_reader in(b);
    CHECK_THROWS_AS(load(in, "rng", rng), state_error);
    CHECK((rng == before));
}
