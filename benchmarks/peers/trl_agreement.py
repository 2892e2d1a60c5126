#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares values and gradients of the losses of TRL with those of prefer, in double.

usage: python3 benchmarks/peers/trl_agreement.py [--seeds 8] [--driver FILE] [--update docs/trl.md]

TRL's own methods run here: a trainer is made without its constructor, a model gives what the
method asks of it (log-probs of tokens, logits or scores, as leaves in float64), and the method
computes the loss; autograd gives the gradient with respect to the leaves. prefer gets the same
numbers through trl_driver.cc and returns its gradient with respect to the same leaves. Exits with 1
when a difference is above 1e-10 and not among those explained here, or when an explanation is out
of date.

A difference of values is relative to max(1, |value|); one of gradients to the largest entry of the
gradient of that batch (at least 1e-6).
"""

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import torch
import transformers
import trl

from trl_trials import *

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-10


# ---- The rows of the table -------------------------------------------------------------------


@dataclass
class Row:
    trl: str
    prefer: str
    makers: list  # of trials, for (seed, scale)
    explained: str = ""  # why the difference is above the tolerance ...
    bound: float = 0.0  # ... and how large it may be
    raises: str = ""  # what TRL raises instead of a loss
    trials: list = field(default_factory=list)
    error: str = ""


@dataclass
class Edge:
    """A batch of one pair or three examples on which the two part."""

    trl: str
    maker: object
    explained: str
    finite: bool = False  # whether TRL has a finite loss and gradient


EXPLAINED = {
    "epsilon": "TRL puts label_smoothing into a tensor of the default type, float32, and takes its "
    "logarithms there, whatever the log-probs are",
    "no prompt": "where a sequence begins with its completion, TRL divides by one token more than "
    "have a log-prob (its mask is not shifted here); prefer counts the tokens that are summed, and "
    "given TRL's counts it agrees",
    "float32": "TRL takes the exponentials in float32 whatever the log-probs are; these are "
    "float32 here, since with double there is no loss (next row)",
    "no clamp": "TRL looks up a clamp by the type of the log-probs and has none for float64",
    "relu": "TRL multiplies by the weights in place, which the backward of relu does not allow",
    "expanded": "TRL multiplies by the weights in place, on a scalar that is only expanded",
    "odds": "TRL rounds the average log-probs to float32 before the odds",
}

# TRL's loss types of DPO: type, loss of prefer, its name in the table, settings of TRL, members of
# prefer.
SMALL_EPSILON = {"label_smoothing": 0.125}  # exact in float32
DPO_LOSSES = [
    ("sigmoid", "dpo", "`dpo`", {}, {}),
    ("hinge", "hinge_norm", "`hinge_norm`", {}, {}),
    ("ipo", "ipo", "`ipo`", {}, {}),
    ("nca_pair", "nca", "`nca`", {}, {}),
    ("robust", "robust_dpo", "`robust_dpo`", {"label_smoothing": 0.1}, {"label_smoothing": 0.1}),
    ("bco_pair", "bco_pair", "`bco_pair`, shift 0", {}, {}),
    ("sppo_hard", "sppo_hard", "`sppo_hard`", {}, {}),
    ("apo_zero", "apo_zero", "`apo_zero`", {}, {}),
    ("apo_down", "apo_down", "`apo_down`", {}, {}),
    ("discopop", "discopop", "`discopop`", {"discopop_tau": 0.5}, {"tau": 0.5}),
    ("sigmoid_norm", "dpo", "`dpo`, averaged", {}, {"margin_of": AVERAGED}),
    ("exo_pair", "exo", "`exo`", SMALL_EPSILON, SMALL_EPSILON),
]


def context_of(kind):
    return default_is_double if kind == "exo_pair" else contextlib.nullcontext


def dpo_rows():
    for kind, loss, name, trl, own in DPO_LOSSES:
        if kind == "exo_pair":
            continue
        makers = [dpo([kind], loss, {"beta": b} | trl, {"beta": b} | own) for b in (0.05, 0.5)]
        yield Row(f"DPO `{kind}`", name, makers)
    yield Row(
        "DPO `sigmoid`, `label_smoothing` 0.2",
        "`dpo` without smoothing",
        [dpo(["sigmoid"], "dpo", {"beta": 0.3, "label_smoothing": 0.2}, {"beta": 0.3})],
    )
    exo = [{"beta": b, "label_smoothing": e} for b, e in ((0.1, 1e-3), (0.5, 0.2))]
    yield Row(
        "DPO `exo_pair`",
        "`exo`",
        [dpo(["exo_pair"], "exo", s, s) for s in exo],
        EXPLAINED["epsilon"],
        bound=1e-6,
    )
    yield Row(
        "DPO `exo_pair`, default type double",
        "`exo`",
        [dpo(["exo_pair"], "exo", s, s, context=default_is_double) for s in exo],
    )
    yield Row(
        "DPO `discopop`, its default τ 0.05",
        "`discopop`",
        [dpo(["discopop"], "discopop", {"beta": b}, {"beta": b}) for b in (0.01, 0.1)],
    )
    for kind, statistic in (("aot", "aot_quantiles"), ("aot_unpaired", "aot_partners")):
        makers = [aot(kind, b, e) for b, e in ((0.1, 0.0), (0.5, 0.2))]
        yield Row(f"DPO `{kind}`", f"`{kind}` with `{statistic}`", makers)
    yield Row(
        "DPO `sft`",
        "`sft` of the chosen, weight pairs/tokens",
        [dpo(["sft"], "sft", only_chosen=True, settings_of_batch=per_token("weight", 1.0))],
    )
    for kind, loss, name, own in (
        ("ipo", "ipo", "`ipo`", {}),
        ("sigmoid_norm", "dpo", "`dpo`, averaged", {"margin_of": AVERAGED}),
    ):
        no_prompt = {"trl_settings": {"beta": 0.1}, "prefer_settings": own, "least_prompt": 0}
        yield Row(
            f"DPO `{kind}`, no prompt",
            name,
            [dpo([kind], loss, **no_prompt)],
            EXPLAINED["no prompt"],
            bound=2.0,
        )
        yield Row(
            f"DPO `{kind}`, no prompt",
            f"{name}, given TRL's lengths",
            [dpo([kind], loss, **no_prompt, trl_lengths=True)],
        )


def divergence_rows():
    """Log-ratios are kept small enough for their exponentials."""
    beta = {"beta": 0.3}
    in_double = changed_source(
        DPOTrainer._compute_loss,
        (".float()", ".double()"),
        ("torch.float32: 80.0}", "torch.float32: 80.0, torch.float64: 80.0}"),
    )
    margins_only = {"sigmoid", "hinge", "ipo", "robust", "discopop", "sigmoid_norm", "exo_pair"}
    for divergence, of_prefer in (
        ("forward_kl", "forward_kl"),
        ("js_divergence", "jensen_shannon"),
        ("alpha_divergence", "alpha"),
    ):
        is_alpha = of_prefer == "alpha"
        for kind, loss, name, trl, own in DPO_LOSSES:
            if kind not in margins_only:
                continue
            makers = [
                dpo(
                    [kind],
                    f"{loss}+{of_prefer}",
                    {"f_divergence_type": divergence, "f_alpha_divergence_coef": a} | beta | trl,
                    {f"loss.{key}": value for key, value in (beta | own).items()}
                    | ({"divergence.order": a} if is_alpha else {}),
                    scale_by=0.25,
                    context=context_of(kind),
                    method=in_double if is_alpha else None,
                )
                for a in ((0.5, 0.0, 2.0, 1.0) if is_alpha else (0.5,))
            ]
            note = ", its `.float()` read as `.double()`" if is_alpha else ""
            averaged = ", averaged" if own.get("margin_of") == AVERAGED else ""
            yield Row(
                f"DPO `{kind}`, `{divergence}`{note}",
                f"`with_divergence<{loss}, {of_prefer}>`{averaged}",
                makers,
            )
    alpha = {"trl_settings": {"f_divergence_type": "alpha_divergence"}, "scale_by": 0.25}
    yield Row(
        "DPO `sigmoid`, `alpha_divergence`, log-probs float32",
        "`with_divergence<dpo, alpha>`",
        [dpo(["sigmoid"], "dpo+alpha", **alpha, dtype=torch.float32)],
        EXPLAINED["float32"],
        bound=1e-4,
    )
    yield Row(
        "DPO `sigmoid`, `alpha_divergence`, log-probs double",
        "`with_divergence<dpo, alpha>`",
        [dpo(["sigmoid"], "dpo+alpha", **alpha)],
        EXPLAINED["no clamp"],
        raises="KeyError",
    )


def modifier_rows():
    beta = {"beta": 0.3}
    for alpha in (0.0, 0.5, 1.0):
        yield Row(
            f"DPO `sigmoid`, `ld_alpha` {alpha}",
            "`dpo` of `length_desensitized_sum`",
            [dpo(["sigmoid"], "dpo", beta, beta, ld=alpha)],
        )
    yield Row(
        "DPO `ipo`, `ld_alpha` 0.5",
        "`ipo` of `length_desensitized_sum`",
        [dpo(["ipo"], "ipo", beta, beta, ld=0.5)],
    )
    for kind, loss, name, trl, own in DPO_LOSSES:
        fails = {"raises": "RuntimeError", "explained": EXPLAINED["relu"]}
        yield Row(
            f"DPO `{kind}`, `use_weighting`",
            f"{name}, with `wpo_weights`",
            [dpo([kind], loss, beta | trl, beta | own, collision=True, context=context_of(kind))],
            **(fails if kind == "hinge" else {}),
        )
    yield Row(
        "DPO `sft`, `use_weighting`",
        "`sft` with weights",
        [dpo(["sft"], "sft", only_chosen=True, collision=True)],
        EXPLAINED["expanded"],
        raises="RuntimeError",
    )
    yield Row(
        "DPO `sigmoid` + `bco_pair` + `sft`, `loss_weights` 0.8, 0.2, 1",
        "`with_nll<mixture<dpo, bco_pair>>`, summed, weight pairs/tokens",
        [
            dpo(
                ["sigmoid", "bco_pair", "sft"],
                "mpo",
                {},
                {"loss.first.weight": 0.8, "loss.rest.first.weight": 0.2, "of": SUMMED},
                weights=[0.8, 0.2, 1.0],
                settings_of_batch=per_token("weight", 1.0),
            )
        ],
    )


def other_trainer_rows():
    betas = (0.05, 0.5)
    executed = "(the statements of its method, executed)"
    yield Row(
        f"online DPO `sigmoid` {executed}",
        "`dpo`",
        [online_dpo("sigmoid", "dpo", b, {"beta": b}) for b in betas],
    )
    yield Row(
        f"online DPO `ipo` {executed}",
        "`ipo`, summed",
        [online_dpo("ipo", "ipo", b, {"beta": b, "margin_of": SUMMED}) for b in betas],
    )
    weights = ((0.1, 1.0, 1.0), (0.5, 1.0, 1.5), (0.5, 0.7, 0.0))
    for kind, name in (
        ("kto", "`kto` with `kto_reference_point`"),
        ("apo_zero_unpaired", "`apo_zero_unpaired`"),
    ):
        yield Row(f"KTO `{kind}`", name, [kto(kind, *w) for w in weights])
    yield Row("Reward", "`bradley_terry`", [reward()])
    yield Row("Reward, margins", "`bradley_terry`, offsets", [reward(margins=True)])
    yield Row("Reward, `center_rewards_coefficient`", "`bradley_terry`, center", [reward(0.01)])
    yield Row(
        "Reward, margins and centring", "`bradley_terry`, offsets and center", [reward(0.5, True)]
    )


def cpo_rows():
    """The likelihood term is a mean over the tokens of the batch."""
    yield Row(
        "CPO `sigmoid`",
        "`cpo`, summed, NLL weight `cpo_alpha`·pairs/tokens",
        [
            cpo(
                "sigmoid",
                "cpo",
                {"beta": b, "label_smoothing": e},
                {"beta": b, "label_smoothing": e, "nll_of": SUMMED},
                nll=n,
                of_batch=per_token("nll_weight", n),
            )
            for b, e, n in ((0.1, 0.0, 1.0), (0.5, 0.1, 0.3), (0.1, 0.0, 0.0))
        ],
    )
    for kind, loss in (("hinge", "hinge_norm"), ("ipo", "ipo")):
        makers = [
            cpo(
                kind,
                f"with_nll<{loss}>",
                {"beta": b},
                {"loss.beta": b, "of": SUMMED},
                nll=n,
                zero_reference=True,
                of_batch=per_token("weight", n),
            )
            for b, n in ((0.1, 1.0), (0.5, 0.0))
        ]
        yield Row(f"CPO `{kind}`", f"`with_nll<{loss}>`, reference 0", makers)
    absolute = {"gamma_is": ABSOLUTE_GAMMA}
    yield Row(
        "CPO `simpo`, `cpo_alpha` 0",
        "`simpo`, absolute γ",
        [
            cpo(
                "simpo",
                "simpo",
                {"beta": b, "simpo_gamma": g, "label_smoothing": e},
                absolute | {"beta": b, "gamma": g, "label_smoothing": e},
            )
            for b, g, e in ((0.1, 0.5, 0.0), (2.5, 0.3, 0.1))
        ],
    )
    members = {"loss.beta": 2.0, "loss.gamma": 0.5, "loss.gamma_is": ABSOLUTE_GAMMA, "of": SUMMED}
    yield Row(
        "CPO `simpo`, `cpo_alpha` 0.5",
        "`with_nll<simpo>`, absolute γ",
        [
            cpo(
                "simpo",
                "with_nll<simpo>",
                {"beta": 2.0, "simpo_gamma": 0.5},
                members,
                nll=0.5,
                of_batch=per_token("weight", 0.5),
            )
        ],
    )
    yield Row(
        "CPO `alphapo`",
        "`alpha_po`, absolute γ",
        [
            cpo(
                "simpo",  # which the configuration makes of "alphapo"
                "alpha_po",
                {"beta": b, "simpo_gamma": g, "alpha": a},
                absolute | {"beta": b, "gamma": g, "alpha": a},
            )
            for b, g, a in ((2.5, 0.25, 0.25), (2.0, 0.5, -0.1))
        ],
    )


def orpo_and_tpo_rows():
    of_orpo = "`orpo` without NLL + `sft` of prompt and response"
    yield Row("ORPO", of_orpo, [orpo(0.1)], EXPLAINED["odds"], bound=1e-5)
    yield Row(
        "ORPO, its `.float()` read as `.double()`",
        of_orpo,
        [orpo(b, float_means_double) for b in (0.1, 1.0)],
    )
    yield Row(
        "TPO `sigmoid`",
        "`tpo` + `sft` of the gold",
        [
            tpo("sigmoid", "tpo", s, s, alpha=a)
            for s, a in (({"beta": 0.01}, 1.0), ({"beta": 0.3, "label_smoothing": 0.1}, 0.0))
        ],
    )
    for kind, loss in (("hinge", "hinge_norm"), ("ipo", "ipo")):
        beta = {"beta": 0.1}
        yield Row(
            f"TPO `{kind}`",
            f"`{loss}`, reference 0, + `sft` of the gold",
            [tpo(kind, loss, beta, beta, alpha=0.5, zero_reference=True)],
        )
    yield Row(
        "TPO `tpo-l`",
        "`tpo`, averaged, + `sft` of the gold",
        [
            tpo(
                "tpo-l",
                "tpo",
                {"beta": b, "tpo_l_gamma": g},
                {"beta": b, "gamma": g, "margin_of": AVERAGED},
                alpha=1.0,
            )
            for b, g in ((0.01, 0.5), (2.0, 0.3))
        ],
    )


def all_rows():
    parts = (
        dpo_rows,
        divergence_rows,
        modifier_rows,
        other_trainer_rows,
        cpo_rows,
        orpo_and_tpo_rows,
    )
    return [row for part in parts for row in part()]


def edges():
    simpo = {"loss_type": "simpo", "beta": 2.0, "simpo_gamma": 0.5}
    members = {"beta": 2.0, "gamma": 0.5, "gamma_is": ABSOLUTE_GAMMA}
    return [
        Edge(
            "DPO `discopop`, log-ratio margin -8000",
            far_pair("discopop", "discopop", (-9000.0, -1000.0), (-10.0, -10.0), {}, {}),
            "TRL multiplies σ(z/τ) = 0 by e^-z = ∞; prefer computes exp(log σ(z/τ) - z)",
        ),
        Edge(
            "DPO `sigmoid`, `forward_kl`, log-ratios -800 and -801",
            far_pair(
                "sigmoid",
                "dpo+forward_kl",
                (-900.0, -100.0),
                (-901.0, -100.0),
                {"f_divergence_type": "forward_kl"},
                {},
            ),
            "both exponentials overflow and their difference is NaN; prefer goes on along the "
            "tangent where e^-d passes e^64",
        ),
        Edge(
            "DPO `sigmoid`, `alpha_divergence` with α = 0, float32, log-ratios -200 and 0",
            far_pair(
                "sigmoid",
                "dpo+alpha",
                (-210.0, -10.0),
                (-10.0, -10.0),
                {"f_divergence_type": "alpha_divergence", "f_alpha_divergence_coef": 0.0},
                {"divergence.order": 0.0},
                torch.float32,
            ),
            "TRL clamps the exponent at 80, behind which the chosen response has gradient 0 and is "
            "not pulled back; prefer goes on along the tangent from 64 on, so the value is another "
            "astronomic number and the slope is not lost",
            finite=True,
        ),
        Edge(
            "CPO `alphapo`, α = 1, average log-probs -800 and -801",
            reference_free(
                CPOTrainer,
                "alpha_po",
                (-800.0, -801.0),
                members | {"alpha": 1.0},
                alpha=1.0,
                **simpo,
            ),
            "TRL takes a power of e^l̄, which is 0 here; prefer takes e^(-α·l̄), along the tangent "
            "beyond e^600",
        ),
        Edge(
            "CPO `simpo`, empty rejected response",
            reference_free(
                CPOTrainer, "simpo", (-1.0, -1.0), members, empty=True, alpha=0.0, **simpo
            ),
            "TRL divides 0 by 0 tokens, and the whole batch is NaN; an empty response has average "
            "0 and gradient 0 in prefer",
        ),
        Edge(
            "ORPO, a chosen response of probability 1",
            reference_free(ORPOTrainer, "orpo", (0.0, -1.0), {"nll_weight": 0.0}, beta=0.1),
            "the odds are infinite and their derivative is NaN; prefer's odds end at e^354, with a "
            "slope (the likelihood term is 0 here)",
        ),
        Edge(
            "KTO `apo_zero_unpaired`, one log-prob of three NaN",
            kto_with_nan,
            "TRL leaves the example out of the mean (`nanmean`) without a word, and its "
            "gradient is NaN; prefer refuses the batch and names the example",
        ),
    ]


# ---- Running it ------------------------------------------------------------------------------


def build(folder):
    binary = pathlib.Path(folder) / "trl_driver"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run(
        [compiler, "-std=c++20", "-O1", "-I", HERE.parents[1] / "include"]
        + ["-o", binary, HERE / "trl_driver.cc"],
        check=True,
    )
    return binary


def ask(driver, cases):
    """The answers of prefer: by name, a dictionary of arrays, or the text of its error."""
    text = "".join(case.text(name) for name, case in cases.items())
    output = subprocess.run([driver], input=text, capture_output=True, text=True, check=True)
    answers, current, name = {}, {}, None
    for line in output.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "case":
            name, current = rest, {}
        elif word == "error":
            current = rest
        elif word == "end":
            answers[name] = current
        else:
            numbers = rest.split()[1:]
            current[word] = torch.tensor([float(x) for x in numbers], dtype=DOUBLE)
    return answers


def prefer_of(trial, names, answers):
    """Value and gradient of prefer, summed over the cases of a trial."""
    value, gradient = 0.0, torch.zeros(trial.gradient.numel(), dtype=DOUBLE)
    for name, case in zip(names, trial.cases):
        answer = answers[name]
        if isinstance(answer, str):
            raise RuntimeError(answer)
        value += answer["value"].item()
        for array, index in case.leaves.items():
            gradient.index_add_(0, index, answer[array])
    return value, gradient


def run_trials(table, seeds, scales):
    """Fills in the trials; returns the cases of prefer, by name."""
    cases = {}
    for r, row in enumerate(table):
        for m, make in enumerate(row.makers):
            for seed in range(1, seeds + 1):
                for scale in scales:
                    try:
                        trial = make(1000 * m + seed, scale)
                    except Exception as error:  # whatever TRL raises is reported
                        row.error = type(error).__name__
                        if not row.raises:
                            row.error += f": {error}"
                        continue
                    names = [f"{r}.{len(row.trials)}.{i}" for i in range(len(trial.cases))]
                    cases |= dict(zip(names, trial.cases))
                    row.trials.append((trial, names))
    return cases


def differences(row, answers):
    """The largest of values and of gradients; NaN where a number is NaN."""
    of_value, of_gradient = [0.0], [0.0]
    for trial, names in row.trials:
        value, gradient = prefer_of(trial, names, answers)
        of_value.append(abs(value - trial.value) / max(1.0, abs(trial.value)))
        theirs = trial.gradient.double()
        largest = max(theirs.abs().max().item(), 1e-6)
        of_gradient.append(((gradient - theirs).abs().max() / largest).item())
    worst = lambda x: float("nan") if any(y != y for y in x) else max(x)
    return worst(of_value), worst(of_gradient)


def number(x):
    return "0" if x == 0 else f"{x:.1e}"


def verdict_on(row, answers):
    """The last four columns, and whether all is as it should be."""
    if row.raises:
        fine = row.error == row.raises and not row.trials
        return ["", "", "0", f"TRL raises {row.error or 'nothing now'}"], fine
    try:
        of_value, of_gradient = differences(row, answers)
    except RuntimeError as error:
        return ["", "", str(len(row.trials)), f"prefer: {error}"], False
    columns = [number(of_value), number(of_gradient), str(len(row.trials))]
    worst = max(of_value, of_gradient) if of_value == of_value else of_value
    if row.error or not row.trials:
        return [*columns, row.error or "no trials"], False
    if not worst <= (row.bound if row.explained else TOLERANCE):
        return [*columns, ""], False
    if row.explained and worst <= TOLERANCE:
        return [*columns, "agrees now, so the explanation is out of date"], False
    return [*columns, ""], True


def compare(table, seeds, driver):
    answers = ask(driver, run_trials(table, seeds, scales=(0.1, 1.0, 4.0)))
    lines = ["| TRL | prefer | value | gradient | batches | |", "|---|---|---|---|---|---|"]
    notes, good = [], True
    for row in table:
        columns, fine = verdict_on(row, answers)
        words = [] if fine else ["**DIFFERS**"]
        words += [columns.pop()]
        if row.explained:
            if row.explained not in notes:
                notes.append(row.explained)
            words.append(f"[{notes.index(row.explained) + 1}]")
        columns = [row.trl, row.prefer, *columns, " ".join(filter(None, words))]
        lines.append("| " + " | ".join(columns) + " |")
        good = good and fine
    return lines, notes, good


def is_finite(value, gradient):
    return abs(value) < float("inf") and bool(torch.isfinite(gradient).all())


def show(value, gradient):
    if not torch.isfinite(gradient).all():
        return f"{value:.6g}, gradient not finite"
    return f"{value:.6g}, largest slope {gradient.abs().max().item():.2g}"


def compare_edges(table, first_note, driver):
    trials = [edge.maker() for edge in table]
    cases = {f"{i}.{k}": c for i, t in enumerate(trials) for k, c in enumerate(t.cases)}
    answers = ask(driver, cases)
    lines, good = ["| batch | TRL | prefer | |", "|---|---|---|---|"], True
    for i, (edge, trial) in enumerate(zip(table, trials)):
        names = [f"{i}.{k}" for k in range(len(trial.cases))]
        fine = is_finite(trial.value, trial.gradient) == edge.finite
        try:
            value, gradient = prefer_of(trial, names, answers)
            of_prefer = show(value, gradient)
            fine = fine and is_finite(value, gradient)
        except RuntimeError as error:
            of_prefer = f"error: {error}"
            fine = fine and any("nan" in c.text("") for c in trial.cases)
        good = good and fine
        mark = "" if fine else "**DIFFERS** "
        lines.append(
            f"| {edge.trl} | {show(trial.value, trial.gradient)} | {of_prefer} | "
            f"{mark}[{first_note + i}] |"
        )
    return lines, [edge.explained for edge in table], good


def versions():
    return (
        f"TRL {trl.__version__}, PyTorch {torch.__version__.split('+')[0]}, transformers "
        f"{transformers.__version__}, Python {platform.python_version()}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8, help="batches of each size and setting")
    parser.add_argument("--driver", help="a trl_driver that is built already")
    parser.add_argument("--update", help="a page whose part between the table marks is rewritten")
    parser.add_argument("--only", default="", help="rows of TRL whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        driver = options.driver or build(folder)
        table = [row for row in all_rows() if options.only in row.trl]
        lines, notes, good = compare(table, options.seeds, driver)
        of_edges, edge_notes, edges_good = compare_edges(edges(), len(notes) + 1, driver)
    text = "\n".join(
        [
            f"{versions()}; prefer in double. Above {TOLERANCE:.0e}, a difference is explained.",
            "",
            *lines,
            "",
            "Where the two part, on one pair (or three examples):",
            "",
            *of_edges,
            "",
            *[f"{i}. {note[0].upper()}{note[1:]}." for i, note in enumerate(notes + edge_notes, 1)],
        ]
    )
    print(text)
    if options.update and not options.only:
        page = pathlib.Path(options.update)
        begin, end = "<!-- table: begin, written by trl_agreement.py -->", "<!-- table: end -->"
        before, rest = page.read_text().split(begin)
        page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}")
    if not (good and edges_good):
        print("trl_agreement: not everything agrees or is explained", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
