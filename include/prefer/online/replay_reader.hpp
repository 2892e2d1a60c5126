// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/core/state.hpp>
#include <prefer/errors.hpp>

namespace prefer::online {

/// \file
/// The order in which recorded data is read again.

/// What a `replay_reader` reads, and how far it may mix.
struct replay_options {
    /// Records in one batch, at least 1.
    ::std::size_t batch = 1;
    /// Batches in one window, at least 1. 1 is the recorded order, `whole_record` a full shuffle.
    ::std::size_t window = 1;

    static constexpr ::std::size_t whole_record = ::std::numeric_limits<::std::size_t>::max();
};

/// Visits the indices 0 … records - 1 once each: in recorded order, or shuffled within windows.
///
/// The record is cut from its start into windows of `window * batch` records; the last may be
/// shorter. Each window is a uniform permutation of its own records, and windows follow each other
/// in recorded order. A window of one batch keeps the recorded order and draws nothing. One window
/// over everything is the shuffled data set of arXiv:2405.08448, section 5.1; the window between
/// the two stands for its appendix G.
///
/// Memory is that of one window. `next` is O(1), but O(window * batch) where a window begins. The
/// order is a function of the generator's state and the options alone.
class replay_reader {
public:
    /// Throws `value_error` for a batch or a window of 0.
    replay_reader(::std::size_t records, replay_options const& options, philox const& rng)
        : records_(records), batch_(options.batch), window_(options.window), rng_(rng) {
        detail::require(options.batch > 0, "online::replay_reader", "batch", options.batch,
                        "at least 1");
        detail::require(options.window > 0, "online::replay_reader", "window", options.window,
                        "at least 1");
    }

    /// Records not yet visited.
    ::std::size_t left() const { return static_cast<::std::size_t>(records_ - position_); }

    /// The next record's index. Throws `value_error` when none is left.
    ::std::size_t next() {
        if (left() == 0) {
            throw value_error("prefer::online::replay_reader::next: all records have been read");
        }
        if (window_ == 1) return static_cast<::std::size_t>(position_++);
        ::std::uint64_t const offset = position_ % span();
        if (offset == 0) begin_window();
        ++position_;
        return static_cast<::std::size_t>(order_[static_cast<::std::size_t>(offset)]);
    }

    void save(state_writer& out, ::std::string const& name) const {
        out.put(name + ".shape", ::std::vector<::std::uint64_t>{records_, batch_, window_});
        prefer::save(out, name + ".rng", rng_);
        out.put(name + ".order", order_);
        out.put(name + ".position", position_);
    }

    /// Takes up where the saved reader stood. Throws `state_error`, and changes nothing, where the
    /// saved reader had other records or options, or its order is not one of its window.
    void load(state_reader& in, ::std::string const& name) {
        replay_reader read = *this;
        ::std::vector<::std::uint64_t> shape;
        in.get(name + ".shape", shape);
        if (shape != ::std::vector<::std::uint64_t>{records_, batch_, window_}) {
            throw state_error("prefer::online::replay_reader::load: the saved reader has other "
                              "records or options");
        }
        prefer::load(in, name + ".rng", read.rng_);
        in.get(name + ".order", read.order_);
        in.get(name + ".position", read.position_);
        if (!read.consistent()) {
            throw state_error("prefer::online::replay_reader::load: the saved order is not one of "
                              "its window");
        }
        *this = ::std::move(read);
    }

private:
    /// Records in a full window; all of them where the product is larger.
    ::std::uint64_t span() const {
        return window_ > records_ / batch_ ? records_ : window_ * batch_;
    }

    void begin_window() {
        ::std::uint64_t const rest = records_ - position_;
        ::std::uint64_t const size = rest < span() ? rest : span();
        order_.resize(static_cast<::std::size_t>(size));
        for (::std::size_t i = 0; i < order_.size(); ++i) order_[i] = position_ + i;
        for (::std::size_t n = order_.size(); n > 1; --n) {
            ::std::swap(order_[n - 1], order_[uniform_index(rng_, n)]);
        }
    }

    bool consistent() const {
        if (position_ > records_) return false;
        if (window_ == 1 || position_ == 0) return order_.empty();
        ::std::uint64_t const start = (position_ - 1) / span() * span();
        ::std::uint64_t const rest = records_ - start;
        if (order_.size() != (rest < span() ? rest : span())) return false;
        ::std::vector<bool> seen(order_.size());
        for (auto const index : order_) {
            if (index < start || index - start >= order_.size()) return false;
            auto const i = static_cast<::std::size_t>(index - start);
            if (seen[i]) return false;
            seen[i] = true;
        }
        return true;
    }

    ::std::uint64_t records_;
    ::std::uint64_t batch_;
    ::std::uint64_t window_;
    philox rng_;
    ::std::vector<::std::uint64_t> order_;
    ::std::uint64_t position_ = 0;
};

}  // namespace prefer::online
