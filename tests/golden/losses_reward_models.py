#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The losses of reward and preference models; see loss_tables.py. `pw` and `pl` are scores."""

import mpmath
from mpmath import mpf

from loss_tables import MARGINS, Pair, log_sigma, write


def bradley_terry(p, epsilon, centre):
    margin = p.pw - p.pl - p.offset
    better = (1 - epsilon) * p.label + epsilon * (1 - p.label)
    entropy = -better * log_sigma(margin) - (1 - better) * log_sigma(-margin)
    return entropy + centre * (p.pw + p.pl) ** 2


def cross_entropy(label, win, tie, loss):
    """-log of the outcome's probability; a label is a mixture of the two nearest outcomes."""
    if label >= mpf(1) / 2:
        return -(2 * label - 1) * mpmath.log(win) - (2 - 2 * label) * mpmath.log(tie)
    return -(1 - 2 * label) * mpmath.log(loss) - 2 * label * mpmath.log(tie)


def davidson(p, nu):
    win, loss = mpmath.exp(p.pw), mpmath.exp(p.pl)
    tie = nu * mpmath.sqrt(win * loss)
    total = win + loss + tie
    return cross_entropy(p.label, win / total, tie / total, loss / total)


def rao_kupper(p, theta):
    win, loss = mpmath.exp(p.pw), mpmath.exp(p.pl)
    first, second = win / (win + theta * loss), loss / (loss + theta * win)
    tie = (theta**2 - 1) * win * loss / (win + theta * loss) / (loss + theta * win)
    return cross_entropy(p.label, first, tie, second)


def preference_model(p):
    def sigma(x):
        return 1 / (1 + mpmath.exp(-x))

    return -mpmath.log(sigma(p.pw)) / 2 - mpmath.log(1 - sigma(p.pl)) / 2


LABELS = [1, 0.5, 0, 0.75, 0.125]
OFFSETS = [0, 0.5, -1.25]


def pair_of(margin, k):
    """Scores about 0 with this difference, multiples of 1/64; a label and an offset."""
    centre = mpf(k % 5) * 0.75 - 1
    chosen, rejected = centre + max(margin, 0), centre - min(margin, 0)
    label, offset = mpf(LABELS[k % 5]), mpf(OFFSETS[k % 3])
    none = mpf(0)
    return Pair(chosen, rejected, none, none, mpf(1), mpf(1), none, none, label, offset)


PAIRS = [pair_of(mpf(h), k + shift) for shift in (0, 1, 3) for k, h in enumerate(MARGINS)]

write(
    "reward_models",
    {
        "bradley_terry": (bradley_terry, [(0.0, 0.0), (0.1, 0.01)]),
        "davidson": (davidson, [(1.0,), (0.25,), (4.5,)]),
        "rao_kupper": (rao_kupper, [(2.0,), (1.0625,), (5.5,)]),
        "preference_model": (preference_model, [()]),
    },
    pairs=dict.fromkeys(("bradley_terry", "davidson", "rao_kupper", "preference_model"), PAIRS),
)
