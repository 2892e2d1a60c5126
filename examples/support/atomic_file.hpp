// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace support {

/// \file
/// Files that are written whole or not at all: into a temporary file beside the target, flushed to
/// the disk, then renamed over it. Whoever is killed, or runs out of disk, leaves the old file as
/// it was, and at most a `NAME.part` that the next attempt overwrites. Every failure is a
/// `std::system_error` that names the file.

[[noreturn]] inline void throw_file_error(int error, std::string const& what,
                                          std::filesystem::path const& path) {
    throw std::system_error(error, std::generic_category(), what + " " + path.string());
}

/// Where `path` is written before it gets its name.
inline std::filesystem::path part_of(std::filesystem::path const& path) {
    return path.string() + ".part";
}

namespace detail {

/// An open file; `close` reports, the destructor only tidies up.
class descriptor {
public:
    descriptor(std::filesystem::path const& path, int flags)
        : path_(path), number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
        if (number_ < 0) throw_file_error(errno, "cannot open", path_);
    }
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    ~descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    void write(std::span<std::byte const> bytes) {
        while (!bytes.empty()) {
            auto const written = ::write(number_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) throw_file_error(errno, "cannot write", path_);
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }

    void sync() {
        // Some file systems cannot sync a directory, and say so; that is no failure of the write.
        if (::fsync(number_) != 0 && errno != EINVAL) {
            throw_file_error(errno, "cannot write", path_);
        }
    }

    void close() {
        int const number = number_;
        number_ = -1;
        if (::close(number) != 0 && errno != EINTR) throw_file_error(errno, "cannot write", path_);
    }

private:
    std::filesystem::path path_;
    int number_;
};

}  // namespace detail

/// Gives the finished file `part_of(path)` its name, for good: file and folder are synced.
inline void commit_file(std::filesystem::path const& path) {
    auto const part = part_of(path);
    detail::descriptor file(part, O_RDONLY);
    file.sync();
    file.close();
    if (::rename(part.c_str(), path.c_str()) != 0) throw_file_error(errno, "cannot replace", path);
    auto const parent = path.parent_path();
    detail::descriptor folder(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY);
    folder.sync();
    folder.close();
}

/// Writes a file whole or not at all.
inline void write_file(std::filesystem::path const& path, std::span<std::byte const> bytes) {
    auto const part = part_of(path);
    try {
        detail::descriptor file(part, O_WRONLY | O_CREAT | O_TRUNC);
        file.write(bytes);
        file.sync();
        file.close();
        commit_file(path);
    } catch (...) {
        ::unlink(part.c_str());
        throw;
    }
}

inline void write_file(std::filesystem::path const& path, std::string_view text) {
    write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace support
