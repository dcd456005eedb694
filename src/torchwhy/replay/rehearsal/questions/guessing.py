"""Is the first loss what guessing gives? For losses whose best constant guess has a closed form.

The control is the same step with weights as torch's own layers draw them: what an initialisation gives on this data.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.replay.microscope.operations import info_of
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedOperation, CapturedStep, Ref
from torchwhy.replay.rehearsal.changed_runs import base_of
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

SLUG = "first-loss"
MEAN = 1  # of torch's reductions
DRAWS = 5
LAST = 8  # captured steps whose losses tell where the rehearsal ended


def ask(steps: CapturedSteps) -> Answer:
    """Return the first loss beside that of the best constant guess, from the targets of all captured steps."""
    group = steps.main
    first = group.steps[0]
    if first.number > len(steps.groups):
        raise CannotAsk("the first step was not captured")
    made = next(one for one in reversed(first.operations) if first.roots[0] in one.results)
    name = info_of(made.function).base
    guesses = {
        "nll_loss_forward": _cross_entropy,
        "nll_loss2d_forward": _cross_entropy,
        "mse_loss": _squared_error,
        "binary_cross_entropy_with_logits": _binary,
    }
    targets = _target_slots(first, made)
    if name not in guesses or len(first.roots) != 1 or len(targets) != 1:
        raise CannotAsk("no closed form is known for this loss")
    every = [step.slots[targets[0]].tensor for step in group.steps]
    facts: dict[str, Any] = {"loss": first.loss, **guesses[name](made, every)}
    if first.weights is not None:
        facts |= {"fresh": _fresh_losses(steps, group), "updates": group.steps[-1].number - 1}
        facts["last"] = [step.loss for step in group.steps[-LAST:]]
    return Answer(facts, {"loss": first.place, "target": first.slots[targets[0]].span})


def _fresh_losses(steps: CapturedSteps, group: StepGroup) -> list[float]:
    """Return the loss of the first step with several draws of weights."""
    step, weights = group.steps[0], steps.initial_weights(group)
    tables = {
        operation.args[0].number
        for operation in step.operations
        if base_of(operation) == "embedding" and isinstance(operation.args[0], Ref)
    }
    losses = []
    for draw in range(DRAWS):
        generator = torch.Generator().manual_seed(draw)
        drawn = {n: _fresh(w, generator, is_table=n in tables) for n, w in weights.items()}
        steps.allowance.spend(len(step.operations))
        losses.append(step.loss_with(drawn))
    return losses


def _fresh(weight: torch.Tensor, generator: torch.Generator, *, is_table: bool) -> torch.Tensor:
    """Return a weight as `nn.Embedding`, or `nn.Linear` and `nn.Conv2d` draw it; vectors stay as they are.

    Which axis counts the inputs depends on the operation; the shorter one gives the larger weights.
    """
    if weight.dim() < 2 or not weight.is_floating_point():
        return weight
    if is_table:
        return torch.randn(weight.shape, generator=generator).to(weight)
    inputs = max(1, min(weight.shape[0], weight.numel() // max(1, weight.shape[0])))
    unit = torch.rand(weight.shape, generator=generator).to(weight)
    return (2 * unit - 1) / math.sqrt(inputs)


def _target_slots(step: CapturedStep, operation: CapturedOperation) -> list[int]:
    refs = [ref.number for ref in operation.refs if ref.kind == "slot"]
    return [number for number in refs if step.slots[number].role == "target"]


def _cross_entropy(operation: CapturedOperation, targets: list[torch.Tensor]) -> dict[str, Any]:
    _, _, weight, reduction, ignored = operation.args
    if weight is not None or reduction != MEAN:
        raise CannotAsk("the loss has class weights or is no mean")
    labels = torch.cat([one.reshape(-1) for one in targets])
    labels = labels[labels != ignored]
    shares = precise(torch.bincount(labels)) / max(1, labels.numel())
    entropy = -float((shares[shares > 0] * shares[shares > 0].log()).sum())
    # The results are the loss and the weight of all labels; the classes are a dimension of the operand.
    return {"kind": "cross entropy", "guess": entropy, "classes seen": int((shares > 0).sum())}


def _squared_error(operation: CapturedOperation, targets: list[torch.Tensor]) -> dict[str, Any]:
    if len(operation.args) > 2 and operation.args[2] != MEAN:
        raise CannotAsk("the loss is no mean")
    if not isinstance(operation.args[0], Ref) or targets[0].dim() == 0:
        raise CannotAsk("no closed form is known for this loss")
    rows = torch.cat([precise(one.reshape(one.shape[0], -1)) for one in targets])
    return {"kind": "mean squared error", "guess": float(rows.var(0, unbiased=False).mean())}


def _binary(operation: CapturedOperation, targets: list[torch.Tensor]) -> dict[str, Any]:
    if any(ref.kind == "slot" for ref in operation.refs[2:]):
        raise CannotAsk("the loss has weights")
    share = float(torch.cat([precise(one.reshape(-1)) for one in targets]).mean())
    if not 0 <= share <= 1:
        raise CannotAsk("the targets are no probabilities")
    entropy = -sum(p * math.log(p) for p in (share, 1 - share) if p > 0)
    return {"kind": "binary cross entropy", "guess": entropy, "share of ones": share}
