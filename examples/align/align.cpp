// SPDX-License-Identifier: MIT

/// \file
/// An existing trainer in miniature, to which the library was added: see README.md beside this
/// file. Whatever goes wrong ends as one line on the standard error and a non-zero exit status.

#include "align/jobs.hpp"
#include "align/options.hpp"
#include "align/run.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

void complain(std::string text) {
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    std::fflush(stdout);
    std::fprintf(stderr, "align: %s\n", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    // A full disk, a file size limit or a closed pipe is then an error of the write, and is
    // reported.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        auto const settings = align::parse_options(argc, argv);
        if (!settings) return EXIT_SUCCESS;
        align::job const work = align::make_job(*settings);
        align::run(*settings, work)();
        return EXIT_SUCCESS;
    } catch (align::usage_error const& error) {
        complain(error.what());
        return 2;
    } catch (std::bad_alloc const&) {
        complain("there is not enough memory");
    } catch (std::exception const& error) {
        complain(error.what());
    }
    return EXIT_FAILURE;
}
