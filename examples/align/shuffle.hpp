// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <prefer/core/random.hpp>
#include <prefer/core/state.hpp>

namespace align {

/// Puts `items` into a random order.
template <class T>
void shuffle(std::vector<T>& items, prefer::philox& rng) {
    for (std::size_t left = items.size(); left > 1; --left) {
        std::swap(items[left - 1], items[prefer::uniform_index(rng, left)]);
    }
}

/// Minibatches without end: each epoch visits every item once, in a new order.
class minibatches {
public:
    minibatches(std::size_t items, prefer::philox const& rng) : rng_(rng), order_(items) {
        if (items == 0) throw std::invalid_argument("there is nothing to make minibatches of");
        std::iota(order_.begin(), order_.end(), std::uint64_t{0});
        next_ = items;
    }

    std::vector<std::size_t> next(std::size_t size) {
        std::vector<std::size_t> out;
        out.reserve(size);
        while (out.size() < size) {
            if (next_ == order_.size()) {
                shuffle(order_, rng_);
                next_ = 0;
            }
            out.push_back(static_cast<std::size_t>(order_[next_++]));
        }
        return out;
    }

    void save(prefer::state_writer& out, std::string const& name) const {
        prefer::save(out, name + ".rng", rng_);
        out.put(name + ".order", order_);
        out.put(name + ".next", next_);
    }

    void load(prefer::state_reader& in, std::string const& name) {
        prefer::load(in, name + ".rng", rng_);
        in.get(name + ".order", prefer::as_vector(order_));
        in.get(name + ".next", next_);
    }

private:
    prefer::philox rng_;
    std::vector<std::uint64_t> order_;
    std::uint64_t next_ = 0;
};

}  // namespace align
