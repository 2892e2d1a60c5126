// SPDX-License-Identifier: MIT
//
// The library's side of torch_eager.py: a shared library that evaluates a loss on the caller's
// vectors, in float: loss, gradients and metrics in one pass.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>

#include <prefer/prefer.hpp>

namespace {

template <class T>
prefer::vector_view<T> column(T* data, std::size_t size) {
    return {data, size};
}

}  // namespace

extern "C" {

/// Views of the caller's vectors [size]; those that a loss does not read may be null.
struct columns {
    std::size_t size;
    float const* policy_chosen;
    float const* policy_rejected;
    float const* reference_chosen;
    float const* reference_rejected;
    std::int64_t const* length_chosen;
    std::int64_t const* length_rejected;
    float const* labels;
    float* d_chosen;
    float* d_rejected;
};

/// What both sides report; of single responses, chosen is desirable and rejected undesirable.
struct report {
    double loss;
    double reward_chosen;
    double reward_rejected;
    double accuracy;
};

/// 0, or 1 when there is no such loss or the batch is refused.
int evaluate(char const* name, columns const* in, report* out) {
    using namespace prefer::loss;
    std::string_view const which = name;
    columns const& c = *in;
    auto const pairs = [&](auto const& loss) {
        bool const reference = loss.inputs().reference;
        prefer::pair_batch<float> batch(column(c.policy_chosen, c.size),
                                        column(c.policy_rejected, c.size));
        if (reference) {
            batch = prefer::pair_batch(
                column(c.policy_chosen, c.size), column(c.policy_rejected, c.size),
                column(c.reference_chosen, c.size), column(c.reference_rejected, c.size));
        }
        if (loss.inputs().lengths) {
            batch = batch.with_lengths(column(c.length_chosen, c.size),
                                       column(c.length_rejected, c.size));
        }
        prefer::pair_gradients const gradients{column(c.d_chosen, c.size),
                                               column(c.d_rejected, c.size)};
        auto const s = prefer::evaluate_pairs(loss, batch, gradients);
        *out = {s.loss, s.reward_chosen, s.reward_rejected, s.strict_accuracy};
        return 0;
    };
    auto const examples = [&](auto const& loss) {
        auto const batch = prefer::example_batch(column(c.policy_chosen, c.size),
                                                 column(c.reference_chosen, c.size))
                               .with_labels(column(c.labels, c.size));
        prefer::example_gradients const gradients{column(c.d_chosen, c.size)};
        auto const s = prefer::evaluate_examples(loss, batch, gradients);
        *out = {s.loss, s.desirable.reward, s.undesirable.reward, 0};
        return 0;
    };
    try {
        if (which == "dpo") return pairs(dpo{});
        if (which == "ipo") return pairs(ipo{});
        if (which == "hinge_norm") return pairs(hinge_norm{});
        if (which == "exo") return pairs(exo{});
        if (which == "nca") return pairs(nca{});
        if (which == "bco_pair") return pairs(bco_pair{});
        if (which == "sppo_hard") return pairs(sppo_hard{});
        if (which == "apo_zero") return pairs(apo_zero{});
        if (which == "discopop") return pairs(discopop{});
        if (which == "simpo") return pairs(simpo{});
        if (which == "orpo") return pairs(orpo{});
        if (which == "kto") return examples(kto{.reference_point = 0.25});
    } catch (std::exception const& error) {
        std::fprintf(stderr, "torch_eager: %s\n", error.what());
    }
    return 1;
}

}  // extern "C"
