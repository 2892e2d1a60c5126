// SPDX-License-Identifier: MIT

/// \file
/// The main of every test program: prints what the run depends on, then hands over to Catch2.
/// A program without tests, and a test case without assertions, is a failure.

#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"
#include "support/environment.hpp"

#include <prefer/version.hpp>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#if __has_include(<Eigen/Core>)
#    include <Eigen/Core>
#endif
#if __has_include(<xtensor/xtensor_config.hpp>)
#    include <xtensor/xtensor_config.hpp>
#endif

namespace prefer::test {
namespace {

std::optional<std::string> variable(char const* name) {
    char const* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') {
        return std::nullopt;
    }
    return text;
}

std::uint64_t read_seed() {
    auto const text = variable("PREFER_SEED");
    if (!text) {
        return PREFER_TEST_SEED;
    }
    std::uint64_t value = 0;
    auto const* const end = text->data() + text->size();
    auto const parsed = std::from_chars(text->data(), end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
        throw std::invalid_argument{"PREFER_SEED is no unsigned 64-bit number: " + *text};
    }
    return value;
}

void print_banner(std::ostream& out) {
    out << "prefer " << PREFER_VERSION_MAJOR << '.' << PREFER_VERSION_MINOR << '.'
        << PREFER_VERSION_PATCH << ", seed " << seed() << " (PREFER_SEED)";
#if defined(__clang__)
    out << ", clang " << __clang_major__ << '.' << __clang_minor__;
#elif defined(__GNUC__)
    out << ", gcc " << __GNUC__ << '.' << __GNUC_MINOR__;
#endif
#if defined(_LIBCPP_VERSION)
    out << ", libc++ " << _LIBCPP_VERSION;
#elif defined(_GLIBCXX_RELEASE)
    out << ", libstdc++ " << _GLIBCXX_RELEASE;
#endif
    out << ", Catch2 " << CATCH_VERSION_MAJOR << '.' << CATCH_VERSION_MINOR << '.'
        << CATCH_VERSION_PATCH;
#if defined(EIGEN_WORLD_VERSION)
    out << ", Eigen " << EIGEN_WORLD_VERSION << '.' << EIGEN_MAJOR_VERSION << '.'
        << EIGEN_MINOR_VERSION;
#endif
#if defined(XTENSOR_VERSION_MAJOR)
    out << ", xtensor " << XTENSOR_VERSION_MAJOR << '.' << XTENSOR_VERSION_MINOR << '.'
        << XTENSOR_VERSION_PATCH;
#endif
    out << std::endl;
}

}  // namespace

std::uint64_t seed() {
    static std::uint64_t const value = read_seed();
    return value;
}

std::optional<std::filesystem::path> data_dir() {
    std::filesystem::path path = variable("PREFER_DATA_DIR").value_or(PREFER_TEST_DATA_DIR);
    if (path.empty() || !std::filesystem::is_directory(path)) {
        return std::nullopt;
    }
    return path;
}

std::filesystem::path source_dir() {
    return PREFER_TEST_SOURCE_DIR;
}

}  // namespace prefer::test

int main(int argument_count, char* arguments[]) {
    try {
        prefer::test::print_banner(std::cout);
        Catch::Session session;
        auto& settings = session.configData();
        settings.rngSeed = static_cast<unsigned int>(prefer::test::seed());
#if CATCH_VERSION_MAJOR < 3
        // This version does not mind an empty program; NoTests is for a filter that matches
        // nothing.
        if (Catch::getRegistryHub().getTestCaseRegistry().getAllTests().empty()) {
            std::cerr << "error: this program contains no tests\n";
            return EXIT_FAILURE;
        }
        constexpr auto no_tests = Catch::WarnAbout::NoTests;
#else
        constexpr auto no_tests = Catch::WarnAbout::UnmatchedTestSpec;
#endif
        settings.warnings =
            static_cast<Catch::WarnAbout::What>(Catch::WarnAbout::NoAssertions | no_tests);
        int const code = session.applyCommandLine(argument_count, arguments);
        return code != 0 ? code : session.run();
    } catch (std::exception const& error) {
        std::cerr << "error: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
