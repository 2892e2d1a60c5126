// A tensor type that the library has never heard of: one specialisation makes it a view, no copy.

#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

namespace trainer {

/// A column-major matrix with padding after each column, as some trainer might have.
struct tensor {
    std::vector<float> storage;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t leading = 0;  // elements from one column to the next

    tensor(std::size_t r, std::size_t c)
        : storage((r + 3) * c), rows(r), columns(c), leading(r + 3) {}

    float& at(std::size_t r, std::size_t c) { return storage[c * leading + r]; }
};

}  // namespace trainer

template <>
struct prefer::view_traits<trainer::tensor> {
    static constexpr bool borrowed = false;  // it owns its memory: views of temporaries are refused

    static auto matrix(auto& x) {
        return prefer::matrix_view(x.storage.data(), x.rows, x.columns, 1,
                                   static_cast<std::ptrdiff_t>(x.leading));
    }
};

int main() {
    // Two tokens over a vocabulary of three.
    trainer::tensor logits(2, 3);
    logits.at(0, 0) = 1;
    logits.at(1, 1) = 2;
    std::vector<int> const labels{0, 1};
    std::vector<float> token_logp(2);

    prefer::token_log_probs(logits, labels, token_logp);
    std::printf("log-probs %.6f and %.6f\n", static_cast<double>(token_logp[0]),
                static_cast<double>(token_logp[1]));

    // 1 - log(e + 2) and 2 - log(e^2 + 2)
    bool const right = std::abs(token_logp[0] + 0.551444714F) < 1e-6F &&
                       std::abs(token_logp[1] + 0.239544766F) < 1e-6F;
    return right ? 0 : 1;
}
