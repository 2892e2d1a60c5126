// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The log-prob family: from logits and labels to sequence log-probs, and back.

#include <prefer/logprob/length_desensitized_sum.hpp>
#include <prefer/logprob/next_token_labels.hpp>
#include <prefer/logprob/sequence_log_probs.hpp>
#include <prefer/logprob/token_log_probs.hpp>
#include <prefer/logprob/token_options.hpp>
