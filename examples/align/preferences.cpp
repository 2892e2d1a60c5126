// SPDX-License-Identifier: MIT
#include "align/preferences.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <zlib.h>

namespace align {
namespace {

using nlohmann::json;

constexpr std::size_t reasons_kept = 3;
constexpr std::string_view turn_marker = "\n\nAssistant:";
constexpr std::string_view white_space = " \t\r\n";

/// The lines of a plain or gzip file, one after the other.
class line_reader {
public:
    explicit line_reader(std::filesystem::path const& path)
        : path_(path.string()), file_(::gzopen(path_.c_str(), "rb")) {
        if (!file_) fail(std::generic_category().message(errno));
        ::gzbuffer(file_.get(), buffer_size);
    }

    /// The next line without its end; false after the last one. Throws for a damaged file.
    bool next(std::string& line) {
        line.clear();
        bool found = false;
        while (refill()) {
            found = true;
            std::string_view const rest = std::string_view(buffer_).substr(position_);
            std::size_t const end = rest.find('\n');
            line += rest.substr(0, end);
            position_ += std::min(end, rest.size() - 1) + 1;
            if (end != std::string_view::npos) break;
        }
        return found;
    }

private:
    static constexpr unsigned buffer_size = 1U << 16;

    [[noreturn]] void fail(std::string const& reason) const {
        throw std::runtime_error("cannot read " + path_ + ": " + reason);
    }

    bool refill() {
        if (position_ < buffer_.size()) return true;
        buffer_.resize(buffer_size);
        position_ = 0;
        errno = 0;
        int const count = ::gzread(file_.get(), buffer_.data(), buffer_size);
        int const system_error = errno;
        buffer_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        if (count > 0) return true;
        int status = Z_OK;
        std::string const reason = ::gzerror(file_.get(), &status);
        if (status == Z_BUF_ERROR) fail("the gzip data is truncated");
        if (status == Z_ERRNO) fail(std::generic_category().message(system_error));
        if (count < 0 || (status != Z_OK && status != Z_STREAM_END)) {
            fail("the gzip data is damaged (" + reason + ")");
        }
        return false;
    }

    struct closer {
        void operator()(gzFile file) const { ::gzclose_r(file); }
    };

    std::string path_;
    std::unique_ptr<gzFile_s, closer> file_;
    std::string buffer_;
    std::size_t position_ = 0;
};

std::string quoted(char const* key) {
    return std::string("\"") + key + "\"";
}

json const& member(json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end()) throw format_error("there is no " + quoted(key));
    return *found;
}

struct message {
    std::string role;
    std::string content;

    friend bool operator==(message const&, message const&) = default;
};

using chat = std::vector<message>;

chat parse_chat(json const& list, char const* key) {
    if (!list.is_array()) {
        throw format_error(quoted(key) + " is no list of messages, but another one of them is");
    }
    chat out;
    for (auto const& item : list) {
        auto const field = [&](char const* name) {
            if (!item.is_object() || !item.contains(name) || !item[name].is_string()) {
                throw format_error("message " + std::to_string(out.size() + 1) + " of " +
                                   quoted(key) + " has no text " + quoted(name));
            }
            return item[name].get<std::string>();
        };
        std::string role = field("role");
        out.push_back({std::move(role), field("content")});
    }
    return out;
}

std::string as_prompt(chat const& messages, std::string const& next_role) {
    std::string out;
    for (auto const& m : messages) out += m.role + ": " + m.content + "\n\n";
    return out + next_role + ": ";
}

/// The messages from `first` on; what comes behind the first of them is written like a prompt.
std::string as_response(chat const& messages, std::size_t first) {
    std::string out;
    for (std::size_t i = first; i < messages.size(); ++i) {
        if (i != first) out += "\n\n" + messages[i].role + ": ";
        out += messages[i].content;
    }
    return out;
}

std::size_t common_messages(chat const& a, chat const& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                    a.begin());
}

preference from_chats(chat const* prompt, chat const& chosen, chat const& rejected) {
    chat shared;
    std::size_t chosen_first = 0;
    std::size_t rejected_first = 0;
    if (prompt != nullptr) {
        shared = *prompt;
        if (common_messages(shared, chosen) == shared.size()) chosen_first = shared.size();
        if (common_messages(shared, rejected) == shared.size()) rejected_first = shared.size();
    } else {
        // The last message of each is a response, even where the whole of it is shared.
        std::size_t const shortest = std::min(chosen.size(), rejected.size());
        if (shortest == 0) throw format_error("a conversation has no messages");
        chosen_first = std::min(common_messages(chosen, rejected), shortest - 1);
        rejected_first = chosen_first;
        shared.assign(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(chosen_first));
    }
    auto const speaker = [](chat const& c, std::size_t first) {
        return first < c.size() ? c[first].role : std::string("assistant");
    };
    std::string const role = speaker(chosen, chosen_first);
    if (role != speaker(rejected, rejected_first)) {
        throw format_error("\"chosen\" goes on as " + role + ", but \"rejected\" as " +
                           speaker(rejected, rejected_first));
    }
    return {.prompt = as_prompt(shared, role),
            .chosen = as_response(chosen, chosen_first),
            .rejected = as_response(rejected, rejected_first)};
}

/// Cuts `text` to at most `size` bytes. True when something was cut.
bool cut(std::string& text, std::size_t size) {
    if (text.size() <= size) return false;
    // Back to a byte that starts a character.
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    text.resize(size);
    return true;
}

}  // namespace

preference split_transcripts(std::string_view chosen, std::string_view rejected) {
    auto const differ =
        std::mismatch(chosen.begin(), chosen.end(), rejected.begin(), rejected.end());
    auto const common = chosen.substr(0, static_cast<std::size_t>(differ.first - chosen.begin()));
    std::size_t prompt = 0;
    if (auto const turn = common.rfind(turn_marker); turn != std::string_view::npos) {
        prompt = turn + turn_marker.size();
    } else if (auto const space = common.find_last_of(white_space);
               space != std::string_view::npos) {
        prompt = space + 1;
    }
    return {.prompt = std::string(chosen.substr(0, prompt)),
            .chosen = std::string(chosen.substr(prompt)),
            .rejected = std::string(rejected.substr(prompt))};
}

preference parse_preference(std::string_view line) {
    json const object = [&] {
        try {
            return json::parse(line.begin(), line.end());
        } catch (json::exception const& error) {
            throw format_error(std::string("this is no JSON (") + error.what() + ")");
        }
    }();
    if (!object.is_object()) throw format_error("this is no JSON object");
    json const& chosen = member(object, "chosen");
    json const& rejected = member(object, "rejected");
    json const* const prompt = object.contains("prompt") ? &object["prompt"] : nullptr;

    if (chosen.is_array() || rejected.is_array() || (prompt != nullptr && prompt->is_array())) {
        chat const chosen_chat = parse_chat(chosen, "chosen");
        chat const rejected_chat = parse_chat(rejected, "rejected");
        if (prompt == nullptr) return from_chats(nullptr, chosen_chat, rejected_chat);
        chat const prompt_chat = parse_chat(*prompt, "prompt");
        return from_chats(&prompt_chat, chosen_chat, rejected_chat);
    }
    auto const require_text = [](json const& value, char const* key) {
        if (!value.is_string()) {
            throw format_error(quoted(key) + " is neither a text nor a list of messages");
        }
    };
    require_text(chosen, "chosen");
    require_text(rejected, "rejected");
    if (prompt == nullptr) {
        return split_transcripts(chosen.get_ref<std::string const&>(),
                                 rejected.get_ref<std::string const&>());
    }
    require_text(*prompt, "prompt");
    return {.prompt = prompt->get<std::string>(),
            .chosen = chosen.get<std::string>(),
            .rejected = rejected.get<std::string>()};
}

std::size_t shorten(preference& p, std::size_t max_length) {
    std::size_t const room = max_length - std::min(max_length, p.prompt.size());
    std::size_t shortened = 0;
    if (cut(p.chosen, room)) {
        p.chosen_ends = false;
        ++shortened;
    }
    if (cut(p.rejected, room)) {
        p.rejected_ends = false;
        ++shortened;
    }
    return shortened;
}

reading read_preferences(std::filesystem::path const& file, reading_options const& options) {
    reading out;
    line_reader lines(file);
    std::string line;
    while (lines.next(line)) {
        ++out.lines;
        if (out.lines == 1 && line.starts_with("\xef\xbb\xbf"))
            line.erase(0, 3);  // byte order mark
        if (line.find_first_not_of(white_space) == std::string::npos) {
            ++out.blank;
            continue;
        }
        preference p;
        try {
            p = parse_preference(line);
        } catch (format_error const& error) {
            std::string const where =
                file.string() + ":" + std::to_string(out.lines) + ": " + error.what();
            if (!options.skip_bad) throw std::runtime_error(where);
            if (++out.bad <= reasons_kept) out.bad_reasons.push_back(where);
            continue;
        }
        out.empty += (p.chosen.empty() ? 1U : 0U) + (p.rejected.empty() ? 1U : 0U);
        out.shortened += shorten(p, options.max_length);
        bool const no_room =
            (p.chosen.empty() && !p.chosen_ends) || (p.rejected.empty() && !p.rejected_ends);
        if (no_room) {
            ++out.no_room;
        } else if (p.chosen == p.rejected && p.chosen_ends == p.rejected_ends) {
            ++out.identical;
        } else {
            out.pairs.push_back(std::move(p));
        }
    }
    return out;
}

}  // namespace align
