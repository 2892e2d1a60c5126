// SPDX-License-Identifier: MIT
#include <prefer/core/element.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

#include <support/catch.hpp>

namespace {

/// A user's storage type: 16-bit fixed point.
struct fixed {
    std::int16_t units;
    explicit fixed(float x) : units(static_cast<std::int16_t>(x * 256)) {}
    explicit operator float() const { return static_cast<float>(units) / 256; }
};

/// Has traits, but no way back from the type it is computed in.
struct one_way {
    explicit operator float() const { return 0; }
};

}  // namespace

template <>
struct prefer::element_traits<fixed> {
    using compute = float;
};

template <>
struct prefer::element_traits<one_way> {
    using compute = float;
};

namespace {

using prefer::compute_t;
using prefer::element;
using prefer::index_element;

TEST_CASE("elements and what they are computed in") {
    STATIC_REQUIRE(std::is_same_v<compute_t<double>, double>);
    STATIC_REQUIRE(std::is_same_v<compute_t<float>, float>);
    STATIC_REQUIRE(std::is_same_v<compute_t<prefer::bfloat16>, float>);
    STATIC_REQUIRE(std::is_same_v<compute_t<prefer::half const>, float>);
    STATIC_REQUIRE(element<double>);
    STATIC_REQUIRE(element<float const>);
    STATIC_REQUIRE(element<prefer::bfloat16>);
    STATIC_REQUIRE(element<prefer::half>);
    STATIC_REQUIRE(element<fixed>);
}

TEST_CASE("what is no element") {
    STATIC_REQUIRE_FALSE(element<int>);
    STATIC_REQUIRE_FALSE(element<bool>);
    STATIC_REQUIRE_FALSE(element<std::string>);
    STATIC_REQUIRE_FALSE(element<float*>);
    STATIC_REQUIRE_FALSE(element<one_way>);
}

TEST_CASE("labels, offsets and lengths") {
    STATIC_REQUIRE(index_element<int>);
    STATIC_REQUIRE(index_element<std::int64_t const>);
    STATIC_REQUIRE(index_element<std::uint8_t>);
    STATIC_REQUIRE_FALSE(index_element<bool>);
    STATIC_REQUIRE_FALSE(index_element<float>);
    STATIC_REQUIRE_FALSE(index_element<prefer::half>);
}

TEST_CASE("the 16-bit types are 16 bits, and convert only when asked") {
    STATIC_REQUIRE(sizeof(prefer::bfloat16) == 2);
    STATIC_REQUIRE(sizeof(prefer::half) == 2);
    STATIC_REQUIRE(std::is_trivially_copyable_v<prefer::half>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<float, prefer::bfloat16>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<prefer::half, float>);
    STATIC_REQUIRE_FALSE(std::is_constructible_v<prefer::half, prefer::bfloat16>);
}

}  // namespace
