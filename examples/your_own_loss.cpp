// A loss of your own: a formula over one pair. Gradients, batching, weights, metrics and kernels
// come from the library.

#include <cmath>
#include <cstdio>
#include <vector>

#include <prefer/prefer.hpp>

/// A squared hinge on the log-ratio margin: smooth at the corner, which hinge_norm is not.
struct squared_hinge {
    double beta = 0.1;  // a member of this name also scales the reported rewards

    template <class S>
    PREFER_HOST_DEVICE S operator()(prefer::pair<S> const& p) const {
        using prefer::math::max;
        using real = prefer::math::primal_t<S>;
        S const gap = max(S(real(0)), real(1) - real(beta) * p.margin());
        return gap * gap;
    }
};

int main() {
    std::vector<double> const chosen{-10.0, -6.0, -4.0}, rejected{-9.0, -8.0, -30.0};
    std::vector<double> const reference(3, -8.0);
    std::vector<double> d_chosen(3), d_rejected(3);
    prefer::pair_batch const batch{chosen, rejected, reference, reference};
    prefer::pair_gradients const gradients{d_chosen, d_rejected};

    auto const summary = prefer::evaluate_pairs(squared_hinge{.beta = 0.1}, batch, gradients);
    std::printf("squared hinge: loss %.6f, gradient %.6f %.6f %.6f\n", summary.loss, d_chosen[0],
                d_chosen[1], d_chosen[2]);

    // A lambda serves as well; `auto` covers plain and dual numbers alike.
    auto const cubic = [](auto const& p) {
        auto const gap = 1 - 0.1 * p.margin();
        return gap * gap * gap;
    };
    auto const again = prefer::evaluate_pairs(cubic, batch, gradients);
    std::printf("a cubic lambda: loss %.6f\n", again.loss);

    // Margins -1, 2 and 26: gaps 1.1, 0.8 and 0 (cubic: -1.6).
    auto const near = [](double a, double b) { return std::abs(a - b) < 1e-12; };
    bool const right = near(summary.loss, (1.21 + 0.64) / 3) &&
                       near(again.loss, (1.331 + 0.512 - 4.096) / 3) &&
                       near(d_chosen[0], -0.3 * 1.21 / 3);
    return right ? 0 : 1;
}
