// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <prefer/errors.hpp>
#include <prefer/math/elementary.hpp>

namespace prefer::online {

/// \file
/// One recorded preference.

/// Who said which response is the better one. The numbers are part of the saved form.
enum class label_source : ::std::uint8_t {
    oracle = 0,            ///< the judge that the run is measured by: people, or a golden model
    reward_model = 1,      ///< a learned score of one response
    preference_model = 2,  ///< a learned comparison of two responses
};

/// What a trainer saw of one preference: two responses to a prompt by their ids, where they came
/// from, and what was said of them; the batches of arXiv:2405.08448, section 5.1.
///
/// Ids and versions are the caller's; a response id need only be distinct among the responses to
/// its prompt, and a policy version counts whatever the trainer counts (2405.08448 takes the
/// training step of the checkpoint). `chosen_score` may be the smaller one, since a label may be
/// noisy, and a source that says only which response is better leaves both 0.
///
/// What stores, journals or builds records takes any of them but these: a score that is NaN (an
/// infinite one is a value), `chosen` equal to `rejected`, and a source that is none of the enum.
struct preference_record {
    ::std::uint64_t prompt = 0;
    ::std::uint64_t chosen = 0;
    ::std::uint64_t rejected = 0;
    double chosen_score = 0;
    double rejected_score = 0;
    ::std::uint64_t chosen_version = 0;
    ::std::uint64_t rejected_version = 0;
    label_source source = label_source::oracle;
    ::std::uint64_t step = 0;  ///< the trainer's step in which it was recorded

    friend constexpr bool operator==(preference_record const&, preference_record const&) = default;
};

}  // namespace prefer::online

namespace prefer::detail {

/// A record in its saved form: its fields in the order of their declaration, scores by their bits.
using record_words = ::std::array<::std::uint64_t, 9>;

/// What makes `r` no record; empty for a good one.
inline ::std::string record_fault(online::preference_record const& r) {
    if (math::is_nan(r.chosen_score)) return "chosen_score is NaN, but must be a number";
    if (math::is_nan(r.rejected_score)) return "rejected_score is NaN, but must be a number";
    if (r.chosen == r.rejected) {
        return message("rejected is ", r.rejected, ", but must be another response than chosen");
    }
    auto const source = static_cast<unsigned>(r.source);
    if (source > 2) return message("source is ", source, ", but must be a label_source, 0 to 2");
    return {};
}

inline record_words words_of_record(online::preference_record const& r) {
    return {r.prompt,
            r.chosen,
            r.rejected,
            ::std::bit_cast<::std::uint64_t>(r.chosen_score),
            ::std::bit_cast<::std::uint64_t>(r.rejected_score),
            r.chosen_version,
            r.rejected_version,
            static_cast<::std::uint64_t>(r.source),
            r.step};
}

/// Sets `r` to what `words` say; false, with `r` unspecified, where that is no record.
inline bool read_record(record_words const& words, online::preference_record& r) {
    r = {.prompt = words[0],
         .chosen = words[1],
         .rejected = words[2],
         .chosen_score = ::std::bit_cast<double>(words[3]),
         .rejected_score = ::std::bit_cast<double>(words[4]),
         .chosen_version = words[5],
         .rejected_version = words[6],
         .source = static_cast<online::label_source>(words[7] & 0xffU),
         .step = words[8]};
    return words[7] <= 0xffU && record_fault(r).empty();
}

}  // namespace prefer::detail
