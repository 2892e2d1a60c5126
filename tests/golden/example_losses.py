#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The golden tables of the losses of single responses; see loss_tables.py.

usage: python3 tests/golden/example_losses.py

A definition is a function f(x, held, *arguments): `x` an Example, `held` the same example where the
formula holds something constant. Rows {loss, example, {value, d_policy}, {conditioning of each}}.
"""

from typing import NamedTuple

import mpmath
from mpmath import mp, mpf

from loss_tables import DIGITS, HERE, INNER, LARGEST, LEAST, MARGINS, OUTER
from loss_tables import difference, log_sigma, number, sigma


class Example(NamedTuple):
    policy: mpf
    reference: mpf
    length: mpf
    score: mpf
    label: mpf

    @property
    def d(self):
        return self.policy - self.reference


def kto(x, held, beta, desirable, undesirable, point):
    if x.label == 1:
        return desirable * (1 - sigma(beta * (x.d - point)))
    return undesirable * (1 - sigma(beta * (point - x.d)))


def apo_zero_unpaired(x, held, beta, desirable, undesirable):
    if x.label == 1:
        return desirable * (1 - sigma(beta * x.d))
    return undesirable * sigma(beta * x.d)


def bco(x, held, beta, shift):
    z = beta * x.d - shift
    return -log_sigma(z) if x.label == 1 else -log_sigma(-z)


def sft(x, held, weight, of):
    n = x.length if of.endswith("averaged") else 1
    return -weight * x.label * x.policy / n


def nash_md(x, held, beta):
    return beta * held.d * x.policy - (x.label - mpf(1) / 2) * x.policy


def aot_unpaired(x, held, beta, epsilon):
    def couple(y):
        z = beta * (y.d - y.score if y.label == 1 else y.score - y.d)
        return -(1 - epsilon) * log_sigma(z) - epsilon * log_sigma(-z)

    return couple(x) - couple(held) / 2


def example_of(d, k, label):
    """The k-th example, with this log-ratio. All log-probs are negative multiples of 1/64."""
    d = mpf(d)
    reference = mpf(-20.25) - k - max(d, 0)
    return Example(reference + d, reference, mpf(3 + k % 9), mpf((k % 5) * 0.75 - 1), mpf(label))


def row(f, arguments, x, soft):
    numeric = [i for i, a in enumerate(arguments) if not isinstance(a, str)]
    at = list(x) + [mpf(arguments[i]) for i in numeric]

    def full(v, held):
        given = list(arguments)
        for place, i in enumerate(numeric):
            given[i] = v[len(x) + place]
        return f(Example(*v[: len(x)]), Example(*held[: len(x)]), *given)

    def value(v):
        return full(v, v)

    def slope(v):
        return difference(lambda w: full(w, v), v, 0, INNER)

    with mp.workdps(DIGITS):
        values = [g(at) for g in (value, slope)]
        if any(abs(v) > LARGEST for v in values):
            return None
        fixed = (2,) if soft else (2, 4)  # the length is exact, and so is a label of 0 or 1
        moves = [i for i in range(len(at)) if i not in fixed]
        conditioning = [
            abs(v) + sum(abs(at[i] * difference(g, at, i, OUTER)) for i in moves if at[i] != 0)
            for g, v in zip((value, slope), values)
        ]
    written = ", ".join(a if isinstance(a, str) else repr(a) for a in arguments)
    example = "{{" + ", ".join(map(number, x[:4])) + "}, " + number(x.label) + "}"
    right = ", ".join(map(number, values))
    bound = ", ".join(mpmath.nstr(min(c, LARGEST), 6) if c > LEAST else "0.0" for c in conditioning)
    return f"    {{{{{written}}}, {example}, {{{right}}}, {{{bound}}}}},\n"


SUMMED, AVERAGED = "prefer::log_probs::summed", "prefer::log_probs::averaged"
BINARY, SOFT = (1, 0), (0.25, 1)

LOSSES = {
    "kto": (kto, BINARY, [(0.1, 1.0, 1.0, 0.0), (0.1, 1.0, 2.0, 0.5), (2.5, 1.25, 0.75, 3.0)]),
    "apo_zero_unpaired": (apo_zero_unpaired, BINARY, [(0.1, 1.0, 1.0), (1.5, 0.5, 4.0)]),
    "bco": (bco, BINARY, [(0.1, 0.0), (0.1, 0.75), (2.0, -3.0)]),
    "sft": (sft, SOFT, [(1.0, SUMMED), (0.5, AVERAGED)]),
    "nash_md": (nash_md, SOFT, [(0.1,), (2.0,)]),
    "aot_unpaired": (aot_unpaired, BINARY, [(0.1, 0.0), (0.1, 0.1), (2.0, 0.4)]),
}

with open(HERE / "example_losses.inc", "w", encoding="utf-8") as out:
    out.write("// Written by example_losses.py, which says how to read it.\n")
    for name, (definition, labels, settings) in LOSSES.items():
        lines = []
        for k, d in enumerate(MARGINS):
            for arguments in settings:
                for label in labels:
                    line = row(definition, arguments, example_of(d, k, label), labels == SOFT)
                    if line:
                        lines.append(line)
        assert len(lines) >= 20, (name, len(lines))
        out.write(f"\ninline constexpr example_row<prefer::loss::{name}> {name}_rows[] = {{\n")
        out.write("".join(lines) + "};\n")
