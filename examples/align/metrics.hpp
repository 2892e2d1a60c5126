// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <prefer/core/state.hpp>

namespace align {

/// The numbers of every step, in memory, in metrics.csv and in the checkpoint.
///
/// Phase 0 is fine-tuning, 1 alignment. What concerns the batch was measured before its step, what
/// concerns the held-out preferences after it. Fine-tuning fills `loss` (nats per token) only.
class metrics {
public:
    enum column : std::size_t {
        phase,
        step,
        loss,
        accuracy,
        strict_accuracy,
        margin,
        reward_chosen,
        reward_rejected,
        log_prob_chosen,
        log_prob_rejected,
        gradient_scale,
        held_out_loss,
        held_out_accuracy,
        columns
    };

    static constexpr std::array<std::string_view, columns> names{"phase",
                                                                 "step",
                                                                 "loss",
                                                                 "accuracy",
                                                                 "strict_accuracy",
                                                                 "margin",
                                                                 "reward_chosen",
                                                                 "reward_rejected",
                                                                 "log_prob_chosen",
                                                                 "log_prob_rejected",
                                                                 "gradient_scale",
                                                                 "held_out_loss",
                                                                 "held_out_accuracy"};

    /// One step; NaN is what was not measured.
    struct row {
        std::array<double, columns> values;

        row() { values.fill(std::numeric_limits<double>::quiet_NaN()); }
        double& operator[](column c) { return values[c]; }
        double operator[](column c) const { return values[c]; }
    };

    void add(row const& r) { rows_.push_back(r); }
    std::vector<row> const& rows() const { return rows_; }

    /// As CSV; what was not measured is empty. Numbers are written so that they read back the same.
    std::string csv() const;

    void save(prefer::state_writer& out) const;
    void load(prefer::state_reader& in);

private:
    std::vector<row> rows_;
};

}  // namespace align
