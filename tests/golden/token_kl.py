#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The golden table of the divergences of two rows of logits.

usage: python3 tests/golden/token_kl.py

The definitions, naively, in 400 digits; gradients by a symbolic rule would be the library's own, so
they are central differences in the same digits. Rows {name, policy, reference, and for each of
reverse_kl, forward_kl, jensen_shannon, alpha 0.25, alpha 0.875: {value, {policy gradient},
{reference gradient}}}. Where a value is infinite, the gradients are nan: nothing to compare with.
Logits are multiples of 1/64, so that float holds them.
"""

import pathlib
import random

import mpmath
from mpmath import mp, mpf

WIDTH = 7
mp.dps = 400
STEP = mpf(10) ** -100


def softmax(row):
    top = max(row)
    weights = [mpmath.exp(x - top) if x != -mpmath.inf else mpf(0) for x in row]
    total = sum(weights)
    return [w / total for w in weights]


def kl(p, q):
    if any(a > 0 and b == 0 for a, b in zip(p, q)):
        return mpmath.inf
    return sum(a * mpmath.log(a / b) for a, b in zip(p, q) if a > 0)


def jensen_shannon(p, q):
    m = [(a + b) / 2 for a, b in zip(p, q)]
    return (kl(p, m) + kl(q, m)) / 2


def alpha(order):
    a = mpf(order)

    def value(p, q):
        mixed = sum(x**a * y ** (1 - a) for x, y in zip(p, q) if x > 0 and y > 0)
        return (1 - mixed) / (a * (1 - a))

    return value


DIVERGENCES = [
    kl,
    lambda p, q: kl(q, p),
    jensen_shannon,
    alpha(0.25),
    alpha(0.875),
]


def number(x):
    if mpmath.isnan(x):
        return "nan"
    if mpmath.isinf(x):
        return "inf" if x > 0 else "-inf"
    x = mpf(x)
    if x == 0 or abs(x) < mpf(10) ** -80:
        return "0.0"
    text = mpmath.nstr(x, 20, strip_zeros=True)
    return text if "." in text or "e" in text else text + ".0"


def gradient(f, row, of):
    d = []
    for j, x in enumerate(row):
        if x == -mpmath.inf:
            d.append(mpf(0))  # the logit is at the end of its range: the slope there is 0
            continue
        up, down = list(row), list(row)
        up[j], down[j] = x + STEP, x - STEP
        d.append((f(of(up)) - f(of(down))) / (2 * STEP))
    return d


def braces(numbers):
    return "{" + ", ".join(number(x) for x in numbers) + "}"


def line(name, x, y):
    x = [mpf(v) for v in x]
    y = [mpf(v) for v in y]
    p, q = softmax(x), softmax(y)
    cells = []
    for f in DIVERGENCES:
        value = f(p, q)
        nans = [mpmath.nan] * len(x)
        d_policy = d_reference = nans
        if not mpmath.isinf(value):
            d_policy = gradient(lambda a: f(a, q), x, softmax)
            d_reference = gradient(lambda b: f(p, b), y, softmax)
        cells.append("{" + f"{number(value)}, {braces(d_policy)}, {braces(d_reference)}" + "}")
    return f'    {{"{name}", {braces(x)}, {braces(y)}, {{{{{", ".join(cells)}}}}}}},'


def main():
    rng = random.Random(4)
    none = -mpmath.inf

    def drawn(spread):
        return [rng.randint(-64 * spread, 64 * spread) / 64 for _ in range(WIDTH)]

    rows = [
        ("equal", [1, -2, 0.5, 3, 0, -1, 2], [1, -2, 0.5, 3, 0, -1, 2]),
        ("equal but for an offset", [1, -2, 0.5, 3, 0, -1, 2], [9, 6, 8.5, 11, 8, 7, 10]),
        ("nearly equal", [1, -2, 0.5, 3, 0, -1, 2], [1.015625, -2, 0.5, 3, 0, -1, 2]),
        ("ordinary", drawn(2), drawn(2)),
        ("wide", drawn(12), drawn(12)),
        ("flat and peaked", [0] * 7, [20, 0, 0, 0, 0, 0, 0]),
        ("peaked and flat", [20, 0, 0, 0, 0, 0, 0], [0] * 7),
        ("two winners", [40, 0, 0, 0, 0, 0, 0], [0, 40, 0, 0, 0, 0, 0]),
        ("far winners", [0, 0, 0, 0, 0, 0, 120], [100, 0, 0, 0, 0, 0, 0]),
        ("at the edge of the series", [1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]),
        ("both exclude a token", [none, 1, 2, 0, 1, -1, 0], [none, 2, 1, 0.5, 0, 0, 0]),
        ("the policy excludes one", [none, 1, 2, 0, 1, -1, 0], [1, 2, 1, 0.5, 0, 0, 0]),
        ("the reference excludes one", [1, 1, 2, 0, 1, -1, 0], [none, 2, 1, 0.5, 0, 0, 0]),
        ("disjoint", [1, 2, none, none, none, none, none], [none, none, 0, 1, 2, 0, none]),
        ("one token each", [none, none, 5, none, none, none, none], [none, none, -7] + [none] * 4),
        ("underflow", [0, -200, -3, -90, -110, -1, -800], [0, -300, -3, -91, -80, -2, -100]),
    ]
    text = "// Written by token_kl.py, which says how to read it.\n\n"
    text += "inline constexpr divergence_row token_kl_rows[] = {\n"
    text += "\n".join(line(*r) for r in rows) + "\n};\n"
    pathlib.Path(__file__).with_suffix(".inc").write_text(text)


if __name__ == "__main__":
    main()
