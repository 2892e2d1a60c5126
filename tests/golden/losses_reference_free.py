#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pairwise losses without a reference; see loss_tables.py."""

from mpmath import mpf

from loss_tables import write


def slic(p, delta, weight, mean):
    likelihood = p.pw / p.nw if mean.endswith("averaged") else p.pw
    return max(mpf(0), delta - p.pw + p.pl) - weight * likelihood


SUMMED, AVERAGED = "prefer::log_probs::summed", "prefer::log_probs::averaged"

write(
    "reference_free",
    {
        "slic": (
            slic,
            [(1.0, 0.1, SUMMED), (0.0, 0.0, SUMMED), (10.0, 0.5, AVERAGED), (1.0, 1.0, AVERAGED)],
        ),
    },
)
