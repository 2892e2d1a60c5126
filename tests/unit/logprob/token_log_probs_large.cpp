// SPDX-License-Identifier: MIT
// More logits than a 32-bit index counts; needs 4.4 GB, so it runs only when asked for:
//     PREFER_LARGE=1 unit.logprob.token_log_probs_large
#include <prefer/logprob/token_log_probs.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <support/catch.hpp>
#include <support/compare.hpp>

using prefer::test::family;

namespace {

unsigned rounded(double x) {
    return prefer::bfloat16(static_cast<float>(x)).bits;
}

}  // namespace

TEST_CASE("rows behind 2^31 logits are read and written where they are") {
    bool const asked = std::getenv("PREFER_LARGE") != nullptr;
    std::size_t const columns = asked ? 131072 : 128;
    std::size_t const rows = asked ? 16400 : 16;
    std::vector<prefer::bfloat16> x(rows * columns);
    CHECK((x.size() > (std::size_t{1} << 31U)) == asked);
    std::vector<int> labels(rows, -100);
    labels[0] = 3;
    labels[rows - 1] = static_cast<int>(columns - 1);
    x[x.size() - 1] = prefer::bfloat16(2.0F);
    std::vector<double> out(rows);
    std::vector<float> const g(rows, 1.0F);
    prefer::matrix_view const logits(x.data(), rows, columns);
    prefer::token_log_probs(logits, labels, out);
    double const n = static_cast<double>(columns);
    double const z = n - 1 + std::exp(2.0);
    CHECK_CLOSE(static_cast<float>(out[0]), -std::log(n), family::log_prob);
    CHECK_CLOSE(static_cast<float>(out[rows - 1]), 2 - std::log(z), family::log_prob);
    CHECK_SAME(out[rows / 2], 0.0);
    prefer::token_log_probs_backward(logits, labels, g, logits);
    CHECK(x[x.size() - 1].bits == rounded(1 - std::exp(2.0) / z));
    CHECK(x[x.size() - 2].bits == rounded(-1 / z));
    CHECK(x[3].bits == rounded(1 - 1 / n));
    CHECK(x[columns].bits == 0);
}
