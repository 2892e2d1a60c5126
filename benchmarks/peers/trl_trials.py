# SPDX-License-Identifier: MIT
"""Batches, and the losses that TRL's own methods make of them; see trl_agreement.py.

Each function here returns a maker of trials: TRL's value and gradient on a batch, with what prefer
is asked in its place. A trainer is made without its constructor, and its method runs on a model
that gives what the method asks of it.
"""

import contextlib
import inspect
import os
import sys
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from trl import DPOTrainer, KTOTrainer, RewardTrainer
from trl.trainer.utils import FusedCausalLMOutput

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
from trl.experimental.cpo import CPOTrainer
from trl.experimental.online_dpo import OnlineDPOTrainer
from trl.experimental.orpo import ORPOTrainer
from trl.experimental.tpo import TPOTrainer

VOCABULARY = 7
DOUBLE = torch.float64

# Enumerators of prefer, by number.
SUMMED, AVERAGED = 0, 1
ABSOLUTE_GAMMA = 1


@dataclass
class Case:
    """What prefer is asked: a loss, its members, arrays; and whose gradients the answers are."""

    loss: str
    settings: dict
    arrays: dict
    leaves: dict  # name of a gradient array -> indices into the flattened leaves

    def text(self, name):
        lines = [f"case {name}", f"loss {self.loss}"]
        lines += [f"set {key} {value!r}" for key, value in self.settings.items()]
        for key, values in self.arrays.items():
            values = torch.as_tensor(values).flatten().tolist()
            lines.append(" ".join([key, str(len(values)), *map(repr, values)]))
        return "\n".join([*lines, "end", ""])


@dataclass
class Trial:
    """One batch: TRL's value and gradient, and the cases of prefer that add up to it."""

    value: float
    gradient: torch.Tensor
    cases: list


# ---- Batches ---------------------------------------------------------------------------------


class Tokens:
    """Sequences [rows, width] of random prompt and completion lengths, padded on the right."""

    def __init__(self, seed, rows, least_prompt=1):
        self.random = torch.Generator().manual_seed(seed)
        self.rows = rows
        self.prompt = self.integers(least_prompt, 5, rows)
        self.completion = self.integers(1, 12, rows)
        if least_prompt == 0:
            self.prompt[:] = 0
            self.completion += 1
        self.width = int((self.prompt + self.completion).max()) + 1
        at = torch.arange(self.width)
        end = self.prompt + self.completion
        self.attention_mask = (at < end[:, None]).long()
        self.completion_mask = ((at >= self.prompt[:, None]) & (at < end[:, None])).long()
        self.input_ids = self.integers(0, VOCABULARY, rows, self.width)

    def integers(self, low, high, *shape):
        return torch.randint(low, high, shape, generator=self.random)

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.random, dtype=DOUBLE)

    def uniform(self, *shape):
        return torch.rand(*shape, generator=self.random, dtype=DOUBLE)

    @property
    def counted(self):
        """Which entries of [rows, width - 1] are log-probs of a token of the completion."""
        return self.completion_mask[:, 1:].bool()

    @property
    def attended(self):
        return self.attention_mask[:, 1:].bool()

    def log_probs(self, scale):
        return scale * torch.log1p(-self.uniform(self.rows, self.width - 1))

    def logits(self, scale):
        return scale * self.normal(self.rows, self.width, VOCABULARY)


def packed(rows, mask):
    """Offsets, and the positions in the flattened mask, of the marked entries of those rows."""
    lengths = mask[rows].sum(1)
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    index = torch.arange(mask.numel()).view(mask.shape)[rows][mask[rows]]
    return offsets, index


def token_arrays(prefix, rows, mask, policy, reference=None):
    offsets, index = packed(rows, mask)
    arrays = {f"{prefix}offsets": offsets, f"{prefix}tokens": policy.detach().flatten()[index]}
    if reference is not None:
        arrays[f"reference_{prefix}tokens"] = reference.flatten()[index]
    return arrays, {f"d_{prefix}tokens": index}


def logit_arrays(prefix, rows, mask, batch, logits):
    """The same of logits [rows, width, V]: those at t are of the token at t + 1."""
    offsets, index = packed(rows, mask)
    at = index // mask.shape[1] * batch.width + index % mask.shape[1]
    ids = batch.input_ids.flatten()[at + 1]
    arrays = {
        f"{prefix}offsets": offsets,
        f"{prefix}ids": ids,
        f"{prefix}logits": logits.detach().view(-1, VOCABULARY)[at],
    }
    elements = (at[:, None] * VOCABULARY + torch.arange(VOCABULARY)).flatten()
    return arrays, {f"d_{prefix}logits": elements}


def side_rows(rows):
    return slice(0, rows // 2), slice(rows // 2, rows)


def pair_arrays(batch, pairs, policy, reference):
    """Tokens of both sides."""
    arrays, leaves = {}, {}
    for name, rows in zip(("chosen_", "rejected_"), side_rows(2 * pairs)):
        more, to = token_arrays(name, rows, batch.counted, policy, reference)
        arrays |= more
        leaves |= to
    return arrays, leaves


# ---- TRL's trainers, without their constructors ----------------------------------------------


class Accelerator:
    device = torch.device("cpu")

    @staticmethod
    def gather(x):
        return x

    gather_for_metrics = gather


class Model:
    """Gives what it was made of."""

    training = True
    is_gradient_checkpointing = False

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, *args, **inputs):
        return self.answer(*args, **inputs)


def fused(log_probs, collision=None):
    """A model with TRL's fused head: log-probs of tokens, 0 where the label is -100."""

    def answer(labels, **_):
        mask = labels[:, 1:] != -100
        zeros = torch.zeros(mask.shape, dtype=log_probs.dtype)
        return FusedCausalLMOutput(
            log_probs=torch.where(mask, log_probs, zeros),
            log_sum_sq_probs=None if collision is None else torch.where(mask, collision, zeros),
            entropy=zeros,
            mean_logits=zeros,
            is_top1=mask,
        )

    return Model(answer)


def trainer_of(kind, model, **attributes):
    trainer = object.__new__(kind)
    everything = {
        "model": model,
        "accelerator": Accelerator,
        "aux_loss_enabled": False,
        "_metrics": {"train": defaultdict(list), "eval": defaultdict(list)},
        "_total_train_tokens": 0,
        "_tp_size": 1,
        **attributes,
    }
    for name, value in everything.items():
        setattr(trainer, name, value)
    return trainer


def changed_source(function, *changes):
    """The function with replaced text: for what cannot run in double as it is written."""
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        if old not in source:
            raise RuntimeError(f"the source of TRL has changed: no {old!r} in {function.__name__}")
        source = source.replace(old, new)
    scope = dict(sys.modules[function.__module__].__dict__)
    exec(compile(source, inspect.getfile(function), "exec"), scope)
    return scope[function.__name__]


@contextlib.contextmanager
def float_means_double():
    """TRL's .float() keeps double."""
    original = torch.Tensor.float
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.Tensor.float = original


@contextlib.contextmanager
def default_is_double():
    torch.set_default_dtype(DOUBLE)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def per_token(name, weight):
    """A member that is a weight per sequence, such that the term is a mean over the tokens."""
    return lambda pairs, tokens: {name: weight * pairs / tokens}


# ---- DPOTrainer ------------------------------------------------------------------------------


def dpo(
    kinds,
    loss,
    trl_settings=(),
    prefer_settings=(),
    *,
    weights=None,
    collision=False,
    ld=None,
    context=contextlib.nullcontext,
    method=None,
    least_prompt=1,
    scale_by=1.0,
    dtype=DOUBLE,
    only_chosen=False,
    settings_of_batch=None,
    trl_lengths=False,
):
    """Trials of DPOTrainer with those loss types, and of a loss of prefer."""
    settings = dict(trl_settings)

    def make(seed, scale):
        scale *= scale_by
        pairs = 2 + seed % 7
        batch = Tokens(seed, 2 * pairs, least_prompt)
        policy = batch.log_probs(scale).to(dtype)
        reference = (policy + 0.7 * scale * batch.normal(*policy.shape)).to(dtype)
        log_sum_sq = (-batch.uniform(*policy.shape)).to(dtype) if collision else None
        leaf = policy.clone().requires_grad_()
        model = fused(leaf, log_sum_sq)
        trainer = trainer_of(
            DPOTrainer,
            model,
            ref_model=fused(reference),
            precompute_ref_logps=False,
            loss_types=list(kinds),
            loss_weights=weights or [1.0] * len(kinds),
            use_weighting=collision,
            ld_alpha=ld,
            beta=settings.get("beta", 0.1),
            label_smoothing=settings.get("label_smoothing", 0.0),
            f_divergence_type=settings.get("f_divergence_type", "reverse_kl"),
            f_alpha_divergence_coef=settings.get("f_alpha_divergence_coef", 0.5),
            args=SimpleNamespace(
                gradient_checkpointing_kwargs=None, discopop_tau=settings.get("discopop_tau", 0.05)
            ),
        )
        inputs = {
            "input_ids": batch.input_ids,
            "attention_mask": batch.attention_mask,
            "completion_mask": batch.completion_mask,
        }
        with context():
            value = (method or DPOTrainer._compute_loss)(trainer, model, inputs, False)
            value.backward()
        mask = batch.counted
        members = dict(prefer_settings)
        if settings_of_batch:
            members |= settings_of_batch(pairs, int(mask[:pairs].sum()))
        if only_chosen:
            arrays, leaves = token_arrays("", slice(0, pairs), mask, policy)
        else:
            arrays, leaves = pair_arrays(batch, pairs, policy, reference)
            for name, rows in zip(("chosen_", "rejected_"), side_rows(2 * pairs)):
                if collision:
                    arrays[name + "collision"] = log_sum_sq.flatten()[leaves[f"d_{name}tokens"]]
                if trl_lengths:
                    arrays[name + "lengths"] = batch.completion_mask[rows].sum(1)
            if ld is not None:
                arrays["ld_alpha"] = [ld]
        return Trial(value.item(), leaf.grad.flatten(), [Case(loss, members, arrays, leaves)])

    return make


def online_dpo(kind, loss, beta, members):
    """OnlineDPOTrainer: the statements of training_step between the log-probs and the loss."""
    source = inspect.getsource(OnlineDPOTrainer.training_step).splitlines(keepends=True)
    first = next(i for i, x in enumerate(source) if x.strip().startswith("cr_logprobs_sum ="))
    last = next(i for i, x in enumerate(source) if x.strip() == "loss = losses.mean()")
    statements = compile(textwrap.dedent("".join(source[first : last + 1])), "trl", "exec")

    def make(seed, scale):
        pairs = 2 + seed % 7
        batch = Tokens(seed, 2 * pairs)
        policy = batch.log_probs(scale)
        reference = policy + 0.7 * scale * batch.normal(*policy.shape)
        leaf = policy.clone().requires_grad_()
        scope = dict(sys.modules[OnlineDPOTrainer.__module__].__dict__)
        scope |= {
            "self": SimpleNamespace(args=SimpleNamespace(loss_type=kind), beta=beta),
            "batch_size": pairs,
            "cr_logprobs": leaf,
            "cr_ref_logprobs": reference,
            "cr_padding_mask": ~batch.counted,
        }
        exec(statements, scope)
        scope["loss"].backward()
        arrays, leaves = pair_arrays(batch, pairs, policy, reference)
        return Trial(
            scope["loss"].item(), leaf.grad.flatten(), [Case(loss, members, arrays, leaves)]
        )

    return make


# ---- KTOTrainer ------------------------------------------------------------------------------


def kto(kind, beta, desirable, undesirable):
    def make(seed, scale):
        examples = 2 + seed % 7
        batch = Tokens(seed, examples)
        mismatched = Tokens(seed + 1000, examples)
        batch.input_ids[:] = 1
        mismatched.input_ids[:] = 2
        labels = batch.uniform(examples) < 0.6
        policy, kl_policy = batch.log_probs(scale), mismatched.log_probs(scale)
        shift = 0.3 * scale * (batch.uniform(1) - 0.3)  # so that the estimate is often positive
        reference = policy + 0.7 * scale * batch.normal(*policy.shape)
        kl_reference = kl_policy - shift
        leaf = policy.clone().requires_grad_()

        def answer(matched, other):
            of_matched, of_other = fused(matched), fused(other)
            return Model(
                lambda input_ids, **rest: (of_matched if input_ids[0, 0] == 1 else of_other)(**rest)
            )

        model = answer(leaf, kl_policy)
        trainer = trainer_of(
            KTOTrainer,
            model,
            ref_model=answer(reference, kl_reference),
            precompute_ref_logps=False,
            calculate_KL=kind == "kto",
            loss_type=kind,
            beta=beta,
            desirable_weight=desirable,
            undesirable_weight=undesirable,
            args=SimpleNamespace(gradient_checkpointing_kwargs=None),
        )
        inputs = {
            "input_ids": batch.input_ids,
            "attention_mask": batch.attention_mask,
            "completion_mask": batch.completion_mask,
            "KL_input_ids": mismatched.input_ids,
            "KL_attention_mask": mismatched.attention_mask,
            "KL_completion_mask": mismatched.completion_mask,
            "label": labels,
        }
        value = KTOTrainer._compute_loss(trainer, model, inputs, False)
        value.backward()
        rows = slice(0, examples)
        arrays, leaves = token_arrays("", rows, batch.counted, policy, reference)
        arrays["labels"] = labels.long()
        if kind == "kto":
            more, _ = token_arrays(
                "mismatched_", rows, mismatched.counted, kl_policy, kl_reference
            )
            arrays |= more
        members = {
            "beta": beta,
            "desirable_weight": desirable,
            "undesirable_weight": undesirable,
        }
        loss = "kto" if kind == "kto" else "apo_zero_unpaired"
        return Trial(value.item(), leaf.grad.flatten(), [Case(loss, members, arrays, leaves)])

    return make


# ---- RewardTrainer ---------------------------------------------------------------------------


def reward(center=None, margins=False):
    def make(seed, scale):
        pairs = 2 + seed % 7
        batch = Tokens(seed, 2 * pairs)
        scores = 3 * scale * batch.normal(2 * pairs)
        leaf = scores.clone().requires_grad_()
        inputs = {"attention_mask": batch.attention_mask}
        if margins:
            inputs["margin"] = 2 * batch.uniform(pairs)
        model = Model(lambda **_: SimpleNamespace(logits=leaf[:, None]))
        trainer = trainer_of(
            RewardTrainer, model, args=SimpleNamespace(center_rewards_coefficient=center)
        )
        value = RewardTrainer.compute_loss(trainer, model, dict(inputs))
        value.backward()
        arrays, leaves = {}, {}
        for name, rows in zip(("chosen_", "rejected_"), side_rows(2 * pairs)):
            more, to = token_arrays(name, rows, torch.ones(2 * pairs, 1, dtype=torch.bool), scores)
            arrays |= more
            leaves |= to
        if margins:
            arrays["margins"] = inputs["margin"]
        members = {"center": center or 0.0}
        return Trial(
            value.item(), leaf.grad.flatten(), [Case("bradley_terry", members, arrays, leaves)]
        )

    return make


# ---- Trainers that start from logits: CPO, ORPO, TPO -----------------------------------------


def pair_inputs(batch, pairs):
    """The batch of the experimental pair trainers; labels are -100 in prompt and padding."""
    labels = batch.input_ids.masked_fill(batch.completion_mask == 0, -100)
    inputs = {}
    for name, rows in zip(("chosen", "rejected"), side_rows(2 * pairs)):
        inputs |= {
            f"{name}_input_ids": batch.input_ids[rows],
            f"{name}_attention_mask": batch.attention_mask[rows],
            f"{name}_labels": labels[rows],
        }
    return inputs


def logit_case(batch, pairs, logits, loss, members, zero_reference):
    arrays, leaves = {}, {}
    for name, rows in zip(("chosen_", "rejected_"), side_rows(2 * pairs)):
        more, to = logit_arrays(name, rows, batch.counted, batch, logits)
        if zero_reference:
            more[f"reference_{name}tokens"] = torch.zeros(len(more[f"{name}ids"]), dtype=DOUBLE)
        arrays |= more
        leaves |= to
    return Case(loss, members, arrays, leaves)


def sft_case(batch, rows, mask, logits, weight):
    """-weight / B times the log-probs of the marked tokens, for B rows."""
    arrays, leaves = logit_arrays("", rows, mask, batch, logits)
    return Case("sft", {"weight": weight}, arrays, leaves)


def cpo(kind, loss, trl_settings, members, *, nll=0.0, zero_reference=False, of_batch=None):
    settings = {"beta": 0.1, "label_smoothing": 0.0, "simpo_gamma": 0.5, "alpha": 0.0}
    settings |= dict(trl_settings)

    def make(seed, scale):
        pairs = 2 + seed % 7
        batch = Tokens(seed, 2 * pairs)
        logits = batch.logits(scale)
        leaf = logits.clone().requires_grad_()
        model = Model(lambda *args, **_: SimpleNamespace(logits=leaf))
        trainer = trainer_of(
            CPOTrainer,
            model,
            is_encoder_decoder=False,
            pad_token_id=0,
            cpo_alpha=nll,
            loss_type=kind,
            **settings,
        )
        value, _ = CPOTrainer.get_batch_loss_metrics(trainer, model, pair_inputs(batch, pairs))
        value.backward()
        tokens = int(batch.counted[:pairs].sum())
        own = dict(members) | (of_batch(pairs, tokens) if of_batch else {})
        case = logit_case(batch, pairs, logits, loss, own, zero_reference)
        return Trial(value.item(), leaf.grad.flatten(), [case])

    return make


def orpo(beta, context=contextlib.nullcontext):
    def make(seed, scale):
        pairs = 2 + seed % 7
        batch = Tokens(seed, 2 * pairs)
        logits = batch.logits(scale)
        leaf = logits.clone().requires_grad_()
        model = Model(lambda *args, **_: SimpleNamespace(logits=leaf))
        trainer = trainer_of(
            ORPOTrainer, model, is_encoder_decoder=False, padding_value=0, beta=beta
        )
        with context():
            value, _ = ORPOTrainer.get_batch_loss_metrics(
                trainer, model, pair_inputs(batch, pairs)
            )
            value.backward()
        # Its likelihood is of prompt and response, a mean over all tokens of the batch.
        scored = batch.attended[:pairs].sum().item()
        cases = [
            logit_case(batch, pairs, logits, "orpo", {"beta": beta, "nll_weight": 0.0}, False),
            sft_case(batch, slice(0, pairs), batch.attended, logits, pairs / scored),
        ]
        return Trial(value.item(), leaf.grad.flatten(), cases)

    return make


def tpo(kind, loss, trl_settings, members, *, alpha=0.0, zero_reference=False):
    settings = {"beta": 0.01, "label_smoothing": 0.0, "tpo_l_gamma": 0.5} | dict(trl_settings)

    def make(seed, scale):
        pairs = 2 + seed % 7
        branches = 3 if alpha != 0 else 2
        batch = Tokens(seed, branches * pairs)
        logits = batch.logits(scale)
        leaf = logits.clone().requires_grad_()
        model = Model(lambda **_: SimpleNamespace(logits=leaf))
        trainer = trainer_of(TPOTrainer, model, tpo_alpha=alpha, loss_type=kind, **settings)
        inputs = {
            "input_ids": batch.input_ids,
            "attention_mask": batch.attention_mask,
            "completion_mask": batch.completion_mask,
        }
        value = TPOTrainer._compute_loss(trainer, model, inputs, False)
        value.backward()
        cases = [logit_case(batch, pairs, logits, loss, dict(members), zero_reference)]
        if branches == 3:
            gold = slice(2 * pairs, 3 * pairs)
            tokens = batch.counted[gold].sum().item()
            cases.append(sft_case(batch, gold, batch.counted, logits, alpha * pairs / tokens))
        return Trial(value.item(), leaf.grad.flatten(), cases)

    return make


def aot(kind, beta, epsilon):
    """The unpaired form takes the two sides as desirable and undesirable examples."""
    settings = {"beta": beta, "label_smoothing": epsilon}
    of_pairs = dpo([kind], kind, settings, settings)

    def make(seed, scale):
        trial = of_pairs(seed, scale)
        if kind == "aot":
            return trial
        pairs = trial.cases[0]
        joined = {}
        for name in ("tokens", "reference_tokens", "offsets"):
            start = "reference_" if name.startswith("reference_") else ""
            stem = name.removeprefix("reference_")
            a, b = (pairs.arrays[f"{start}{side}_{stem}"] for side in ("chosen", "rejected"))
            joined[name] = torch.cat([a, a[-1] + b[1:]] if name == "offsets" else [a, b])
        size = len(pairs.arrays["chosen_offsets"]) - 1
        joined["labels"] = [1] * size + [0] * size
        index = torch.cat([pairs.leaves["d_chosen_tokens"], pairs.leaves["d_rejected_tokens"]])
        trial.cases = [Case(kind, pairs.settings, joined, {"d_tokens": index})]
        return trial

    return make


# ---- Where TRL has no finite answer ----------------------------------------------------------


def far_pair(kind, loss, chosen, rejected, trl_settings, members, dtype=DOUBLE):
    """One pair of one token each, (policy, reference) of either side."""

    def make():
        policy = torch.tensor([[chosen[0]], [rejected[0]]], dtype=dtype)
        reference = torch.tensor([[chosen[1]], [rejected[1]]], dtype=dtype)
        leaf = policy.clone().requires_grad_()
        model = fused(leaf)
        settings = {"f_divergence_type": "reverse_kl", "discopop_tau": 0.05} | trl_settings
        trainer = trainer_of(
            DPOTrainer,
            model,
            ref_model=fused(reference),
            precompute_ref_logps=False,
            loss_types=[kind],
            loss_weights=[1.0],
            use_weighting=False,
            ld_alpha=None,
            beta=0.1,
            label_smoothing=0.0,
            f_divergence_type=settings["f_divergence_type"],
            f_alpha_divergence_coef=settings.get("f_alpha_divergence_coef", 0.5),
            args=SimpleNamespace(
                gradient_checkpointing_kwargs=None, discopop_tau=settings["discopop_tau"]
            ),
        )
        mask = torch.tensor([[0, 1], [0, 1]])
        ids = torch.ones(2, 2, dtype=torch.long)
        inputs = {"input_ids": ids, "attention_mask": ids, "completion_mask": mask}
        value = DPOTrainer._compute_loss(trainer, model, inputs, False)
        value.backward()
        arrays = {}
        for name, row in (("chosen_", 0), ("rejected_", 1)):
            arrays |= {
                f"{name}offsets": [0, 1],
                f"{name}tokens": policy[row],
                f"reference_{name}tokens": reference[row],
            }
        leaves = {"d_chosen_tokens": torch.tensor([0]), "d_rejected_tokens": torch.tensor([1])}
        return Trial(value.item(), leaf.grad.flatten(), [Case(loss, members, arrays, leaves)])

    return make


def reference_free(trainer_kind, loss, log_probs, members, empty=False, **attributes):
    """One pair of a token each, of these log-probs, through logits; or an empty rejected one."""

    def make():
        batch = Tokens(0, 2)
        batch.width = 3
        batch.attention_mask = torch.ones(2, 3, dtype=torch.long)
        batch.completion_mask = torch.tensor([[0, 1, 0], [0, 0 if empty else 1, 0]])
        batch.input_ids = torch.zeros(2, 3, dtype=torch.long)
        logits = torch.full((2, 3, VOCABULARY), -1e4, dtype=DOUBLE)
        logits[:, :, 1] = 0
        for row, x in enumerate(log_probs):
            logits[row, :, 0] = x if x < 0 else 1e4
        leaf = logits.clone().requires_grad_()
        model = Model(lambda *args, **_: SimpleNamespace(logits=leaf))
        trainer = trainer_of(
            trainer_kind,
            model,
            is_encoder_decoder=False,
            pad_token_id=0,
            padding_value=0,
            cpo_alpha=0.0,
            label_smoothing=0.0,
            **attributes,
        )
        value, _ = trainer_kind.get_batch_loss_metrics(trainer, model, pair_inputs(batch, 1))
        value.backward()
        case = logit_case(batch, 1, logits, loss, members, False)
        return Trial(value.item(), leaf.grad.flatten(), [case])

    return make


def kto_with_nan():
    """Two good examples and one whose log-prob is NaN."""
    policy = torch.tensor([[-1.0], [-2.0], [float("nan")]], dtype=DOUBLE)
    reference = torch.tensor([[-1.5], [-1.5], [-1.5]], dtype=DOUBLE)
    leaf = policy.clone().requires_grad_()
    model = fused(leaf)
    trainer = trainer_of(
        KTOTrainer,
        model,
        ref_model=fused(reference),
        precompute_ref_logps=False,
        calculate_KL=False,
        loss_type="apo_zero_unpaired",
        beta=0.1,
        desirable_weight=1.0,
        undesirable_weight=1.0,
        args=SimpleNamespace(gradient_checkpointing_kwargs=None),
    )
    ids = torch.ones(3, 2, dtype=torch.long)
    labels = torch.tensor([True, False, True])
    inputs = {
        "input_ids": ids,
        "attention_mask": ids,
        "completion_mask": torch.tensor([[0, 1]] * 3),
        "label": labels,
    }
    value = KTOTrainer._compute_loss(trainer, model, inputs, False)
    value.backward()
    arrays = {
        "offsets": [0, 1, 2, 3],
        "tokens": policy,
        "reference_tokens": reference,
        "labels": labels.long(),
    }
    case = Case("apo_zero_unpaired", {}, arrays, {"d_tokens": torch.arange(3)})
    return Trial(value.item(), leaf.grad.flatten(), [case])
