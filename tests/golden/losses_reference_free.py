#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pairwise losses without a reference; see loss_tables.py."""

import mpmath
from mpmath import mpf

from loss_tables import PAIRS, Pair, log_sigma, write


def likelihood(p, mean):
    return p.pw / p.nw if mean.endswith("averaged") else p.pw


def smoothed(u, epsilon):
    return -(1 - epsilon) * log_sigma(u) - epsilon * log_sigma(-u)


def target(beta, gamma, kind):
    return beta * gamma if kind.endswith("ratio") else gamma


def slic(p, delta, weight, mean):
    return max(mpf(0), delta - p.pw + p.pl) - weight * likelihood(p, mean)


def cpo(p, beta, epsilon, weight, mean):
    return smoothed(beta * (p.pw - p.pl), epsilon) - weight * likelihood(p, mean)


def simpo(p, beta, gamma, kind, epsilon):
    return smoothed(beta * p.pw / p.nw - beta * p.pl / p.nl - target(beta, gamma, kind), epsilon)


def alpha_po(p, alpha, beta, gamma, kind, epsilon):
    def reward(total, length):
        probability = mpmath.exp(total / length)
        return (1 - probability**-alpha) / alpha if alpha else mpmath.log(probability)

    gap = beta * reward(p.pw, p.nw) - beta * reward(p.pl, p.nl)
    return smoothed(gap - target(beta, gamma, kind), epsilon)


def orpo(p, beta, weight, mean):
    def odds(total, length):
        probability = mpmath.exp(total / length)
        return probability / (1 - probability)

    ratio = odds(p.pw, p.nw) / odds(p.pl, p.nl)
    return -beta * log_sigma(mpmath.log(ratio)) - weight * likelihood(p, mean)


def tpo(p, beta, gamma, epsilon, mean):
    rejected = p.pl / p.nl if mean.endswith("averaged") else p.pl
    return smoothed(beta * (likelihood(p, mean) - rejected) - gamma, epsilon)


SUMMED, AVERAGED = "prefer::log_probs::summed", "prefer::log_probs::averaged"
RATIO, ABSOLUTE = "prefer::loss::simpo_gamma::ratio", "prefer::loss::simpo_gamma::absolute"

# For log-odds: probabilities near 1 and near 1/2, where the log-odds are 0.
NEAR_ONE = [
    Pair(mpf(w), mpf(l), mpf(0), mpf(0), mpf(nw), mpf(nl), mpf(0), mpf(0))
    for w, l, nw, nl in [
        (-(2.0**-30), -1.5, 1, 2),
        (-1.5, -(2.0**-30), 3, 1),
        (-(2.0**-100), -(2.0**-40), 1, 1),
        (-(2.0**-7), -(2.0**-20), 4, 2),
        (-1e-8, -1e-3, 1, 1),
        (-0.6875, -0.703125, 1, 1),
        (-1, -2, 1, 1),
    ]
]

write(
    "reference_free",
    {
        "slic": (
            slic,
            [(1.0, 0.1, SUMMED), (0.0, 0.0, SUMMED), (10.0, 0.5, AVERAGED), (1.0, 1.0, AVERAGED)],
        ),
        "cpo": (
            cpo,
            [(0.1, 0.0, 1.0, SUMMED), (0.5, 0.0, 0.25, AVERAGED), (0.25, 0.3, 0.0, SUMMED)],
        ),
        "simpo": (
            simpo,
            [(2.0, 0.25, RATIO, 0.0), (2.5, 1.375, ABSOLUTE, 0.0), (10.0, 0.3, RATIO, 0.1)],
        ),
        "alpha_po": (
            alpha_po,
            [
                (0.25, 2.0, 0.25, RATIO, 0.0),
                (-0.5, 10.0, 1.5, ABSOLUTE, 0.1),
                (0.0, 2.5, 0.55, RATIO, 0.0),
                (1e-9, 2.0, 0.25, RATIO, 0.0),
            ],
        ),
        "orpo": (orpo, [(0.1, 1.0, AVERAGED), (1.0, 0.0, AVERAGED), (2.5, 0.25, SUMMED)]),
        "tpo": (
            tpo,
            [(0.01, 0.0, 0.0, SUMMED), (0.5, 0.5, 0.0, AVERAGED), (0.1, 0.25, 0.2, SUMMED)],
        ),
    },
    pairs={"orpo": PAIRS + NEAR_ONE},
)
