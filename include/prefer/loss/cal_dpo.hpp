// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include <prefer/core/pair.hpp>
#include <prefer/errors.hpp>
#include <prefer/loss/dpo.hpp>
#include <prefer/loss/pair_loss.hpp>
#include <prefer/loss/sppo_hard.hpp>

namespace prefer::loss {

/// Calibrated DPO: the logistic loss on the bare margin, plus a pull of each log-ratio to its own
/// target.
///
/// With h the log-ratio margin and the log-ratios d_w, d_l, of summed log-probs:
///
///     loss = -log σ(h) + c·[(d_w - 1/(2β))² + (d_l + 1/(2β))²]
///
/// that is `dpo` with β = 1 plus c times `sppo_hard`; β stands in the targets only. c is
/// `calibration_weight`: 1, the plain sum, by default; the authors' released code has 1/2.
/// Inputs: summed log-probs, with reference. Ranges: β > 0, c >= 0, finite. Invariants: log 2 +
/// c/(2β²) where policy and reference agree; slopes -σ(-h) + 2c·(d_w - 1/(2β)) and σ(-h) + 2c·(d_l
/// + 1/(2β)); convex. No function of the margin. The reported rewards β·d are compared with targets
/// of 1/2 and -1/2.
/// Errors: `validate()` throws `value_error`. One softplus a pair.
/// Source: T. Xiao et al., "Cal-DPO: calibrated direct preference optimization for language model
/// alignment", 2024.
struct cal_dpo {
    double beta = 0.1;
    double calibration_weight = 1.0;

    static constexpr pair_inputs inputs() { return {.reference = true}; }

    static constexpr auto parameters() {
        return ::std::tuple{parameter{"beta", &cal_dpo::beta},
                            parameter{"calibration_weight", &cal_dpo::calibration_weight}};
    }

    void validate() const {
        require_positive("loss::cal_dpo", "beta", beta);
        require_not_negative("loss::cal_dpo", "calibration_weight", calibration_weight);
    }

    template <class S>
    PREFER_HOST_DEVICE S operator()(pair<S> const& p) const {
        using real = math::primal_t<S>;
        return dpo{.beta = 1}(p) + real(calibration_weight) * sppo_hard{.beta = beta}(p);
    }
};

}  // namespace prefer::loss
