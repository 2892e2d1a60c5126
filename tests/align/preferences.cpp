// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include "align/preferences.hpp"

#include <filesystem>
#include <fstream>
#include <string>

using align::format_error;
using align::parse_preference;
using align::preference;
using align::split_transcripts;

namespace {

std::filesystem::path write(char const* name, std::string const& text) {
    auto const path = std::filesystem::temp_directory_path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

}  // namespace

TEST_CASE("strings are prompt and responses as they are") {
    auto const p = parse_preference(R"({"prompt": "p", "chosen": "", "rejected": "r\n", "x": []})");
    CHECK(p.prompt == "p");
    CHECK(p.chosen.empty());
    CHECK(p.rejected == "r\n");
}

TEST_CASE("chats are written out, whichever way they share their prompt") {
    std::string const user = R"({"role": "user", "content": "hi"})";
    std::string const good = R"({"role": "assistant", "content": "hello"})";
    std::string const bad = R"({"role": "assistant", "content": "no"})";
    auto const line = [](std::string const& prompt, std::string const& chosen,
                         std::string const& rejected) {
        std::string const start = prompt.empty() ? "{" : R"({"prompt": [)" + prompt + "], ";
        return start + R"("chosen": [)" + chosen + R"(], "rejected": [)" + rejected + "]}";
    };
    for (auto const& text : {line(user, good, bad), line(user, user + "," + good, user + "," + bad),
                             line("", user + "," + good, user + "," + bad)}) {
        auto const p = parse_preference(text);
        CHECK(p.prompt == "user: hi\n\nassistant: ");
        CHECK(p.chosen == "hello");
        CHECK(p.rejected == "no");
    }

    SECTION("the last message is a response even where all of it is shared") {
        auto const p = parse_preference(line("", user + "," + good, user + "," + good));
        CHECK(p.chosen == "hello");
        CHECK(p.rejected == "hello");
        auto const prefix = parse_preference(line("", good, good + "," + user + "," + bad));
        CHECK(prefix.prompt == "assistant: ");
        CHECK(prefix.rejected == "hello\n\nuser: hi\n\nassistant: no");
    }
    SECTION("a response may be missing") {
        auto const p = parse_preference(line(user, "", bad));
        CHECK(p.prompt == "user: hi\n\nassistant: ");
        CHECK(p.chosen.empty());
    }
    SECTION("what cannot be understood is refused") {
        std::string const other = R"({"role": "user", "content": "hey"})";
        CHECK_THROWS_MESSAGE(parse_preference(line(user, good, other)), format_error,
                             "\"chosen\" goes on as assistant, but \"rejected\" as user");
        CHECK_THROWS_MESSAGE(parse_preference(line("", "", good)), format_error, "no messages");
        CHECK_THROWS_MESSAGE(parse_preference(line(user, good, R"({"role": "assistant"})")),
                             format_error, "message 1 of \"rejected\" has no text \"content\"");
        CHECK_THROWS_MESSAGE(parse_preference(R"({"prompt": "p", "chosen": [], "rejected": []})"),
                             format_error, "\"prompt\" is no list of messages");
    }
}

TEST_CASE("transcripts share their prompt up to the last turn of the assistant") {
    auto const check = [](std::string const& prompt, std::string const& chosen,
                          std::string const& rejected) {
        auto const p = split_transcripts(prompt + chosen, prompt + rejected);
        CHECK(p.prompt == prompt);
        CHECK(p.chosen == chosen);
        CHECK(p.rejected == rejected);
    };
    std::string const turn = "\n\nHuman: hi\n\nAssistant:";
    check(turn, " yes", " no");
    check(turn, " the first words are the same", " the first words are");
    check(turn + " ok" + turn, "", " no");
    check(turn, " a\n\nHuman: b\n\nAssistant: c", " a\n\nHuman: b\n\nAssi");

    SECTION("without a turn: up to the last white space that they share") {
        check("one two ", "three", "thirty");
        check("", "three", "thirty");
        check("one\n", "", "two");
        check("", "", "");
    }
    SECTION("never inside a character") {
        check("", "\xc3\xa4", "\xc3\xb6");  // ä and ö start with the same byte
        check(turn, "\xe2\x82\xac", "\xe2\x82\xa1");
    }
}

TEST_CASE("responses are cut each from its own end") {
    preference p{.prompt = "12", .chosen = "1234567", .rejected = "1"};
    CHECK(align::shorten(p, 4) == 1);
    CHECK(p.chosen == "12");
    CHECK_FALSE(p.chosen_ends);
    CHECK(p.rejected == "1");
    CHECK(p.rejected_ends);

    preference full{.prompt = "123", .chosen = "1234567", .rejected = "1"};
    CHECK(align::shorten(full, 2) == 2);
    CHECK(full.chosen.empty());
    CHECK(full.rejected.empty());

    preference euro{.prompt = "", .chosen = "a\xe2\x82\xac", .rejected = "abc"};
    CHECK(align::shorten(euro, 3) == 1);
    CHECK(euro.chosen == "a");
    CHECK(euro.rejected == "abc");
    CHECK(euro.rejected_ends);
}

TEST_CASE("a file is read line by line, and everything odd is counted") {
    std::string const pair = R"({"prompt": "p", "chosen": "c", "rejected": "r"})";
    std::string const long_pair =
        R"({"prompt": "p", "chosen": ")" + std::string(100'000, 'x') + R"(", "rejected": ""})";
    // A byte order mark, both kinds of line ends, a blank line, no end of the last line.
    auto const path = write("prefer-align-reader.jsonl",
                            "\xef\xbb\xbf" + pair + "\r\n \n" + long_pair + "\n" + pair);
    auto const all = align::read_preferences(path, {});
    CHECK(all.lines == 4);
    CHECK(all.blank == 1);
    CHECK(all.pairs.size() == 3);
    CHECK(all.shortened == 1);
    CHECK(all.empty == 1);
    CHECK(all.pairs[1].chosen.size() == 2047);

    auto const small = align::read_preferences(path, {.max_length = 1, .skip_bad = false});
    CHECK(small.pairs.empty());
    CHECK(small.no_room == 3);
    std::filesystem::remove(path);

    SECTION("bytes that are no UTF-8 are malformed") {
        auto const bad =
            write("prefer-align-reader-bad.jsonl", pair + "\n{\"chosen\": \"\xff\"}\n");
        CHECK_THROWS_MESSAGE(align::read_preferences(bad, {}), std::runtime_error, ".jsonl:2: ");
        auto const skipped = align::read_preferences(bad, {.max_length = 99, .skip_bad = true});
        CHECK(skipped.bad == 1);
        CHECK(skipped.bad_reasons.size() == 1);
        CHECK(skipped.pairs.size() == 1);
        std::filesystem::remove(bad);
    }
}
