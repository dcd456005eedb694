"""Does a step go downhill? The update that the program made, shortened, on the batch that it was made for."""

from __future__ import annotations

import math

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

SLUG = "steps-go-downhill"
MOST_STEPS = 12
FEWEST_STEPS = 4
SHARE = 1 / 64  # of the update: short enough for the slope to decide, long enough for float32


def ask(steps: CapturedSteps) -> Answer:
    """Return for how many of the updates the loss of the same batch rises, per optimizer with a loss of its own."""
    best: tuple[float, StepGroup, list[float], list[float]] | None = None
    for group in steps.groups:
        measured = [
            one for step in _spread(group) if (one := _slope_and_rise(step, steps)) is not None
        ]
        if len(measured) < FEWEST_STEPS:
            continue
        slopes, rises = [one[0] for one in measured], [one[1] for one in measured]
        uphill = sum(a > 0 and b > 0 for a, b in measured) / len(measured)
        if best is None or uphill > best[0]:
            best = (uphill, group, slopes, rises)
    if best is None:
        raise CannotAsk(f"fewer than {FEWEST_STEPS} updates were captured with their batch")
    _, group, slopes, rises = best
    first = group.steps[0]
    return Answer(
        {
            "steps": len(slopes),
            "uphill": sum(a > 0 and b > 0 for a, b in zip(slopes, rises, strict=True)),
            "slopes": slopes,
            "rises": rises,
            "all moved": _all_move(group),
            "share": SHARE,
            "loss": first.loss,
            "optimizer": float(first.optimizer) if first.optimizer is not None else None,
        },
        places={"loss": first.place},
    )


def _all_move(group: StepGroup) -> bool:
    """Tell whether the updates change every parameter that feeds the loss: no part is held fixed by its opponent."""
    moved = {
        number
        for step in _spread(group)
        for number, change in (step.changes or {}).items()
        if bool(change.ne(0).any())
    }
    return moved == set(group.steps[0].parameters)


def _spread(group: StepGroup) -> list[CapturedStep]:
    known = [step for step in group.steps if step.weights is not None and step.changes]
    every = max(1, len(known) // MOST_STEPS)
    return known[::every][:MOST_STEPS]


def _slope_and_rise(step: CapturedStep, steps: CapturedSteps) -> tuple[float, float] | None:
    """Return the slope along the update, and how much the loss rises on a short piece of it; None if it is none."""
    assert step.weights is not None
    assert step.changes is not None
    steps.allowance.spend(3 * len(step.operations))
    copies = {n: w.clone() for n, w in step.weights.items()}
    moved = [n for n, change in step.changes.items() if bool(change.ne(0).any())]
    for number in moved:
        copies[number].requires_grad_()
    if not moved:
        return None
    loss, _ = step.run(copies)
    if not loss.requires_grad:
        return None
    gradients = torch.autograd.grad(loss, [copies[n] for n in moved], allow_unused=True)
    slope = sum(
        float((precise(g) * precise(step.changes[n])).sum())
        for n, g in zip(moved, gradients, strict=True)
        if g is not None
    )
    short = {
        n: w + SHARE * step.changes[n] if n in step.changes else w for n, w in step.weights.items()
    }
    rise = step.loss_with(short) - step.loss_with(step.weights)
    return (slope, rise) if math.isfinite(slope) and math.isfinite(rise) else None
