// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include <prefer/config.hpp>

namespace prefer {

/// Sizes, strides or offsets that do not fit together.
class shape_error : public ::std::invalid_argument {
public:
    using ::std::invalid_argument::invalid_argument;
};

/// A value outside the range that a function accepts.
class value_error : public ::std::invalid_argument {
public:
    using ::std::invalid_argument::invalid_argument;
};

/// Saved state that is damaged, truncated, or not what the reader expects.
class state_error : public ::std::runtime_error {
public:
    using ::std::runtime_error::runtime_error;
};

namespace detail {

template <class... Parts>
::std::string message(Parts const&... parts) {
    ::std::ostringstream out;
    out.precision(17);
    (out << ... << parts);
    return out.str();
}

/// "prefer::FUNCTION: ARGUMENT[INDEX] is VALUE, but must be RANGE"
template <class Value>
[[noreturn]] void throw_bad_element(char const* function, char const* argument, ::std::size_t index,
                                    Value const& value, char const* range) {
    throw value_error(message("prefer::", function, ": ", argument, "[", index, "] is ", value,
                              ", but must be ", range));
}

/// "prefer::FUNCTION: ARGUMENT is VALUE, but must be RANGE"
template <class Value>
void require(bool holds, char const* function, char const* argument, Value const& value,
             char const* range) {
    if (!holds) {
        throw value_error(
            message("prefer::", function, ": ", argument, " is ", value, ", but must be ", range));
    }
}

/// Two extents that must agree.
inline void require_size(char const* function, char const* argument, ::std::size_t actual,
                         char const* reference, ::std::size_t expected) {
    if (actual != expected) {
        throw shape_error(message("prefer::", function, ": ", argument, " has size ", actual,
                                  ", but ", reference, " has size ", expected));
    }
}

}  // namespace detail
}  // namespace prefer
