// SPDX-License-Identifier: MIT
#pragma once

/// \file
/// The sampler family: from rewards and a generator to indices, and from indices to pairs.

#include <prefer/sampler/all_pairs.hpp>
#include <prefer/sampler/best_of_n.hpp>
#include <prefer/sampler/best_worst.hpp>
#include <prefer/sampler/candidate_pool.hpp>
#include <prefer/sampler/drop_identical.hpp>
#include <prefer/sampler/first_round.hpp>
#include <prefer/sampler/gumbel_top_k.hpp>
#include <prefer/sampler/index_pair.hpp>
#include <prefer/sampler/max_random.hpp>
#include <prefer/sampler/oriented_by.hpp>
#include <prefer/sampler/raft.hpp>
#include <prefer/sampler/random_pair.hpp>
#include <prefer/sampler/rejection.hpp>
#include <prefer/sampler/rest.hpp>
#include <prefer/sampler/softmax_resample.hpp>
#include <prefer/sampler/sorted_adjacent.hpp>
#include <prefer/sampler/streaming_rejection.hpp>
#include <prefer/sampler/top_k.hpp>
#include <prefer/sampler/tournament.hpp>
