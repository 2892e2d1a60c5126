// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include "support/atomic_file.hpp"
#include "support/text.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace {

std::string read(std::filesystem::path const& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct scratch_folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("prefer-atomic-" + std::to_string(::getpid()));
    scratch_folder() { std::filesystem::create_directories(path); }
    ~scratch_folder() { std::filesystem::remove_all(path); }
    scratch_folder(scratch_folder const&) = delete;
    scratch_folder& operator=(scratch_folder const&) = delete;
};

}  // namespace

TEST_CASE("a file is written whole, and replaces the one before") {
    scratch_folder const folder;
    auto const path = folder.path / "file";
    support::write_file(path, "one");
    CHECK(read(path) == "one");
    std::string const large(3'000'000, 'x');
    support::write_file(path, large);
    CHECK(read(path) == large);
    support::write_file(path, "");
    CHECK(read(path).empty());
    CHECK_FALSE(std::filesystem::exists(support::part_of(path)));
}

TEST_CASE("where writing fails, the old file stays and nothing else is left") {
    scratch_folder const folder;
    auto const path = folder.path / "file";
    support::write_file(path, "old");

    // As on a full disk: the kernel refuses to let the file grow, in the middle of the data.
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{1000, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string message;
    try {
        support::write_file(path, std::string(5000, 'x'));
    } catch (std::system_error const& error) {
        message = error.what();
    }
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, SIG_DFL);
    CHECK(message.find("cannot write " + support::part_of(path).string()) != std::string::npos);
    CHECK(read(path) == "old");
    CHECK_FALSE(std::filesystem::exists(support::part_of(path)));

    CHECK_THROWS_AS(support::write_file(path / "below", "x"), std::system_error);
    CHECK_THROWS_AS(support::write_file(folder.path / "missing" / "file", "x"), std::system_error);
    CHECK_THROWS_AS(support::write_file(folder.path, "x"), std::system_error);  // a folder
}

TEST_CASE("any bytes can be shown on one line") {
    CHECK(support::printable("a\nb\\\t\x7f") == "a\\nb\\\\\\x09\\x7f");
    CHECK(support::printable("\xc3\xa4 \xe2\x82\xac") == "\xc3\xa4 \xe2\x82\xac");
    CHECK(support::printable("\xc3(\xff\xe2\x82") == "\\xc3(\\xff\\xe2\\x82");
    CHECK(support::printable("\xc0\xaf") == "\\xc0\\xaf");  // an overlong form
}

TEST_CASE("numbers read back as they were") {
    CHECK(support::shortest(0.1) == "0.1");
    CHECK(support::shortest(600) == "600");
    CHECK(support::fixed(0.12345, 3) == "0.123");
}
