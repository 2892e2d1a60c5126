#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the golden tables of this folder, from formulas evaluated with 60 digits.

usage: python3 tests/golden/generate.py

Needs mpmath 1.3 and nothing else; the build and CI read the tables and do not run this. The formulas
are the definitions, written naively, since 60 digits leave room for any cancellation; nothing here
follows the way in which the library computes. The output depends on this file alone.

Tables
------
math_FUNCTION.inc   rows {{inputs}, nearest, residual} for float and double. The inputs are exact.
                    The true value is nearest + residual * ulp(nearest), where `nearest` is the
                    closest number of the type and ulp is the distance to the next larger magnitude;
                    so errors far below one ULP are seen, for subnormal results as well.
math_log_sum_exp.inc  rows {n, scale, offset, nearest, residual} in double, of the n numbers
                    offset + scale * ((37 i) mod 101 - 50), which are exact in float as well.
"""

import pathlib
import random
import re
import struct

import mpmath
from mpmath import mp, mpf

mp.dps = 60
HERE = pathlib.Path(__file__).parent
HEAD = "// Written by generate.py, which says how to read it.\n"


# --- the two types -------------------------------------------------------------------------------
class Type:
    def __init__(self, name, digits, lowest, suffix, code):
        self.name, self.digits, self.suffix, self.code = name, digits, suffix, code
        self.lowest = lowest  # exponent of the smallest subnormal number

    def ulp(self, x):
        """Distance from |x|, a number of this type, to the next larger one."""
        exponent = mpmath.frexp(x)[1] - self.digits if x != 0 else self.lowest
        return mpmath.ldexp(mpf(1), max(exponent, self.lowest))

    def nearest(self, x):
        unit = self.ulp(x)
        return mpmath.nint(x / unit) * unit

    def literal(self, x):
        return re.sub(r"\.?0+p", "p", float(x).hex()) + self.suffix

    def next(self, x, steps):
        """The number that is `steps` representable numbers above the nonzero `x`, away from 0."""
        width = {"f": "I", "d": "Q"}[self.code]
        (bits,) = struct.unpack(width, struct.pack(self.code, float(x)))
        (value,) = struct.unpack(self.code, struct.pack(width, bits + steps))
        return mpf(value)


FLOAT = Type("float", 24, -149, "F", "f")
DOUBLE = Type("double", 53, -1074, "", "d")


# --- the definitions -----------------------------------------------------------------------------
def with_digits(f):
    """Evaluates with as many digits as the smallest term needs."""

    def wrapped(*x):
        with mp.workdps(400 if max(abs(v) for v in x) < 800 else 60):
            return f(*x)

    return wrapped


@with_digits
def softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def log_sigmoid(x):
    return -softplus(-x)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


@with_digits
def log1mexp(x):
    return mpmath.log(1 - mpmath.exp(x)) if x < -1e-3 else mpmath.log(-mpmath.expm1(x))


@with_digits
def logit(p):
    return mpmath.log(p / (1 - p))


@with_digits
def logaddexp(a, b):
    return max(a, b) + mpmath.log1p(mpmath.exp(-abs(a - b)))


# --- their inputs --------------------------------------------------------------------------------
class Inputs:
    def __init__(self, kind, seed):
        self.kind, self.random, self.found = kind, random.Random(seed), []

    def add(self, *values):
        self.found += [self.kind.nearest(mpf(v)) for v in values]

    def logarithmic(self, low, high, step=1, signs=(1, -1)):
        """One number in each binade from 2^low to 2^high, for each sign."""
        for exponent in range(low, high, step):
            for sign in signs:
                self.add(sign * mpmath.ldexp(1 + mpf(self.random.random()), exponent))

    def uniform(self, low, high, count):
        self.add(*(low + (high - low) * mpf(self.random.random()) for _ in range(count)))

    def around(self, value):
        """The five numbers around a branch point."""
        centre = self.kind.nearest(mpf(value))
        self.found += [self.kind.next(centre, steps) for steps in (-2, -1, 0, 1, 2)]


def real_line(kind, worst):
    inputs = Inputs(kind, 1)
    inputs.logarithmic(-kind.digits - 6, 10)
    inputs.uniform(-8, 8, 120)
    # Where e^-|x| is subnormal, and beyond.
    low, high = (86, 105) if kind is FLOAT else (707, 746)
    for sign in (1, -1):
        inputs.uniform(sign * low, sign * high, 25)
    inputs.add(*(float.fromhex(x) for x in worst))
    return inputs.found


def log_probabilities(kind):
    inputs = Inputs(kind, 2)
    inputs.logarithmic(-kind.digits - 40, 10, signs=(-1,))
    inputs.uniform(-1.2, -0.4, 100)
    inputs.uniform(-40, 0, 60)
    inputs.around(-mpmath.log(2))
    inputs.uniform(*((-105, -86) if kind is FLOAT else (-746, -707)), 25)
    inputs.add(*map(float.fromhex, ("-0x1.f720ap-1", "-0x1.f82515880199ap-1", "-0x1p-149")))
    return inputs.found


def probabilities(kind):
    inputs = Inputs(kind, 3)
    inputs.logarithmic(-100, 0, step=2, signs=(1,))
    inputs.uniform(0, 1, 80)
    inputs.uniform(0.25, 0.7, 80)
    for value in (0.3, 0.5, 0.65):
        inputs.around(value)
    for exponent in range(3, kind.digits + 1, 2):  # towards one, and towards one half
        step = mpmath.ldexp(mpf(1), -exponent)
        inputs.add(1 - step, mpf(1) / 2 - step, mpf(1) / 2 + step)
    inputs.add(*map(float.fromhex, ("0x1.34cd3ep-2", "0x1.344126386d335p-2", "0x1p-149")))
    return [p for p in inputs.found if 0 < p < 1]


def two_reals(kind):
    inputs = Inputs(kind, 4)
    inputs.uniform(-4, 4, 120)
    inputs.logarithmic(-30, 9)
    firsts = inputs.found[:]
    inputs.found = []
    for a in firsts:
        inputs.add(a + mpf(inputs.random.uniform(-1, 1)) * 2 ** inputs.random.randint(-20, 5))
    pairs = list(zip(firsts, inputs.found))
    minus_log_2 = kind.nearest(-mpmath.log(2))  # here the result cancels
    near = [kind.next(minus_log_2, s) for s in (-1, 0, 1)]
    pairs += [(a, b) for a in near for b in near]
    pairs += [(a, a) for a in firsts[:20]]
    for worst in (("0x1.5d3ed8p+0", "0x1.aecc54p+0"), ("0x1.3e38783f887a7p+0", "0x1.9237917c4456fp+0")):
        pairs.append(tuple(kind.nearest(mpf(float.fromhex(w))) for w in worst))
    return pairs


def write_function(name, function, inputs):
    with open(HERE / f"math_{name}.inc", "w", encoding="utf-8") as out:
        out.write(HEAD)
        for kind in (FLOAT, DOUBLE):
            out.write(f"\ninline constexpr row<{kind.name}> {kind.name}_rows[] = {{\n")
            for x in dict.fromkeys(inputs(kind)):
                arguments = x if isinstance(x, tuple) else (x,)
                if any(a == 0 for a in arguments):
                    continue
                exact = function(*arguments)
                nearest = kind.nearest(exact)
                residual = (exact - nearest) / kind.ulp(nearest)
                text = ", ".join(kind.literal(a) for a in arguments)
                out.write(f"    {{{{{text}}}, {kind.literal(nearest)}, {float(residual):.9f}}},\n")
            out.write("};\n")


def write_log_sum_exp():
    with open(HERE / "math_log_sum_exp.inc", "w", encoding="utf-8") as out:
        out.write(HEAD + "\ninline constexpr sequence_row sequence_rows[] = {\n")
        for n in (1, 2, 3, 10, 101, 1000, 1000000):
            for scale in (0, 0.125, 1, 16):
                for offset in (0, -300, 1000):
                    values = [37 * i % 101 - 50 for i in range(min(n, 101))]
                    total = mpf(0)
                    for i, k in enumerate(values):  # term i and every 101st after it are equal
                        total += len(range(i, n, 101)) * mpmath.exp(mpf(scale) * k)
                    exact = offset + mpmath.log(total)
                    nearest = DOUBLE.nearest(exact)
                    residual = (exact - nearest) / DOUBLE.ulp(nearest)
                    out.write(f"    {{{n}, {scale}, {offset}, ")
                    out.write(f"{DOUBLE.literal(nearest)}, {float(residual):.9f}}},\n")
        out.write("};\n")


# Where dense scans of the library against long double saw the largest errors.
WORST = {
    "log_sigmoid": ("0x1.8f3a4cp+2", "0x1.4330ad0df29fp+0"),
    "softplus": ("-0x1.43ff2p+0", "-0x1.45c736f5907cp+0"),
    "sigmoid": ("-0x1.b94844p+1", "-0x1.e7f3c8ac98946p+2"),
}


def main():
    for name, function in (("log_sigmoid", log_sigmoid), ("softplus", softplus), ("sigmoid", sigmoid)):
        write_function(name, function, lambda kind: real_line(kind, WORST[name]))
    write_function("log1mexp", log1mexp, log_probabilities)
    write_function("logit", logit, probabilities)
    write_function("logaddexp", logaddexp, two_reals)
    write_log_sum_exp()


if __name__ == "__main__":
    main()
