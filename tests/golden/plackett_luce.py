#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The golden table of the Plackett-Luce loss; see loss_tables.py.

usage: python3 tests/golden/plackett_luce.py

The definition is the probability of a ranking as a product of softmaxes, naively. Rows {loss, K,
{log-ratios}, value, {gradient}, conditioning of the value, {conditioning of the gradient}}; places
behind K are 0. The log-ratios are multiples of 1/64, best response first.
"""

import random

import mpmath
from mpmath import mp, mpf

from loss_tables import HERE, LARGEST, LEAST, difference, number

WIDTH = 6


def plackett_luce(ratios, beta, top):
    worths = [mpmath.exp(beta * d) for d in ratios]
    places = len(ratios) - 1 if top == 0 else min(top, len(ratios) - 1)
    loss = mpf(0)
    for k in range(places):
        loss -= mpmath.log(worths[k] / sum(worths[k:]))
    return loss


def row(beta, top, ratios):
    at = [mpf(d) for d in ratios] + [mpf(beta)]

    def value(v):
        return plackett_luce(v[:-1], v[-1], top)

    with mp.workdps(500):
        inner, outer = mpf(10) ** -110, mpf(10) ** -45
        results = [value]
        results += [lambda v, i=i: difference(value, v, i, inner) for i in range(len(ratios))]
        values = [g(at) for g in results]
        bounds = [
            abs(v) + sum(abs(x * difference(g, at, i, outer)) for i, x in enumerate(at) if x != 0)
            for g, v in zip(results, values)
        ]

    def padded(numbers):
        return "{" + ", ".join(numbers + ["0.0"] * (WIDTH - len(numbers))) + "}"

    bounds = [mpmath.nstr(min(c, LARGEST), 6) if c > LEAST else "0.0" for c in bounds]
    return (
        f"    {{{{{beta!r}, {top}}}, {len(ratios)}, {padded([number(mpf(d)) for d in ratios])}, "
        f"{number(values[0])}, {padded([number(v) for v in values[1:]])}, "
        f"{bounds[0]}, {padded(bounds[1:])}}},\n"
    )


rng = random.Random(7)
lists = [[0, 0], [6, 0], [-10, 0], [250, -3], [0, 0, 0], [3, 1, -2], [-2, 1, 3], [0.5, 0.5, -0.5]]
lists += [[0] * 6, [5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5], [1000, 0, -1000], [-1000, 0, 1000]]
lists += [[30, -30, 30, -30], [-250, 250, 0, 30, -30]]
for k in range(12):
    scale = (2, 10, 60)[k % 3]
    lists.append([rng.randrange(-64 * scale, 64 * scale) / 64 for _ in range(2 + k % 5)])

with open(HERE / "plackett_luce.inc", "w", encoding="utf-8") as out:
    out.write("// Written by plackett_luce.py, which says how to read it.\n\n")
    out.write("inline constexpr list_row plackett_luce_rows[] = {\n")
    for ratios in lists:
        for beta, top in ((0.1, 0), (1.0, 1), (0.5, 2)):
            out.write(row(beta, top, ratios))
    out.write("};\n")
