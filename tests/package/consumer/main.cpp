// SPDX-License-Identifier: MIT

/// \file
/// Uses the library as a project outside it does; prints the version of the headers it sees.

#if __has_include(<prefer/prefer.hpp>)
#    include <prefer/prefer.hpp>
#endif
#include <prefer/version.hpp>

#include <cstdio>

int main() {
    std::printf("%d.%d.%d\n", PREFER_VERSION_MAJOR, PREFER_VERSION_MINOR, PREFER_VERSION_PATCH);
    return 0;
}
