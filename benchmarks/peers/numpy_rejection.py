#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Statistical rejection sampling for many prompts at once, in NumPy and PyTorch.

usage: python3 benchmarks/peers/numpy_rejection.py [--prompts 1000000] [--rounds 3] [--torch THREADS]

Algorithm 1 of arXiv:2309.06657 in whole-array operations: one sweep is a maximum, an exponential, a
uniform number and a running count for every candidate of every prompt that is not done yet. Prints
prompts per second, to set beside `items/s` of the benchmark `rejection` on the same machine. Checks
that every prompt gets its count of distinct candidates, and the mean acceptance of the first sweep.
"""

import argparse
import statistics
import time

import numpy


def sample(xp, rewards, count, beta, uniform):
    """Accepted candidates [P, M] as a mask. `xp` is numpy or torch; their names agree here."""
    prompts, _ = rewards.shape
    accepted = xp.zeros(rewards.shape, dtype=xp.bool if xp is not numpy else numpy.bool_)
    active = xp.arange(prompts)
    left = xp.asarray(rewards)
    wanted = xp.full((prompts,), count)
    while len(active):
        best = left.max(1) if xp is numpy else left.amax(1)
        hit = uniform(left.shape) < xp.exp((left - best[:, None]) / beta)
        running = hit.cumsum(1) if xp is numpy else hit.cumsum(1, dtype=xp.int32)
        hit &= running <= wanted[:, None]
        accepted[active] |= hit
        wanted = wanted - (hit.sum(1))
        go_on = wanted > 0
        active, wanted = active[go_on], wanted[go_on]
        left = left[go_on]
        left[hit[go_on]] = -float("inf")
    return accepted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=1000000)
    parser.add_argument("--candidates", type=int, default=64)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--beta", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", type=int, metavar="THREADS", help="PyTorch instead of NumPy")
    given = parser.parse_args()
    shape = (given.prompts, given.candidates)
    rng = numpy.random.default_rng(7)
    rewards = rng.standard_normal(shape, dtype=numpy.float32)
    if given.torch:
        import torch

        torch.set_num_threads(given.torch)
        torch.manual_seed(42)
        xp, rewards = torch, torch.from_numpy(rewards)
        uniform = torch.rand
    else:
        xp = numpy
        uniform = lambda size: rng.random(size, dtype=numpy.float32)

    times = []
    for _ in range(given.rounds):
        start = time.perf_counter()
        accepted = sample(xp, rewards, given.count, given.beta, uniform)
        times.append(time.perf_counter() - start)
        if not bool((accepted.sum(1) == given.count).all()):
            raise SystemExit("a prompt has not got its count")
    rate = given.prompts / statistics.median(times)
    print(f"{rate:.0f} prompts/s (median of {given.rounds})")


if __name__ == "__main__":
    main()
