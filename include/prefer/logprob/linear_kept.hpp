// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <prefer/core/element.hpp>
#include <prefer/core/view.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/linear_head.hpp>
#include <prefer/logprob/token_options.hpp>

namespace prefer {

namespace detail {

/// A row that has a label, and what backward needs to know of it.
struct scored_token {
    ::std::size_t row = 0;
    ::std::size_t label = 0;
    ::std::size_t slot = 0;  // its number among the rows that forward scored
    double upstream = 0;
};

/// What a forward call found out: which rows it scored, their normalisers, and perhaps their logits
/// (before bias and options) `[scored, vocabulary]`.
template <class C>
struct linear_record {
    ::std::vector<scored_token> tokens;
    ::std::vector<row_normalizer<C>> normalizers;
    matrix_view<C> logits;
};

}  // namespace detail

/// What `linear_token_log_probs` leaves for its backward, so that this has less to compute again:
///
///     linear_kept<C> kept;           // the rows' normalisers: 4 products in all, in place of 5
///     linear_kept<C> kept(buffer);   // and their logits: 3 products
///
/// C is what is computed in: double if the hidden states or the head are double, otherwise float.
/// The buffer is the caller's, of C, contiguous, with room for the scored rows times the
/// vocabulary; each forward call overwrites it. Backward only reads it, and may run more than once.
/// Hidden states, head, labels and options must be those of the last forward call that was given
/// this object; what can be checked (that there was one, sizes, labels, options) is, and throws. It
/// owns 48 bytes for each scored row.
///
/// ```cpp
/// prefer::linear_kept<float> kept(buffer);
/// prefer::linear_token_log_probs(hidden, head, labels, token_logp, kept);
/// prefer::linear_token_log_probs_backward(hidden, head, labels, d_token_logp, kept, d_hidden,
///                                         d_head);
/// ```
template <class C>
class linear_kept {
public:
    linear_kept() = default;

    template <class Buffer>
        requires vector_like<Buffer>
    explicit linear_kept(Buffer&& buffer) : buffer_(as_vector(::std::forward<Buffer>(buffer))) {
        if (!buffer_.contiguous()) {
            throw shape_error("prefer::linear_kept: the buffer must be contiguous");
        }
    }

    // For the two functions.

    /// The place for a new forward call.
    detail::linear_record<C>& open(char const* function, ::std::vector<detail::scored_token> tokens,
                                   ::std::size_t rows, ::std::size_t hidden_size,
                                   ::std::size_t vocabulary) {
        filled_ = false;
        ::std::size_t const n = tokens.size();
        if (buffer_.data() != nullptr) {
            if (vocabulary != 0 && n > buffer_.size() / vocabulary) {
                throw shape_error(detail::message(
                    "prefer::", function, ": the buffer of kept has size ", buffer_.size(),
                    ", but ", n, " scored rows of ", vocabulary, " logits need ", n * vocabulary));
            }
            record_.logits = matrix_view<C>(buffer_.data(), n, vocabulary);
        }
        record_.tokens = ::std::move(tokens);
        record_.normalizers.resize(n);
        rows_ = rows;
        hidden_size_ = hidden_size;
        vocabulary_ = vocabulary;
        return record_;
    }

    void close(token_options const& options) {
        options_ = options;
        filled_ = true;
    }

    /// What the last forward call left, for a backward call on the same things.
    detail::linear_record<C> const& filled(char const* function, ::std::size_t rows,
                                           ::std::size_t hidden_size, ::std::size_t vocabulary,
                                           token_options const& o) const {
        if (!filled_) {
            throw value_error(detail::message(
                "prefer::", function, ": kept holds no forward call, but must be given to one"));
        }
        detail::require_size(function, "hidden's rows", rows, "kept's forward call", rows_);
        detail::require_size(function, "hidden's columns", hidden_size, "kept's forward call",
                             hidden_size_);
        detail::require_size(function, "the vocabulary", vocabulary, "kept's forward call",
                             vocabulary_);
        auto const same = [](double a, double b) { return a >= b && a <= b; };
        if (!same(o.temperature, options_.temperature) ||
            !same(o.logit_scale, options_.logit_scale) || !same(o.soft_cap, options_.soft_cap)) {
            throw value_error(detail::message("prefer::", function,
                                              ": temperature, logit_scale or soft_cap differ from "
                                              "those of kept's forward call"));
        }
        return record_;
    }

private:
    vector_view<C> buffer_{};
    detail::linear_record<C> record_{};
    ::std::size_t rows_ = 0;
    ::std::size_t hidden_size_ = 0;
    ::std::size_t vocabulary_ = 0;
    token_options options_{};
    bool filled_ = false;
};

template <class Buffer>
linear_kept(Buffer&&) -> linear_kept<vector_element_t<Buffer>>;

}  // namespace prefer
