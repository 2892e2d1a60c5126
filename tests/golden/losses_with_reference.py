#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pairwise losses with a reference; see loss_tables.py."""

from mpmath import mpf

from loss_tables import log_sigma, write


def dpo(p, beta, epsilon):
    z = beta * p.h
    return -(1 - epsilon) * log_sigma(z) - epsilon * log_sigma(-z)


def robust_dpo(p, beta, epsilon):
    z = beta * p.h
    return (-(1 - epsilon) * log_sigma(z) + epsilon * log_sigma(-z)) / (1 - 2 * epsilon)


def ipo(p, beta, mean, target):
    h = p.mean_h if mean.endswith("averaged") else p.h
    return (h - (beta / 2 if target.endswith("half_beta") else 1 / (2 * beta))) ** 2


def hinge_norm(p, beta):
    return max(mpf(0), 1 - beta * p.h)


SUMMED, AVERAGED = "prefer::log_probs::summed", "prefer::log_probs::averaged"
HALF_BETA, INVERSE = (f"prefer::loss::ipo_target::half_{name}" for name in ("beta", "inverse_beta"))

write(
    "with_reference",
    {
        "dpo": (dpo, [(0.1, 0.0), (0.01, 0.3), (2.5, 0.0), (0.5, 0.49)]),
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
    },
)
