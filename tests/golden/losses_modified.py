#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Losses that are made of other losses; see loss_tables.py."""

import mpmath
from mpmath import mpf

from loss_tables import PAIRS, log_sigma, sigma, write


def logistic(h, beta, epsilon):
    return -(1 - epsilon) * log_sigma(beta * h) - epsilon * log_sigma(-beta * h)


def hinge(h, beta):
    return max(mpf(0), 1 - beta * h)


def power(k, d):
    """e^{kd}/k, beyond e^64 on the tangent: the documented departure."""
    if k * d <= 64:
        return mpmath.exp(k * d) / k
    return mpmath.exp(64) / k + mpmath.exp(64) * (d - 64 / k)


def alpha_score(order, d):
    return d if order == 1 else power(order - 1, d) - 1 / (order - 1)


def dpo_by_jensen_shannon(p, beta, epsilon):
    return logistic(mpmath.log(sigma(p.dw)) - mpmath.log(sigma(p.dl)), beta, epsilon)


def ipo_by_alpha(p, beta, mean, target, order):
    n_w, n_l = (p.nw, p.nl) if mean.endswith("averaged") else (1, 1)
    h = alpha_score(order, p.dw) / n_w - alpha_score(order, p.dl) / n_l
    return (h - (beta / 2 if target.endswith("half_beta") else 1 / (2 * beta))) ** 2


def hinge_by_forward_kl(p, beta):
    return hinge(power(-1, p.dw) - power(-1, p.dl), beta)


def dpo_with_nll(p, beta, epsilon, weight, of):
    return logistic(p.h, beta, epsilon) - weight * p.pw / (p.nw if of.endswith("averaged") else 1)


def dpo_and_hinge(p, beta, epsilon, first, gamma, second):
    return first * logistic(p.h, beta, epsilon) + second * hinge(p.h, gamma)


def exploratory_dpo(p, beta, epsilon, alpha):
    return logistic(p.h, beta, epsilon) + alpha * (p.pw if p.label > 0.5 else p.pl)


SUMMED, AVERAGED = "prefer::log_probs::summed", "prefer::log_probs::averaged"
HALF_BETA, INVERSE = (f"prefer::loss::ipo_target::half_{name}" for name in ("beta", "inverse_beta"))

LOSSES = {
    "dpo_by_jensen_shannon": (dpo_by_jensen_shannon, [((0.1, 0.0), ()), ((2.5, 0.0), ()), ((0.5, 0.3), ())]),
    "ipo_by_alpha": (
        ipo_by_alpha,
        [
            ((0.1, AVERAGED, INVERSE), (0.5,)),
            ((0.5, SUMMED, INVERSE), (0.75,)),
            ((3.0, SUMMED, HALF_BETA), (1.0,)),
            ((0.25, SUMMED, INVERSE), (1.0 + 2**-30,)),
        ],
    ),
    "hinge_by_forward_kl": (hinge_by_forward_kl, [((0.1,), ()), ((2.0,), ())]),
    "dpo_with_nll": (
        dpo_with_nll,
        [((0.1, 0.0), 1.0, AVERAGED), ((0.5, 0.0), 0.25, SUMMED), ((0.1, 0.1), 0.01, SUMMED)],
    ),
    "dpo_and_hinge": (dpo_and_hinge, [(((0.1, 0.0), 0.8), ((0.1,), 0.2)), (((0.5, 0.1), 2.0), ((0.25,), 0.1))]),
    "exploratory_dpo": (exploratory_dpo, [((0.1, 0.0), 1e-5), ((0.5, 0.0), 0.01)]),
}

write(
    "modified",
    LOSSES,
    pairs={"exploratory_dpo": [p._replace(label=mpf(k % 2)) for k, p in enumerate(PAIRS)]},
    types={name: f"prefer::test::{name}" for name in LOSSES},
)
