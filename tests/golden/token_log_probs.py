#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The golden table of token log-probs; writes token_log_probs.inc.

usage: python3 tests/golden/token_log_probs.py

Needs mpmath 1.3. Rows {name, {logits}, label, temperature, scale, cap, log-prob, entropy,
log of the sum of squares, mean}, from the definitions in 60 digits. All logits are multiples of 1/8
below 2^23 in size, or -inf, so they are exact in float and in double; those named "narrow" are
whole numbers of at most 8 bits, and exact in bfloat16 and half too.
"""

import pathlib
import random

import mpmath
from mpmath import mp, mpf

HERE = pathlib.Path(__file__).parent
COLUMNS = 40
MINUS_INF = mpf("-inf")


def mapped(x, temperature, scale, cap):
    z = scale * x
    if cap != 0:
        z = cap * mpmath.tanh(z / cap) if mpmath.isfinite(z) else -cap
    return z / temperature


def literal(x):
    if x == MINUS_INF:
        return "-HUGE_VAL"
    return mpmath.nstr(x, 20, strip_zeros=False, min_fixed=-3, max_fixed=6)


def row(name, logits, label, temperature=1, scale=1, cap=0):
    with mp.workdps(60):
        t, s, c = mpf(temperature), mpf(scale), mpf(cap)
        z = [mapped(mpf(x), t, s, c) for x in logits]
        total = sum(mpmath.exp(x) for x in z)
        p = [mpmath.exp(x) / total for x in z]
        log_prob = z[label] - mpmath.log(total)
        entropy = -sum(q * mpmath.log(q) for q in p if q > 0)
        squares = mpmath.log(sum(q * q for q in p))
        mean = sum(z) / len(z)
    numbers = ", ".join(literal(mpf(x)) for x in logits)
    head = f'"{name}", {{{numbers}}}, {label}, {float(t)!r}, {float(s)!r}, {float(c)!r}'
    results = ", ".join(literal(x) for x in (log_prob, entropy, squares, mean))
    return f"    {{{head}, {results}}},\n"


def rows():
    draw = random.Random(4)

    def whole(low, high):
        return [draw.randint(low, high) for _ in range(COLUMNS)]

    def eighths(size):
        return [draw.randint(-8 * size, 8 * size) / 8 for _ in range(COLUMNS)]

    yield row("narrow, flat", [3] * COLUMNS, 7)
    yield row("narrow, spread", whole(-9, 9), 12)
    peaked = whole(-40, -20)
    peaked[31] = 60
    yield row("narrow, one winner, its label", peaked, 31)
    yield row("narrow, one winner, another label", peaked, 2)
    holes = [x if j % 3 else "-inf" for j, x in enumerate(whole(-5, 5))]
    yield row("narrow, -inf among them", holes, 1)
    yield row("narrow, -inf is the label", holes, 3)
    yield row("narrow, one of all", ["-inf"] * 17 + [2] + ["-inf"] * 22, 17)
    for _ in range(4):
        yield row("spread", eighths(12), draw.randrange(COLUMNS))
    yield row("offset", [10000 + x for x in eighths(4)], 3)
    yield row("offset, negative", [x - 10000 for x in eighths(4)], 39)
    yield row("far offset", [2**22 + x for x in whole(-9, 9)], 39)
    yield row("hot", eighths(12), 5, temperature=2.5)
    yield row("cold", eighths(12), 6, temperature=0.25)
    yield row("scaled", eighths(12), 7, scale=0.0625)
    yield row("capped", eighths(40), 8, cap=30)
    yield row("scaled, then capped, then cooled", eighths(40), 9, temperature=0.5, scale=1.5, cap=20)
    yield row("-inf under a cap", holes, 3, cap=8)


with open(HERE / "token_log_probs.inc", "w", encoding="utf-8") as out:
    out.write("// Written by token_log_probs.py, which says how to read it.\n\n")
    out.write("golden_row const golden_rows[] = {\n")
    out.writelines(rows())
    out.write("};\n")
