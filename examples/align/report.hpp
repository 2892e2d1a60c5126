// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "align/metrics.hpp"

namespace align {

/// Draws losses, accuracies and rewards over the steps with gnuplot, into a PNG file. Returns an
/// empty text, or why there is no picture; without gnuplot a run is complete all the same.
std::string draw_curves(metrics const& measured, std::filesystem::path const& png);

}  // namespace align
