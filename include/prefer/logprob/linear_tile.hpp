// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <prefer/core/multiply.hpp>
#include <prefer/errors.hpp>
#include <prefer/logprob/token_rows.hpp>

namespace prefer::detail {

/// The piece of the logits that the head-fused functions work on at a time: `rows` scored rows by
/// `columns` of the vocabulary.
///
/// It follows from the sizes and the workspace alone, never from threads, so neither do results.
struct linear_tile {
    ::std::size_t rows = 0;
    ::std::size_t columns = 0;

    static constexpr ::std::size_t most_rows = 1024;
    static constexpr ::std::size_t most_columns = 2048;

    static ::std::size_t pieces(::std::size_t columns) { return block_grid{1, columns}.across(); }

    /// The bytes of a tile for hidden states of size D: hidden states, their gradient, the head's
    /// rows, logits, and the sums of each row. A tile of 0 rows or columns counts as 1.
    template <class C>
    ::std::size_t bytes(::std::size_t d) const {
        ::std::size_t const numbers = rows * (2 * d + columns + 1) + columns * d;
        return numbers * sizeof(C) + rows * (1 + pieces(columns)) * sizeof(row_sums<C>);
    }

    /// The largest of at most `most` that fits, with blocks of rows of equal size.
    template <class C>
    static linear_tile fitting(char const* function, ::std::size_t scored, ::std::size_t vocabulary,
                               ::std::size_t d, ::std::size_t workspace_bytes) {
        auto const capped = [](::std::size_t n, ::std::size_t most) {
            return n == 0 ? 1 : n < most ? n : most;
        };
        linear_tile tile{capped(scored, most_rows), capped(vocabulary, most_columns)};
        ::std::size_t const least = linear_tile{1, 1}.bytes<C>(d);
        if (workspace_bytes < least) {
            throw value_error(message("prefer::", function, ": workspace_bytes is ",
                                      workspace_bytes, ", but must be at least ", least,
                                      " for hidden states of size ", d));
        }
        while (tile.bytes<C>(d) > workspace_bytes) {
            ::std::size_t& larger = tile.columns >= tile.rows ? tile.columns : tile.rows;
            larger = (larger + 1) / 2;
        }
        ::std::size_t const blocks = (scored + tile.rows - 1) / tile.rows;
        if (blocks > 1) tile.rows = (scored + blocks - 1) / blocks;
        return tile;
    }
};

}  // namespace prefer::detail
