#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times evaluate_pairs beside the same formula in eager PyTorch, on the same vectors and cores.

usage: python3 benchmarks/peers/torch_eager.py [--threads 1] [--pairs 4194304] [--rounds 15]

One side: evaluate_pairs (evaluate_examples for kto) in float, one thread: loss, both gradients and
metrics in one pass. Other side: what a trainer writes: the loss by tensor operations on float32,
its mean, backward() to the policy's log-probs, and the means of rewards and accuracy. The process
is pinned to as many cores as PyTorch has threads. Both sides must agree before anything is timed;
then they take turns, and the ratio of each turn, prefer/PyTorch, counts: median and quartiles.
Below 1, prefer is faster.
"""

import argparse
import ctypes
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BETA = 0.1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch; cores of the process")
    parser.add_argument("--pairs", type=int, default=1 << 22)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--losses", default="", help="names, separated by commas; else all")
    parser.add_argument("--library", help="a torch_eager.so that is built already")
    return parser.parse_args()


class Columns(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_void_p)
        for name in (
            "policy_chosen",
            "policy_rejected",
            "reference_chosen",
            "reference_rejected",
            "length_chosen",
            "length_rejected",
            "labels",
            "d_chosen",
            "d_rejected",
        )
    ]


class Report(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_double) for name in ("loss", "reward_chosen", "reward_rejected", "accuracy")
    ]


def build(folder):
    library = pathlib.Path(folder) / "torch_eager.so"
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-DNDEBUG", "-march=native", "-shared"]
        + ["-fPIC", "-I", HERE.parents[1] / "include", "-o", library, HERE / "torch_eager.cc"],
        check=True,
    )
    return library


def make_batch(torch, pairs):
    """Log-probs of responses of 1 to 64 tokens, as tensors; and the views of them."""
    random = torch.Generator().manual_seed(1)

    def uniform(low, high):
        return low + (high - low) * torch.rand(pairs, generator=random)

    batch = {"labels": (uniform(0, 1) < 0.5).float()}
    for side in ("chosen", "rejected"):
        length = torch.randint(1, 65, (pairs,), generator=random)
        policy = -length * uniform(0.2, 1.5)
        batch |= {
            f"length_{side}": length,
            f"policy_{side}": policy,
            f"reference_{side}": policy + 4 * torch.randn(pairs, generator=random),
            f"d_{side}": torch.empty(pairs),
        }
    return batch


def log1mexp(torch, x):
    t = -0.6931471805599453
    return torch.where(x < t, torch.log1p(-torch.exp(x)), torch.log(-torch.expm1(x)))


def eager_losses(torch):
    """Name -> (loss per pair, whether it has a reference), of the log-probs and lengths."""
    F = torch.nn.functional

    def margin(b, pw, pl):
        return (pw - b["reference_chosen"]) - (pl - b["reference_rejected"])

    def averages(b, pw, pl):
        return pw / b["length_chosen"], pl / b["length_rejected"]

    def ipo(b, pw, pl):
        w, l = averages(b, pw - b["reference_chosen"], pl - b["reference_rejected"])
        return (w - l - 1 / (2 * BETA)) ** 2

    def exo(b, pw, pl):
        z = BETA * margin(b, pw, pl)
        e = torch.tensor(1e-3)
        right = torch.sigmoid(z) * (F.logsigmoid(z) - torch.log1p(-e))
        return right + torch.sigmoid(-z) * (F.logsigmoid(-z) - torch.log(e))

    def rewards(b, pw, pl):
        return BETA * (pw - b["reference_chosen"]), BETA * (pl - b["reference_rejected"])

    def nca(b, pw, pl):
        w, l = rewards(b, pw, pl)
        return -F.logsigmoid(w) - 0.5 * F.logsigmoid(-w) - 0.5 * F.logsigmoid(-l)

    def bco_pair(b, pw, pl):
        w, l = rewards(b, pw, pl)
        return -F.logsigmoid(w) - F.logsigmoid(-l)

    def sppo_hard(b, pw, pl):
        w, l = pw - b["reference_chosen"], pl - b["reference_rejected"]
        return (w - 0.5 / BETA) ** 2 + (l + 0.5 / BETA) ** 2

    def apo_zero(b, pw, pl):
        w, l = rewards(b, pw, pl)
        return (1 - torch.sigmoid(w)) + torch.sigmoid(l)

    def discopop(b, pw, pl):
        z = BETA * margin(b, pw, pl)
        m = torch.sigmoid(z / 0.05)
        return -F.logsigmoid(z) * (1 - m) + torch.exp(-z) * m

    def simpo(b, pw, pl):
        w, l = averages(b, pw, pl)
        return -F.logsigmoid(2.0 * (w - l - 0.25))

    def orpo(b, pw, pl):
        w, l = averages(b, pw, pl)
        odds = (w - l) - (log1mexp(torch, w) - log1mexp(torch, l))
        return -BETA * F.logsigmoid(odds) - w

    def kto(b, pw, _):
        d = pw - b["reference_chosen"]  # cheaper than selecting either kind, as trainers do
        return 1 - torch.sigmoid(BETA * (b["sign"] * (d - 0.25)))

    return {
        "dpo": (lambda b, pw, pl: -F.logsigmoid(BETA * margin(b, pw, pl)), True),
        "ipo": (ipo, True),
        "hinge_norm": (lambda b, pw, pl: torch.relu(1 - BETA * margin(b, pw, pl)), True),
        "exo": (exo, True),
        "nca": (nca, True),
        "bco_pair": (bco_pair, True),
        "sppo_hard": (sppo_hard, True),
        "apo_zero": (apo_zero, True),
        "discopop": (discopop, True),
        "simpo": (simpo, False),
        "orpo": (orpo, False),
        "kto": (kto, True),
    }


def eager_step(torch, name, formula, reference, b):
    """Loss, gradients (in the tensors' .grad) and metrics."""
    pw, pl = b["policy_chosen"], b["policy_rejected"]
    pw.grad = pl.grad = None
    loss = formula(b, pw, pl).mean()
    loss.backward()
    with torch.no_grad():
        beta = 2.0 if name == "simpo" else BETA
        if name == "kto":
            reward = beta * (pw - b["reference_chosen"])
            label = b["labels"]
            count, all_of = label.sum(), (label * reward).sum()
            other = (reward.sum() - all_of) / (len(label) - count)
            return loss.item(), (all_of / count).item(), other.item(), 0.0
        if reference:
            chosen = beta * (pw - b["reference_chosen"])
            rejected = beta * (pl - b["reference_rejected"])
        else:
            chosen, rejected = beta * pw, beta * pl
        accuracy = (chosen > rejected).float().mean().item()
        return loss.item(), chosen.mean().item(), rejected.mean().item(), accuracy


def prefer_step(library, name, views):
    report = Report()
    if library.evaluate(name.encode(), ctypes.byref(views), ctypes.byref(report)) != 0:
        raise SystemExit(f"torch_eager: prefer refuses {name}")
    return report.loss, report.reward_chosen, report.reward_rejected, report.accuracy


def require_agreement(name, own, eager, batch):
    for what, a, e in zip(("loss", "reward chosen", "reward rejected", "accuracy"), own, eager):
        if not abs(a - e) <= 2e-5 * max(abs(e), 1e-2):
            raise SystemExit(f"torch_eager: {name}: {what} {a} of prefer, {e} of PyTorch")
    for side in ("chosen", "rejected"):
        theirs = batch[f"policy_{side}"].grad
        if theirs is None:
            continue
        off = (batch[f"d_{side}"] - theirs).abs().max() / theirs.abs().max()
        if not off <= 2e-5:
            raise SystemExit(f"torch_eager: {name}: gradient of {side} is off by {off.item():.1e}")


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    options = arguments()
    cores = sorted(os.sched_getaffinity(0))
    if options.threads > len(cores):
        raise SystemExit(f"torch_eager: {options.threads} threads, but {len(cores)} cores")
    os.sched_setaffinity(0, cores[: options.threads])  # before PyTorch starts its threads
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(str(options.library or build(folder)))
    batch = make_batch(torch, options.pairs)
    fields = {key: value.data_ptr() for key, value in batch.items()}
    batch["sign"] = 2 * batch["labels"] - 1
    views = Columns(size=options.pairs, **fields)
    for side in ("chosen", "rejected"):
        batch[f"policy_{side}"].requires_grad_()

    print(
        f"PyTorch {torch.__version__.split('+')[0]} on {options.threads} core(s), "
        f"prefer on 1 thread; {options.pairs} pairs, float, {options.rounds} rounds, "
        f"Python {platform.python_version()}\n"
    )
    print("| loss | prefer, ms | PyTorch, ms | prefer/PyTorch |\n|---|---|---|---|")
    losses = eager_losses(torch)
    wanted = options.losses.split(",") if options.losses else list(losses)
    for name in wanted:
        formula, reference = losses[name]
        of_prefer = lambda: prefer_step(library, name, views)
        of_torch = lambda: eager_step(torch, name, formula, reference, batch)
        require_agreement(name, of_prefer(), of_torch(), batch)
        times = [(seconds(of_prefer), seconds(of_torch)) for _ in range(options.rounds)]
        own, eager = (statistics.median(column) for column in zip(*times))
        ratios = [a / e for a, e in times]
        first, middle, third = (
            statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        )
        print(
            f"| `{name}` | {1e3 * own:.1f} | {1e3 * eager:.1f} | "
            f"{middle:.3f} ({first:.3f} - {third:.3f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
