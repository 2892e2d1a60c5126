// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The one place that knows which Catch2 is installed; tests include this and no Catch2 header.
///
/// Both major versions offer, under the same names, what the tests use: TEST_CASE,
/// TEMPLATE_TEST_CASE, SECTION, GENERATE, INFO, CAPTURE, CHECK, REQUIRE, CHECK_FALSE,
/// REQUIRE_FALSE, STATIC_REQUIRE, CHECK_THROWS_AS, REQUIRE_THROWS_AS, CHECK_NOTHROW.
/// Added here: CHECK_THROWS_MESSAGE, REQUIRE_THROWS_MESSAGE and SKIP_CASE.

#if __has_include(<catch2/catch_all.hpp>)
#    include <catch2/catch_all.hpp>
#else
#    include <catch2/catch.hpp>
#endif

#include <exception>
#include <ostream>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace prefer::test {

/// What an expression threw, compared with what it should have thrown.
class throw_result {
public:
    throw_result(bool passed, std::string message)
        : passed_{passed}, message_{std::move(message)} {}

    explicit operator bool() const { return passed_; }

    friend std::ostream& operator<<(std::ostream& out, throw_result const& result) {
        return out << result.message_;
    }

private:
    bool passed_;
    std::string message_;
};

/// Calls `function` and says whether it threw exactly an `Exception` (not one derived from it)
/// whose message contains `words`.
template <class Exception, class Function>
throw_result throws_message(Function&& function, std::string_view words) {
    try {
        std::forward<Function>(function)();
    } catch (Exception const& error) {
        std::string const what = error.what();
        if (typeid(error) != typeid(Exception)) {
            return {false, "threw a derived type: \"" + what + '"'};
        }
        bool const found = !words.empty() && what.find(words) != std::string::npos;
        return {found, '"' + what + "\" contains \"" + std::string{words} + '"'};
    } catch (std::exception const& error) {
        return {false, std::string{"threw another type: \""} + error.what() + '"'};
    } catch (...) {
        return {false, "threw something that is no std::exception"};
    }
    return {false, "nothing was thrown"};
}

}  // namespace prefer::test

#define PREFER_TEST_THROWS(assertion, expression, exception, words)                                \
    do {                                                                                           \
        INFO("expression: " #expression);                                                          \
        assertion(::prefer::test::throws_message<exception>(                                       \
            [&] { static_cast<void>(expression); }, words));                                       \
    } while (false)

/// The expression throws exactly this type, with a message that contains these words. An expression
/// with a comma outside parentheses goes in parentheses.
#define CHECK_THROWS_MESSAGE(expression, exception, words)                                         \
    PREFER_TEST_THROWS(CHECK, expression, exception, words)
#define REQUIRE_THROWS_MESSAGE(expression, exception, words)                                       \
    PREFER_TEST_THROWS(REQUIRE, expression, exception, words)

/// Leaves a test case that cannot run here (absent optional data), and says so.
#define SKIP_CASE(reason)                                                                          \
    do {                                                                                           \
        WARN("skipped: " << reason);                                                               \
        SUCCEED();                                                                                 \
        return;                                                                                    \
    } while (false)
