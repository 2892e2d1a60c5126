#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Token log-probs beside PyTorch and TRL on the same logits: time, error and memory.

usage: python3 benchmarks/peers/torch_log_probs.py [--threads 1] [--rows 512] [--columns 128256]
                                                   [--rounds 7] [--accuracy]

Both sides read the same tensors and must agree before they are timed; then they take turns, and the
median of each turn's ratio, PyTorch/prefer, counts: above 1, prefer is faster. The process is pinned
to as many cores as there are threads. Forward+backward of prefer is two calls, with kept normalisers,
into a gradient that exists already; PyTorch's writes into a new tensor. Memory is the growth of the
resident set at its peak, over one more call when everything is warm. With --accuracy, a table of
errors against the definition in long double, relative to the largest logit.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--columns", type=int, default=128256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--accuracy", action="store_true", help="errors instead of times")
    parser.add_argument("--library", help="a torch_log_probs.so that is built already")
    return parser.parse_args()


def build(folder):
    library = pathlib.Path(folder) / "torch_log_probs.so"
    eigen = os.environ.get("EIGEN_INCLUDE", "/usr/include/eigen3")
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-DNDEBUG", "-march=native", "-shared"]
        + ["-fPIC", "-pthread", "-I", HERE.parents[1] / "include", "-isystem", eigen]
        + ["-o", library, HERE / "torch_log_probs.cc"],
        check=True,
    )
    return library


def selective_log_softmax():
    from trl.trainer.utils import selective_log_softmax as of_trl

    return of_trl


class Prefer:
    def __init__(self, torch, library, threads):
        self.torch, self.library, self.threads = torch, library, threads

    def call(self, x, labels, out, upstream=None, gradient=None):
        f = self.library.log_probs_float
        if x.dtype == self.torch.bfloat16:
            f = self.library.log_probs_bfloat16
        pointer = lambda t: None if t is None else ctypes.c_void_p(t.data_ptr())
        rows, columns = (ctypes.c_size_t(n) for n in x.shape)
        pointers = (pointer(t) for t in (labels, out, upstream, gradient))
        if f(pointer(x), rows, columns, *pointers, self.threads) != 0:
            raise SystemExit("torch_log_probs: prefer refuses the tensors")
        return out


def peers(torch):
    """Name -> (log-probs of x and labels, the element types that it is shown for)."""
    pick = lambda x, y: x.gather(-1, y[:, None]).squeeze(-1)
    trl = selective_log_softmax()
    both, narrow = ("float32", "bfloat16"), ("bfloat16",)
    return {
        "log_softmax + gather": (lambda x, y: pick(torch.log_softmax(x, -1), y), both),
        "gather - logsumexp": (lambda x, y: pick(x, y) - torch.logsumexp(x, -1), both),
        "TRL selective_log_softmax": (trl, both),
        ".float() log_softmax + gather": (
            lambda x, y: pick(torch.log_softmax(x.float(), -1), y),
            narrow,
        ),
        ".float() gather - logsumexp": (
            lambda x, y: pick(x, y).float() - torch.logsumexp(x.float(), -1),
            narrow,
        ),
    }


def exact(torch, x, labels):
    """In long double, row by row; relative to the maximum, so that the sum alone is rounded, and
    that pairwise. On x86 its mantissa has 64 bits."""
    rows = x.double().numpy().astype(numpy.longdouble)
    result = torch.empty(len(labels), dtype=torch.float64)
    for i, y in enumerate(labels.tolist()):
        below = rows[i] - rows[i].max()
        result[i] = float(below[y] - numpy.log(numpy.exp(below).sum()))
    return result


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_growth(work):
    """Bytes by which the resident set grows at its highest while `work` runs."""
    import threading

    def resident():
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before, highest, done = resident(), [0], threading.Event()

    def watch():
        while not done.is_set():
            highest[0] = max(highest[0], resident())
            time.sleep(2e-4)

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(0, highest[0] - before)


def times(torch, own, options):
    print("| logits | peer | forward: PyTorch, ms | prefer, ms | ratio | error of PyTorch | of prefer"
          " | extra memory | of prefer | forward+backward: PyTorch, ms | prefer, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    torch.manual_seed(1)
    base = 3 * torch.randn(options.rows, options.columns)
    labels = torch.randint(options.columns, (options.rows,))
    out, upstream = torch.empty(options.rows), torch.randn(options.rows)
    for name in ("float32", "bfloat16"):
        x = base.to(getattr(torch, name))
        gradient = torch.zeros_like(x)
        right = exact(torch, x, labels)
        of_prefer = lambda: own.call(x, labels, out)
        both_of_prefer = lambda: own.call(x, labels, out, upstream, gradient)
        for peer, (f, shown) in peers(torch).items():
            if name not in shown:
                continue

            def forward():
                with torch.no_grad():
                    return f(x, labels)

            def both():
                leaf = x.detach().requires_grad_()
                f(leaf, labels).backward(upstream.to(f_type))
                return leaf.grad

            theirs = forward()
            f_type = theirs.dtype
            error = (theirs.double() - right).abs().max().item()
            own_error = (of_prefer().double() - right).abs().max().item()
            if not own_error < 1e-5 or not error < 0.5:
                raise SystemExit(f"torch_log_probs: {peer}: errors {error} and {own_error}")
            grad = both()
            both_of_prefer()
            off = (gradient.float() - grad.float()).abs().max().item()
            if not off < (0.05 if name == "bfloat16" else 1e-4):
                raise SystemExit(f"torch_log_probs: {peer}: gradients are {off} apart")
            del grad
            rows = [
                [seconds(w) for w in (of_prefer, forward, both_of_prefer, both)]
                for _ in range(options.rounds)
            ]
            a, b, c, d = (1e3 * statistics.median(column) for column in zip(*rows))
            first = statistics.median(r[1] / r[0] for r in rows)
            second = statistics.median(r[3] / r[2] for r in rows)
            share = 100 / (x.numel() * x.element_size())
            memory = f"{share * peak_growth(forward):.1f} % | {share * peak_growth(of_prefer):.1f} %"
            print(f"| {name} | `{peer}` | {b:.1f} | {a:.1f} | **{first:.1f}** | {error:.1e} | "
                  f"{own_error:.1e} | {memory} | {d:.0f} | {c:.0f} | **{second:.1f}** |", flush=True)


def accuracy(torch, own, options):
    """Largest and mean error of each side, for rows that are hard in different ways."""
    torch.manual_seed(2)
    rows, columns = 64, options.columns
    spread = 3 * torch.randn(rows, columns)
    labels = torch.randint(columns, (rows,))
    peaked = spread.clone()
    peaked[torch.arange(rows), labels] += 25
    winner = torch.full((rows, columns), -60.0)
    winner[torch.arange(rows), labels] = 40.0
    holes = spread.clone()
    holes[:, ::3] = -torch.inf
    holes[torch.arange(rows), labels] = 1.0
    kinds = {
        "spread, N(0, 3²)": spread,
        "peaked": peaked,
        "flat": torch.full((rows, columns), 0.1),
        "offset +1e4": spread + 1e4,
        "offset -1e4": spread - 1e4,
        "-inf for every third": holes,
        "one winner": winner,
    }
    trl = selective_log_softmax()
    sides = {
        "prefer": lambda x: own.call(x, labels, torch.empty(rows)),
        "`log_softmax`": lambda x: torch.log_softmax(x, -1).gather(-1, labels[:, None])[:, 0],
        "`logsumexp`": lambda x: x.gather(-1, labels[:, None])[:, 0] - torch.logsumexp(x, -1),
        "TRL": lambda x: trl(x, labels),
    }
    print("| logits | rows | " + " | ".join(sides) + " |")
    print("|---|---|" + "---|" * len(sides))
    for name in ("float32", "bfloat16"):
        for kind, rows_of_kind in kinds.items():
            x = rows_of_kind.to(getattr(torch, name)).contiguous()
            right = exact(torch, x, labels)
            cells = []
            for f in sides.values():
                off = (f(x).double() - right).abs()
                cells.append(f"{off.max().item():.1e} ({off.mean().item():.1e})")
            print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)


def main():
    options = arguments()
    cores = sorted(os.sched_getaffinity(0))
    if options.threads > len(cores):
        raise SystemExit(f"torch_log_probs: {options.threads} threads, but {len(cores)} cores")
    os.sched_setaffinity(0, cores[: options.threads])  # before PyTorch starts its threads
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(str(options.library or build(folder)))
    own = Prefer(torch, library, options.threads)
    print(f"PyTorch {torch.__version__.split('+')[0]}, {options.threads} thread(s) each, "
          f"[{options.rows}, {options.columns}]\n")
    (accuracy if options.accuracy else times)(torch, own, options)


if __name__ == "__main__":
    main()
