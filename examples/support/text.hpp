// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace support {

/// The shortest decimal that reads back as the same number.
inline std::string shortest(double x) {
    char text[32];
    auto const end = std::to_chars(text, text + sizeof text, x).ptr;
    return {text, end};
}

/// A number with a fixed count of decimals.
inline std::string fixed(double x, int decimals) {
    char text[64];
    auto const end = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, decimals);
    return end.ec == std::errc{} ? std::string(text, end.ptr) : shortest(x);
}

/// The number of bytes of the UTF-8 sequence at the start of `text`: 0 when there is none.
inline std::size_t utf8_length(std::string_view text) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.empty()) return 0;
    std::size_t const length = byte(0) < 0x80   ? 1
                               : byte(0) < 0xc2 ? 0
                               : byte(0) < 0xe0 ? 2
                               : byte(0) < 0xf0 ? 3
                               : byte(0) < 0xf5 ? 4
                                                : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

/// Any bytes as one readable line: valid UTF-8 stays, the rest is escaped.
inline std::string printable(std::string_view bytes) {
    std::string out;
    while (!bytes.empty()) {
        std::size_t const length = utf8_length(bytes);
        auto const c = static_cast<unsigned char>(bytes[0]);
        if (length > 1 || (length == 1 && c >= 0x20 && c != 0x7f && c != '\\')) {
            out += bytes.substr(0, length);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\\') {
            out += "\\\\";
        } else {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(c));
            out += escaped;
        }
        bytes.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

}  // namespace support
