// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <prefer/core/state.hpp>

#include "support/atomic_file.hpp"

#include "align/metrics.hpp"

namespace align {

/// What a checkpoint belongs to: names and values that must be the same again.
using fingerprint = std::vector<std::pair<std::string, std::string>>;

/// How far a run is, and its metrics so far. The trainer saves and loads the rest.
struct run_progress {
    std::uint64_t supervised_steps = 0;
    std::uint64_t preference_steps = 0;
    metrics measured;
};

namespace detail {

std::vector<std::byte> read_file(std::filesystem::path const& path);
void put_fingerprint(prefer::state_writer& out, fingerprint const& print);

/// Throws `std::runtime_error`, saying what differs.
void require_fingerprint(prefer::state_reader& in, fingerprint const& print,
                         std::filesystem::path const& path);

}  // namespace detail

/// One file, in the library's saved-state format, written whole or not at all.
template <class Trainer>
void save_checkpoint(std::filesystem::path const& path, fingerprint const& print,
                     run_progress const& progress, Trainer const& trainer) {
    prefer::state_writer out;
    detail::put_fingerprint(out, print);
    out.put("supervised_steps", progress.supervised_steps);
    out.put("preference_steps", progress.preference_steps);
    progress.measured.save(out);
    trainer.save(out);
    support::write_file(path, out.finish());
}

/// Takes up a run where a checkpoint left it. A damaged file, and one of a run with other options
/// or other data, is refused with an exception; `progress` and `trainer` are then of no use.
template <class Trainer>
void load_checkpoint(std::filesystem::path const& path, fingerprint const& print,
                     run_progress& progress, Trainer& trainer) {
    std::vector<std::byte> const bytes = detail::read_file(path);
    try {
        prefer::state_reader in(bytes);
        detail::require_fingerprint(in, print, path);
        in.get("supervised_steps", progress.supervised_steps);
        in.get("preference_steps", progress.preference_steps);
        progress.measured.load(in);
        trainer.load(in);
        in.finish();
    } catch (prefer::state_error const& error) {
        throw std::runtime_error("cannot resume from " + path.string() + ": " + error.what());
    }
}

}  // namespace align
