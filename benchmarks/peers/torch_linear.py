#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From hidden states and the head to log-probs and back, beside PyTorch's matmul, log_softmax and
autograd: time, and agreement of the gradients.

usage: python3 benchmarks/peers/torch_linear.py [--rows 256] [--hidden 2048] [--columns 128256]
                                                [--threads 2] [--rounds 3] [--keep]

The two sides take turns; the median of each turn's ratio, PyTorch/prefer, counts. prefer computes
the logits twice and keeps none, or with --keep once; PyTorch keeps logits, log-probs and their
gradient.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent


def build(folder):
    library = pathlib.Path(folder) / "torch_linear.so"
    eigen = os.environ.get("EIGEN_INCLUDE", "/usr/include/eigen3")
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-DNDEBUG", "-march=native", "-shared"]
        + ["-fPIC", "-pthread", "-I", HERE.parents[1] / "include", "-isystem", eigen]
        + ["-o", library, HERE / "torch_linear.cc"],
        check=True,
    )
    return ctypes.CDLL(str(library))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--columns", type=int, default=128256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="prefer keeps the logits")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    n, d, v = given.rows, given.hidden, given.columns
    hidden = torch.randn(n, d, requires_grad=True)
    head = (torch.randn(v, d) / d**0.5).requires_grad_()
    labels = torch.randint(v, (n,))
    upstream = torch.rand(n)
    own = {"log_probs": torch.empty(n), "d_hidden": torch.empty(n, d), "d_head": torch.empty(v, d)}
    logits = torch.empty(n, v) if given.keep else None
    pointer = lambda t: ctypes.c_void_p(t.data_ptr() if t is not None else None)

    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)

        def prefer():
            tensors = (hidden, head, labels, upstream, *own.values(), logits)
            sizes = (ctypes.c_size_t(x) for x in (n, d, v))
            if library.linear_both(*map(pointer, tensors), *sizes, given.threads) != 0:
                raise SystemExit("torch_linear: prefer refuses the tensors")

        def of_torch():
            hidden.grad = head.grad = None
            log_probs = torch.log_softmax(hidden @ head.T, -1).gather(-1, labels[:, None])[:, 0]
            log_probs.backward(upstream)

        prefer()
        of_torch()
        for name, right in (("d_hidden", hidden.grad), ("d_head", head.grad)):
            off = (own[name] - right).abs().max().item() / right.abs().max().item()
            if off > 1e-4:
                raise SystemExit(f"torch_linear: {name} differs by {off:.1e}")
        ratios, times = [], []
        for _ in range(given.rounds):
            start = time.perf_counter()
            of_torch()
            middle = time.perf_counter()
            prefer()
            end = time.perf_counter()
            ratios.append((middle - start) / (end - middle))
            times.append(end - middle)
        print(
            f"PyTorch/prefer {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} - {max(ratios):.2f}); prefer {statistics.median(times):.2f} s"
        )


if __name__ == "__main__":
    main()
