#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pairwise losses with a reference that look at each response; see loss_tables.py."""

from mpmath import mpf

from loss_tables import log_sigma, sigma, write


def nca(p, beta):
    rw, rl = beta * p.dw, beta * p.dl
    return -log_sigma(rw) - log_sigma(-rw) / 2 - log_sigma(-rl) / 2


def bco_pair(p, beta, delta):
    return -log_sigma(beta * p.dw - delta) - log_sigma(-(beta * p.dl - delta))


def sppo_hard(p, beta):
    return (p.dw - 1 / (2 * beta)) ** 2 + (p.dl + 1 / (2 * beta)) ** 2


def apo_zero(p, beta):
    return 1 - sigma(beta * p.dw) + sigma(beta * p.dl)


def apo_down(p, beta):
    return sigma(beta * p.dw) + 1 - sigma(beta * (p.dw - p.dl))


def dpop(p, beta, penalty):
    return -log_sigma(beta * (p.dw - p.dl - penalty * max(mpf(0), -p.dw)))


def cal_dpo(p, beta, weight):
    return -log_sigma(p.dw - p.dl) + weight * sppo_hard(p, beta)


write(
    "absolute",
    {
        "nca": (nca, [(0.1,), (0.5,), (2.0,)]),
        "bco_pair": (bco_pair, [(0.1, 0.0), (0.1, 1.5), (0.5, -0.75)]),
        "sppo_hard": (sppo_hard, [(0.1,), (0.7,)]),
        "apo_zero": (apo_zero, [(0.1,), (0.5,)]),
        "apo_down": (apo_down, [(0.1,), (0.5,)]),
        "dpop": (dpop, [(0.1, 50.0), (0.5, 0.25), (0.01, 5.0)]),
        "cal_dpo": (cal_dpo, [(0.1, 1.0), (0.002, 0.5), (3.0, 0.01)]),
    },
)
