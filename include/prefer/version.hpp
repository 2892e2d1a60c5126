// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The one place that states the library's version. CMake reads it from here.

#define PREFER_VERSION_MAJOR 0
#define PREFER_VERSION_MINOR 1
#define PREFER_VERSION_PATCH 0
