// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The log-prob family: from logits and labels to sequence log-probs, and back.

#include <prefer/logprob/kl_estimators.hpp>
#include <prefer/logprob/length_desensitized_sum.hpp>
#include <prefer/logprob/linear_kept.hpp>
#include <prefer/logprob/linear_pair_chunks.hpp>
#include <prefer/logprob/linear_token_log_probs.hpp>
#include <prefer/logprob/next_token_labels.hpp>
#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/logprob/token_divergence.hpp>
#include <prefer/logprob/token_kl.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/logprob/token_options.hpp>
#include <prefer/logprob/vocabulary_parallel.hpp>
