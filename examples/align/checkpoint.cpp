// SPDX-License-Identifier: MIT
#include "align/checkpoint.hpp"

#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>

namespace align::detail {
namespace {

std::string as_text(fingerprint const& print) {
    std::string out;
    for (auto const& [name, value] : print) out += name + '\t' + value + '\n';
    return out;
}

fingerprint from_text(std::string const& text) {
    fingerprint out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t const end = std::min(text.find('\n', at), text.size());
        std::string const line = text.substr(at, end - at);
        std::size_t const tab = std::min(line.find('\t'), line.size());
        out.emplace_back(line.substr(0, tab), line.substr(std::min(tab + 1, line.size())));
        at = end + 1;
    }
    return out;
}

}  // namespace

std::vector<std::byte> read_file(std::filesystem::path const& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> const bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad()) throw std::runtime_error("cannot read " + path.string());
    auto const view = std::as_bytes(std::span(bytes));
    return {view.begin(), view.end()};
}

void put_fingerprint(prefer::state_writer& out, fingerprint const& print) {
    out.put("fingerprint", as_text(print));
}

void require_fingerprint(prefer::state_reader& in, fingerprint const& print,
                         std::filesystem::path const& path) {
    std::string text;
    in.get("fingerprint", text);
    auto const value = [](fingerprint const& list, std::string const& name) {
        for (auto const& entry : list) {
            if (entry.first == name) return entry.second;
        }
        return std::string("not given");
    };
    fingerprint const saved = from_text(text);
    for (auto const* const list : {&print, &saved}) {
        for (auto const& entry : *list) {
            std::string const here = value(print, entry.first);
            std::string const there = value(saved, entry.first);
            if (here != there) {
                throw std::runtime_error("cannot resume from " + path.string() + ": " +
                                         entry.first + " was " + there + " there and is " + here +
                                         " now");
            }
        }
    }
}

}  // namespace align::detail
