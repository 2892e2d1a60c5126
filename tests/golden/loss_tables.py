# SPDX-License-Identifier: MIT
"""How the golden tables of losses are made; the scripts losses_GROUP.py give the definitions.

usage: python3 tests/golden/losses_GROUP.py

Needs mpmath 1.3 and nothing else; the build and CI read the tables and do not run this. A definition
is a function f(p, *arguments): `p` a Pair, the arguments the members of the C++ struct in their order,
numbers as exact values of the doubles, enumerators and truth values as the strings that stand in C++.
Where a member is a struct itself, its members stand in a tuple of their own; f gets them in a row.
It is written naively, as in the paper, since some hundred digits leave room for any cancellation;
nothing follows the way in which the library computes. Gradients are central differences at 700
digits. The output depends on these files alone.

Rows {loss, pair, {value, d_chosen, d_rejected}, {conditioning of each}} in double. The log-probs are
multiples of 1/64, so that their differences are exact. The conditioning of a result f of inputs and
parameters x is |f| + sum |x df/dx|: 2^-53 of it is what rounding the inputs alone can do to f.
"""

import pathlib
from typing import NamedTuple

import mpmath
from mpmath import mp, mpf

HERE = pathlib.Path(__file__).parent
LARGEST = mpmath.ldexp(1, 1023) * (2 - mpmath.ldexp(1, -52))
LEAST = mpmath.ldexp(1, -1074)


class Pair(NamedTuple):
    pw: mpf  # policy, chosen ("winner")
    pl: mpf  # policy, rejected ("loser")
    rw: mpf  # reference
    rl: mpf
    nw: mpf  # length
    nl: mpf
    sw: mpf  # score
    sl: mpf
    label: mpf = mpf(1)
    offset: mpf = mpf(0)

    @property
    def dw(self):
        return self.pw - self.rw

    @property
    def dl(self):
        return self.pl - self.rl

    @property
    def h(self):
        return self.dw - self.dl

    @property
    def mean_h(self):
        return self.dw / self.nw - self.dl / self.nl


def sigma(z):
    return 1 / (1 + mpmath.exp(-z))


def log_sigma(z):
    return -mpmath.log1p(mpmath.exp(-z))


# Margins: none, small, ordinary, either side of the corners of hinges, extreme.
MARGINS = [0, 1 / 64, -1 / 64, 0.5, -0.5, 1.25, 3, -3, 6, -10, 9.75, 10.25, 30, -30, 99, 101]
MARGINS += [250, -250, 1000, -1000, 4000, -4000]


def pair_of_margin(h, k):
    """The k-th pair, with this log-ratio margin. All log-probs are negative multiples of 1/64."""
    h = mpf(h)
    rw, rl = mpf(-20.25) - k, mpf(-17.5) - 3 * k % 40
    shift = mpf((k % 7) * 0.25 - 1)
    up, down = max(h, 0), min(h, 0)
    scores = mpf((k % 5) * 0.75 - 1), mpf((k % 3) * 0.5 - 0.25)
    return Pair(rw + down + shift, rl - up + shift, rw, rl, mpf(3 + k % 9), mpf(2 + 5 * k % 11), *scores)


PAIRS = [pair_of_margin(h, k) for k, h in enumerate(MARGINS)]

DIGITS = 700
INNER, OUTER = mpf(10) ** -150, mpf(10) ** -60


def difference(f, x, i, step):
    up, down = list(x), list(x)
    up[i] += step
    down[i] -= step
    return (f(up) - f(down)) / (2 * step)


def is_corner(f, x, i):
    """Whether the slope jumps here; such points belong to the closed-form tests."""
    step = mpf(10) ** -100
    up, down = list(x), list(x)
    up[i] += step
    down[i] -= step
    centre = f(list(x))
    left, right = (centre - f(down)) / step, (f(up) - centre) / step
    return abs(left - right) > mpf(10) ** -30 * (1 + abs(left))


def number(x):
    if abs(x) < LEAST / 2:
        return "0.0"
    text = mpmath.nstr(x, 20, min_fixed=-5, max_fixed=20)
    return text if "." in text or "e" in text else text + ".0"


def flat(arguments):
    """The members of nested structs, in a row."""
    for a in arguments:
        if isinstance(a, tuple):
            yield from flat(a)
        else:
            yield a


def initializer(arguments):
    """The arguments in C++, with the braces of nested structs."""
    each = (a if isinstance(a, str) else initializer(a) if isinstance(a, tuple) else repr(a) for a in arguments)
    return "{" + ", ".join(each) + "}"


def row(name, f, nested, p):
    """One line of the table, or None where the result is no double or the loss has a corner."""
    arguments = list(flat(nested))
    numeric = [i for i, a in enumerate(arguments) if not isinstance(a, str)]
    x = list(p) + [mpf(arguments[i]) for i in numeric]

    def value(v):
        given = list(arguments)
        for place, i in enumerate(numeric):
            given[i] = v[len(p) + place]
        return f(Pair(*v[: len(p)]), *given)

    with mp.workdps(DIGITS):
        if is_corner(value, x, 0) or is_corner(value, x, 1):
            return None
        results = [value]
        results += [lambda v, i=i: difference(value, v, i, INNER) for i in (0, 1)]
        values = [g(x) for g in results]
        if any(abs(v) > LARGEST for v in values):
            return None
        moves = [i for i in range(len(x)) if i not in (4, 5)]  # not the counts
        conditioning = [
            abs(v) + sum(abs(x[i] * difference(g, x, i, OUTER)) for i in moves if x[i] != 0)
            for g, v in zip(results, values)
        ]
    written = initializer(nested)
    pair = f"{{{{{number(p.pw)}, {number(p.rw)}, {number(p.nw)}, {number(p.sw)}}}, "
    pair += f"{{{number(p.pl)}, {number(p.rl)}, {number(p.nl)}, {number(p.sl)}}}, "
    pair += f"{number(p.label)}, {number(p.offset)}}}"
    right = ", ".join(map(number, values))
    bound = ", ".join(mpmath.nstr(min(c, LARGEST), 6) if c > LEAST else "0.0" for c in conditioning)
    return f"    {{{written}, {pair}, {{{right}}}, {{{bound}}}}},\n"


def write(group, losses, pairs=None, types=None):
    """losses: {name: (definition, [arguments, ...])}; pairs: {name: [Pair, ...]}, else PAIRS;
    types: {name: C++ type}, else prefer::loss::name."""
    with open(HERE / f"losses_{group}.inc", "w", encoding="utf-8") as out:
        out.write(f"// Written by losses_{group}.py; loss_tables.py says how to read it.\n")
        for name, (definition, settings) in losses.items():
            lines = [
                line
                for p in (pairs or {}).get(name, PAIRS)
                for arguments in settings
                if (line := row(name, definition, arguments, p))
            ]
            assert len(lines) >= 20, (name, len(lines))
            kind = (types or {}).get(name, f"prefer::loss::{name}")
            out.write(f"\ninline constexpr loss_row<{kind}> {name}_rows[] = {{\n")
            out.write("".join(lines) + "};\n")
