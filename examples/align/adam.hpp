// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include <prefer/core/state.hpp>

#include "align/model.hpp"

namespace align {

/// Adam (D. Kingma and J. Ba, 2015), without weight decay.
template <class Scalar>
class adam {
public:
    explicit adam(std::size_t size)
        : mean_(parameter_vector<Scalar>::Zero(index(size))),
          square_(parameter_vector<Scalar>::Zero(index(size))) {}

    void step(parameter_vector<Scalar>& parameters, parameter_vector<Scalar> const& gradient,
              double rate) {
        ++steps_;
        double const t = static_cast<double>(steps_);
        auto const scale = static_cast<Scalar>(rate * std::sqrt(1 - std::pow(decay_square, t)) /
                                               (1 - std::pow(decay_mean, t)));
        auto const b1 = static_cast<Scalar>(decay_mean);
        auto const b2 = static_cast<Scalar>(decay_square);
        auto const tiny = static_cast<Scalar>(1e-8);
        for (Eigen::Index i = 0; i < parameters.size(); ++i) {
            Scalar const g = gradient[i];
            mean_[i] = b1 * mean_[i] + (1 - b1) * g;
            square_[i] = b2 * square_[i] + (1 - b2) * g * g;
            parameters[i] -= scale * mean_[i] / (std::sqrt(square_[i]) + tiny);
        }
    }

    void save(prefer::state_writer& out) const {
        out.put("adam.steps", steps_);
        out.put("adam.mean", prefer::vector_view(mean_.data(), std::size_t(mean_.size())));
        out.put("adam.square", prefer::vector_view(square_.data(), std::size_t(square_.size())));
    }

    void load(prefer::state_reader& in) {
        in.get("adam.steps", steps_);
        in.get("adam.mean", prefer::vector_view(mean_.data(), std::size_t(mean_.size())));
        in.get("adam.square", prefer::vector_view(square_.data(), std::size_t(square_.size())));
    }

private:
    static constexpr double decay_mean = 0.9;
    static constexpr double decay_square = 0.999;

    std::uint64_t steps_ = 0;
    parameter_vector<Scalar> mean_;
    parameter_vector<Scalar> square_;
};

}  // namespace align
