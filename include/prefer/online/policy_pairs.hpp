// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>
#include <prefer/online/preference_record.hpp>

namespace prefer::online {

/// A response with its score, by ids; what pairs are built of.
struct scored_response {
    ::std::uint64_t prompt = 0;
    ::std::uint64_t response = 0;
    ::std::uint64_t version = 0;  ///< of the policy that made it
    double score = 0;
};

/// What `policy_pairs` built, and what it could not.
struct policy_pair_list {
    ::std::vector<preference_record> records;
    ::std::size_t ties = 0;      ///< pairs of equal scores, or of a response with itself
    ::std::size_t unpaired = 0;  ///< responses of the two versions without a partner
};

/// Pairs a response of policy version `first` with one of version `second`, for each prompt that
/// has both: the data sets "sft vs. 800" of arXiv:2405.08448, figure 12. The better score is
/// chosen.
///
/// The i-th response of `first` to a prompt meets the i-th of `second` to it, in the order of
/// `responses`; where one has more, the rest is unpaired. With `first` = `second` the responses of
/// that version meet two by two. Records come in the order in which the later of each pair stands,
/// with `source` and `step` as given.
/// Errors, before anything is built: `value_error` for a NaN score of one of the two versions.
/// O(N log N). Deterministic.
inline policy_pair_list policy_pairs(::std::span<scored_response const> responses,
                                     ::std::uint64_t first, ::std::uint64_t second,
                                     label_source source = label_source::oracle,
                                     ::std::uint64_t step = 0) {
    ::std::vector<::std::size_t> a;
    ::std::vector<::std::size_t> b;
    bool const one_version = first == second;
    for (::std::size_t i = 0; i < responses.size(); ++i) {
        auto const& r = responses[i];
        if (r.version != first && r.version != second) continue;
        if (math::is_nan(r.score)) {
            detail::throw_bad_element("online::policy_pairs", "the scores of responses", i, r.score,
                                      "a number");
        }
        (r.version == first ? a : b).push_back(i);
    }
    auto const prompt = [&](::std::size_t i) { return responses[i].prompt; };
    auto const by_prompt = [&](::std::size_t x, ::std::size_t y) {
        return prompt(x) < prompt(y) || (prompt(x) == prompt(y) && x < y);
    };
    ::std::sort(a.begin(), a.end(), by_prompt);
    ::std::sort(b.begin(), b.end(), by_prompt);

    struct met {
        ::std::size_t one;
        ::std::size_t other;
    };
    ::std::vector<met> pairs;
    policy_pair_list out;
    if (one_version) {
        for (::std::size_t i = 0; i < a.size();) {
            if (i + 1 < a.size() && prompt(a[i]) == prompt(a[i + 1])) {
                pairs.push_back({a[i], a[i + 1]});
                i += 2;
            } else {
                ++out.unpaired;
                ++i;
            }
        }
    } else {
        ::std::size_t i = 0;
        ::std::size_t j = 0;
        while (i < a.size() && j < b.size()) {
            if (prompt(a[i]) == prompt(b[j])) {
                pairs.push_back({a[i++], b[j++]});
            } else {
                ++out.unpaired;
                ++(prompt(a[i]) < prompt(b[j]) ? i : j);
            }
        }
        out.unpaired += (a.size() - i) + (b.size() - j);
    }
    ::std::sort(pairs.begin(), pairs.end(), [](met const& x, met const& y) {
        return ::std::max(x.one, x.other) < ::std::max(y.one, y.other);
    });
    for (auto const& pair : pairs) {
        auto const* chosen = &responses[pair.one];
        auto const* rejected = &responses[pair.other];
        if (rejected->score > chosen->score) ::std::swap(chosen, rejected);
        if (!(chosen->score > rejected->score) || chosen->response == rejected->response) {
            ++out.ties;
            continue;
        }
        out.records.push_back({.prompt = chosen->prompt,
                               .chosen = chosen->response,
                               .rejected = rejected->response,
                               .chosen_score = chosen->score,
                               .rejected_score = rejected->score,
                               .chosen_version = chosen->version,
                               .rejected_version = rejected->version,
                               .source = source,
                               .step = step});
    }
    return out;
}

}  // namespace prefer::online
