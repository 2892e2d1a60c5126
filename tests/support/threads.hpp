// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/backend/parallel_tasks.hpp>
#include <prefer/core/backend.hpp>

namespace prefer::test {

/// A backend that has threads, and nothing else.
struct threads {
    using backend_concept = backend_tag;
    std::size_t count;
    [[nodiscard]] std::size_t workers() const { return count; }
    template <class Work>
    void for_each_task(std::size_t tasks, Work const& work) const {
        prefer::detail::parallel_tasks(count, tasks, work);
    }
};

}  // namespace prefer::test
