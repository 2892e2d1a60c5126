// SPDX-License-Identifier: MIT
#include <prefer/backend/blas.hpp>

#include <prefer/backend/parallel_tasks.hpp>

#include "linear_token_log_probs_battery.hpp"

namespace {

/// A backend that has threads and no product.
struct two_threads {
    using backend_concept = prefer::backend_tag;
    std::size_t workers() const { return 2; }
    template <class Work>
    void for_each_task(std::size_t tasks, Work const& work) const {
        prefer::detail::parallel_tasks(2, tasks, work);
    }
};

TEST_CASE("blas gives what every backend must give") {
    prefer::test::check_linear(prefer::backend::blas<>{});
}

TEST_CASE("blas on the threads of another backend gives what every backend must give") {
    prefer::test::check_linear(prefer::backend::blas{two_threads{}});
}

}  // namespace
