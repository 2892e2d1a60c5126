#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's update of a reference model, torch._foreach_lerp_, over the shapes of the benchmark
`soft_update`: bytes per second, to set beside its GB/s on the same machine.

usage: python3 benchmarks/peers/torch_lerp.py [--elements 67108864] [--threads 1] [--rounds 15]
"""

import argparse
import statistics
import time

import torch


def sizes_of(total):
    """As in benchmarks/reference/soft_update.cpp."""
    left = total - 2 * (total // 8)
    layers = 32
    sizes = [total // 8] * 2
    for _ in range(layers):
        sizes += [1024 + k for k in range(4)]
        sizes += [left // layers // 4 - 1100] * 4
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1 << 26)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for dtype in (torch.float32, torch.bfloat16):
        policy = [torch.rand(size).to(dtype) for size in sizes_of(given.elements)]
        reference = [torch.rand(size).to(dtype) for size in sizes_of(given.elements)]
        expected = torch.lerp(reference[3].double(), policy[3].double(), 0.01)
        times = []
        for i in range(given.rounds + 1):
            start = time.perf_counter()
            torch._foreach_lerp_(reference, policy, 0.01)
            times.append(time.perf_counter() - start)
            if i == 0 and (reference[3].double() - expected).abs().max() > 4e-3:
                raise SystemExit("wrong result")
        count = sum(t.numel() for t in policy)
        moved = 3 * policy[0].element_size() * count
        seconds = statistics.median(times[1:])
        print(f"{dtype}: {moved / seconds / 1e9:.1f} GB/s, {count / seconds / 1e9:.2f} G elements/s")


if __name__ == "__main__":
    main()
