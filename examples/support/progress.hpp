// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

namespace support {

/// How far a loop of known length is: on a terminal one line that is redrawn, with the time that is
/// left; elsewhere (a file, a pipe, a CI log) a plain line for every tenth of the way.
class progress {
public:
    progress(std::string label, std::size_t first, std::size_t last, bool quiet = false)
        : label_(std::move(label)), first_(first), last_(last),
          terminal_(::isatty(STDOUT_FILENO) == 1), quiet_(quiet || first >= last) {}
    progress(progress const&) = delete;
    progress& operator=(progress const&) = delete;
    ~progress() {
        if (drawn_) std::fputc('\n', stdout);
    }

    /// Step `done` of `last` is finished; `status` is a few words on how it went.
    void update(std::size_t done, std::string const& status) {
        if (quiet_) return;
        auto const now = clock::now();
        bool const finished = done == last_;
        if (terminal_) {
            if (!finished && drawn_ && now - shown_ < std::chrono::milliseconds(100)) return;
            shown_ = now;
            drawn_ = true;
            // \033[K clears the rest of a longer line before.
            std::printf("\r%s %zu/%zu  %s  %s left\033[K", label_.c_str(), done, last_,
                        status.c_str(), remaining(done, now).c_str());
        } else {
            std::size_t const tenth = std::max<std::size_t>(1, (last_ + 9) / 10);
            if (!finished && done % tenth != 0) return;
            std::printf("%s %zu/%zu  %s\n", label_.c_str(), done, last_, status.c_str());
        }
        std::fflush(stdout);
    }

private:
    using clock = std::chrono::steady_clock;

    std::string remaining(std::size_t done, clock::time_point now) const {
        double const elapsed = std::chrono::duration<double>(now - start_).count();
        double const per_step =
            elapsed / static_cast<double>(std::max<std::size_t>(1, done - first_));
        auto const seconds = static_cast<long>(per_step * static_cast<double>(last_ - done) + 0.5);
        char text[32];
        std::snprintf(text, sizeof text, "%ld:%02ld", seconds / 60, seconds % 60);
        return text;
    }

    std::string label_;
    std::size_t first_;
    std::size_t last_;
    bool terminal_;
    bool quiet_;
    bool drawn_ = false;
    clock::time_point start_ = clock::now();
    clock::time_point shown_ = start_;
};

}  // namespace support
