#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pairwise losses with a reference that see the margin only; see loss_tables.py."""

import mpmath
from mpmath import mpf

from loss_tables import PAIRS, log_sigma, sigma, write


def dpo(p, beta, epsilon, mean):
    z = beta * (p.mean_h if mean.endswith("averaged") else p.h)
    return -(1 - epsilon) * log_sigma(z) - epsilon * log_sigma(-z)


def robust_dpo(p, beta, epsilon):
    z = beta * p.h
    return (-(1 - epsilon) * log_sigma(z) + epsilon * log_sigma(-z)) / (1 - 2 * epsilon)


def ipo(p, beta, mean, target):
    h = p.mean_h if mean.endswith("averaged") else p.h
    return (h - (beta / 2 if target.endswith("half_beta") else 1 / (2 * beta))) ** 2


def hinge_norm(p, beta):
    return max(mpf(0), 1 - beta * p.h)


def divergence(p, q):
    """KL(p || q) of two coins, given by the probabilities and by those of the other side."""
    return sum(a * (mpmath.log(a) - mpmath.log(b)) for a, b in zip(p, q))


def coin(z):
    return sigma(z), sigma(-z)


def exo(p, beta, epsilon):
    return divergence(coin(beta * p.h), (1 - epsilon, epsilon))


def discopop(p, beta, tau):
    z = beta * p.h
    m = sigma(z / tau)
    return (1 - m) * -log_sigma(z) + m * mpmath.exp(-z)


def r_dpo(p, beta, alpha):
    return -log_sigma(beta * p.h + alpha * (p.nw - p.nl))


def reward_aware_rpo(p, beta, scale, kind):
    z, g = beta * p.h, scale * (p.sw - p.sl)
    if kind.endswith("backward_kl"):
        return divergence(coin(g), coin(z))
    return divergence(coin(z), coin(g)) if kind.endswith("forward_kl") else (z - g) ** 2


def spin(p, beta):
    return -log_sigma(beta * p.h)


def rebel(p, eta):
    return (p.h / eta - (p.sw - p.sl)) ** 2


def online_ipo(p, beta, mean):
    h = p.mean_h if mean.endswith("averaged") else p.h
    return (h - (p.label - mpf(1) / 2) / beta) ** 2


def aot(p, beta, epsilon):
    z = beta * (p.pw - p.pl - p.offset)
    return -(1 - epsilon) * log_sigma(z) - epsilon * log_sigma(-z)


LABELLED = [p._replace(label=mpf(k % 5) / 4) for k, p in enumerate(PAIRS)]
# The reference margin of another pair.
OFFSET = [p._replace(offset=PAIRS[k - 3].rw - PAIRS[k - 3].rl) for k, p in enumerate(PAIRS)]

SUMMED, AVERAGED = "prefer::log_probs::summed", "prefer::log_probs::averaged"
BACKWARD, FORWARD, SQUARED = (
    f"prefer::loss::rpo_divergence::{name}" for name in ("backward_kl", "forward_kl", "squared")
)
HALF_BETA, INVERSE = (f"prefer::loss::ipo_target::half_{name}" for name in ("beta", "inverse_beta"))

write(
    "with_reference",
    {
        "dpo": (
            dpo,
            [
                (0.1, 0.0, SUMMED),
                (0.01, 0.3, SUMMED),
                (2.5, 0.0, SUMMED),
                (0.5, 0.49, SUMMED),
                (5.0, 0.1, AVERAGED),
            ],
        ),
        "robust_dpo": (robust_dpo, [(0.1, 0.1), (0.1, 0.0), (0.5, 0.4)]),
        "ipo": (
            ipo,
            [
                (0.1, AVERAGED, INVERSE),
                (0.1, SUMMED, INVERSE),
                (0.25, AVERAGED, HALF_BETA),
                (3.0, SUMMED, HALF_BETA),
            ],
        ),
        "hinge_norm": (hinge_norm, [(0.1,), (0.01,), (2.0,)]),
        "exo": (exo, [(0.1, 1e-3), (0.25, 0.1), (2.5, 1e-8), (0.01, 0.4)]),
        "discopop": (discopop, [(0.1, 0.05), (0.5, 0.2), (0.25, 1.0)]),
        "r_dpo": (r_dpo, [(0.1, 0.01), (0.5, 0.25)]),
        "reward_aware_rpo": (
            reward_aware_rpo,
            [
                (0.1, 1.0, BACKWARD),
                (1.0, 8.0, BACKWARD),
                (0.25, 1.0, FORWARD),
                (2.0, 8.0, FORWARD),
                (0.1, 0.5, SQUARED),
            ],
        ),
        "spin": (spin, [(0.2,)]),
        "rebel": (rebel, [(1.0,), (0.3,)]),
        "online_ipo": (online_ipo, [(0.1, AVERAGED), (0.3, SUMMED)]),
        "aot": (aot, [(0.1, 0.0), (0.5, 0.1)]),
    },
    pairs={"online_ipo": LABELLED, "aot": OFFSET},
)
