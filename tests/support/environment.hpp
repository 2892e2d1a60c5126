// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// What a test may know about the run it is part of. Defined in main.cpp.

#include <cstdint>
#include <filesystem>
#include <optional>

namespace prefer::test {

/// The seed of this run, printed at the start: the environment variable PREFER_SEED, or else the
/// CMake variable PREFER_TEST_SEED.
[[nodiscard]] std::uint64_t seed();

/// Folder with optional data: the environment variable PREFER_DATA_DIR, or else the CMake variable
/// of the same name. Empty when there is no such folder; then the test calls SKIP_CASE.
[[nodiscard]] std::optional<std::filesystem::path> data_dir();

/// The folder tests/ of the source tree, for tables that tests read.
[[nodiscard]] std::filesystem::path source_dir();

}  // namespace prefer::test
