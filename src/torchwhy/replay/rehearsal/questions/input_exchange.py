"""Do the inputs matter? The loss of a batch with the inputs of other batches, before and after training."""

from __future__ import annotations

import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Role, Tensors
from torchwhy.replay.rehearsal.capture.lost_values import row_size
from torchwhy.replay.rehearsal.copy_training import Trainee, adam
from torchwhy.replay.rehearsal.data_exchange import from_others
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "inputs-matter"
OTHERS = 6
UPDATES = 30
RATE = 1e-2


def ask(steps: CapturedSteps) -> Answer:
    """Return by how much the loss moves with other inputs, at first and after some training on this batch."""
    group = steps.main
    alike = group.alike()
    step = alike[0]
    inputs = meeting_parameters(step)
    if not inputs:
        lost = _lost(steps, step)
        if lost is not None:
            return lost
        raise CannotAsk("nothing that differs between steps meets a parameter")
    if len(alike) < 3:
        raise CannotAsk("fewer than 3 captured steps have the same shapes")
    # What frozen layers computed from the inputs enters the captured step beside them, and is exchanged, too.
    others = from_others(step, alike[: OTHERS + 1], step.numbers("input"))
    weights = steps.initial_weights(group)
    facts: dict[str, object] = {"loss": step.loss_with(weights)}
    facts["others"] = _losses(step, weights, others, steps)
    trainee = Trainee(weights, steps.trainable(group), adam(RATE), steps.allowance)
    for _ in range(UPDATES):
        trainee.learn(step)
    facts["loss after"] = trainee.loss(step)
    facts["others after"] = _losses(step, trainee.copies, others, steps)
    # A loss that is divided by its own value is constant, and only its gradient depends on the inputs.
    facts["gradients"] = _gradients(step, weights, others, steps, trained=steps.trainable(group))
    facts["differ"] = not all(
        torch.equal(one[n], step.slots[n].tensor) for one in others for n in inputs
    )
    return Answer(facts, {"input": step.slots[inputs[0]].span, "loss": step.place})


def _lost(steps: CapturedSteps, step: CapturedStep) -> Answer | None:
    """Return that all inputs hold one value, which a conversion to whole numbers has made of many.

    An index that is 0 in every row may name the only row of a table.
    """
    constant = [step.slots[n].tensor for n in meeting_parameters(step, role="constant")]
    values = {(float(one.reshape(-1)[0]), row_size(one)) for one in constant if one.numel()}
    site = steps.lost.places.get(next(iter(values))) if len(values) == 1 else None
    if site is None or not step.numbers("target"):
        return None
    value, _ = values.pop()
    if not all(one.is_floating_point() and bool((one == value).all()) for one in constant):
        return None
    facts = {"lost": True, "value": value, "steps": len(steps.main.steps)}
    return Answer(facts, {"lost": span_of(site), "loss": step.place})


def meeting_parameters(step: CapturedStep, *, role: Role = "input") -> list[int]:
    """Return the inputs that an operation takes together with a parameter, or a view of one."""
    of_weights: set[int] = set()
    found: list[int] = []
    for operation in step.operations:
        refs = operation.refs
        is_weight = [
            r.kind == "parameter" or (r.kind == "value" and r.number in of_weights) for r in refs
        ]
        if refs and all(is_weight):
            of_weights.update(n for n in operation.results if n is not None)
        elif any(is_weight):
            found += [ref.number for ref in refs if ref.kind == "slot"]
    return [n for n in dict.fromkeys(found) if step.slots[n].role == role]


def _gradients(
    step: CapturedStep,
    weights: Tensors,
    others: list[Tensors],
    steps: CapturedSteps,
    *,
    trained: frozenset[int],
) -> list[float]:
    """Return by how much the gradient differs with the inputs of each other batch, relative to its size."""

    def gradient(slots: Tensors | None) -> torch.Tensor:
        steps.allowance.spend(2 * len(step.operations))
        copies = {n: w.clone().requires_grad_(n in trained) for n, w in weights.items()}
        loss, _ = step.run(copies, slots=slots)
        asked = [copies[n] for n in sorted(trained & copies.keys())]
        found = torch.autograd.grad(loss, asked, allow_unused=True)
        parts = zip(found, asked, strict=True)
        return torch.cat(
            [precise(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in parts]
        )

    own = gradient(None)
    size = float(own.norm()) or 1.0
    return [float((gradient(slots) - own).norm()) / size for slots in others]


def _losses(
    step: CapturedStep, weights: Tensors, others: list[Tensors], steps: CapturedSteps
) -> list[float]:
    losses = []
    for slots in others:
        steps.allowance.spend(len(step.operations))
        losses.append(step.loss_with(weights, slots=slots))
    return losses
