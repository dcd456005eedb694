"""Do train and eval mode agree? One batch, normalised by its own statistics and by the running ones.

Random draws are those of the captured step in both modes, so dropout makes no difference. The control normalises with
statistics that the captured batches have with the same weights: what running statistics would be if they followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import torch

from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import Allowance, CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import (
    CapturedStep,
    Ref,
    Tensors,
    exchanged,
    flat,
    put_back,
)
from torchwhy.replay.rehearsal.changed_runs import (
    BATCH_NORMS,
    EPSILON,
    IS_TRAINING,
    MOMENTUM,
    base_of,
)
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "modes-agree"
MEAN, VARIANCE = 3, 4  # places of the running statistics among the arguments of a batch norm
MOST_BATCHES = 16  # from which the control takes its statistics
FEWEST_BETWEEN = 8  # steps between which statistics that never moved would have moved

Statistics = tuple[torch.Tensor, torch.Tensor]
ByPlace = Mapping[int, Statistics]


@dataclass
class _Run:
    """One run of a step: its loss, and of each layer the statistics of the batch and the running ones before it."""

    loss: float = 0.0
    batch: dict[int, Statistics] = field(default_factory=dict)
    running: dict[int, Statistics] = field(default_factory=dict)


def ask(steps: CapturedSteps) -> Answer:
    """Return the loss of a late batch in train mode, in eval mode, and with the statistics of the captured batches."""
    group = steps.main
    layers = _layers(group.steps[0])
    if not layers:
        raise CannotAsk("no layer with running statistics trains in train mode")
    first, known = group.steps[0], [one for one in group.steps if one.weights is not None]
    late = known[-1]
    between = late.number - first.number
    if between < FEWEST_BETWEEN:
        raise CannotAsk("too few steps were captured with their weights")
    assert late.weights is not None
    train = _run(late, late.weights, steps.allowance)
    own = _run(late, late.weights, steps.allowance, statistics=train.running)
    followed = _followed(steps, [one for one in group.alike() if one is not late], late.weights)
    control = _run(late, late.weights, steps.allowance, statistics=followed or train.batch)
    start = _run(first, steps.initial_weights(group), steps.allowance)
    unmoved = [place for place in layers if _same(start.running[place], train.running[place])]
    still = [p for p in unmoved if late.operations[p].args[MOMENTUM] == 0]
    chosen = (still or unmoved or layers)[0]
    facts: dict[str, Any] = {
        "layers": len(layers),
        "unmoved": len(unmoved),
        "without momentum": len(still),
        "steps": between,
        "first": start.loss,
        "train": train.loss,
        "eval": own.loss,
        "followed": control.loss,
    }
    return Answer(facts, {"layer": late.operations[chosen].span})


def _layers(step: CapturedStep) -> list[int]:
    """Return the places of the normalisations that use the batch and keep running statistics."""
    return [
        place
        for place, one in enumerate(step.operations)
        if base_of(one) in BATCH_NORMS
        and len(one.args) > EPSILON
        and one.args[IS_TRAINING] is True
        and isinstance(one.args[MEAN], Ref)
    ]


def _followed(
    steps: CapturedSteps, others: list[CapturedStep], weights: Tensors
) -> dict[int, Statistics]:
    """Return the mean statistics of captured batches with these weights."""
    runs = [_run(one, weights, steps.allowance) for one in others[-MOST_BATCHES:]]
    if not runs:
        return {}
    return {
        place: (
            torch.stack([run.batch[place][0] for run in runs]).mean(0),
            torch.stack([run.batch[place][1] for run in runs]).mean(0),
        )
        for place in runs[0].batch
    }


def _same(one: Statistics, other: Statistics) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def _run(
    step: CapturedStep, weights: Tensors, allowance: Allowance, *, statistics: ByPlace | None = None
) -> _Run:
    """Run a step in train mode, or in eval mode with the statistics of each layer."""
    allowance.spend(len(step.operations))
    run, values = _Run(), dict[int, torch.Tensor]()
    data = {number: slot.tensor for number, slot in enumerate(step.slots)}
    sources: dict[str, Tensors] = {"value": values, "parameter": weights, "slot": data}
    layers = set(_layers(step))

    def fill(one: Any) -> Any:
        return sources[one.kind][one.number] if isinstance(one, Ref) else one

    with torch.no_grad():
        for place, operation in enumerate(step.operations):
            args, kwargs = exchanged((operation.args, operation.kwargs), fill)
            if place in layers:
                run.running[place] = (args[MEAN].clone(), args[VARIANCE].clone())
                if statistics is not None:
                    args = (*args[:MEAN], *statistics[place], False, *args[MOMENTUM:])
            with put_back(operation.random_state):
                result = flat(operation.function(*args, **kwargs))
            if place in layers and statistics is None:
                run.batch[place] = (result[1], result[2].pow(-2) - args[EPSILON])
            made = zip(operation.results, result, strict=True)
            values.update((number, one) for number, one in made if number is not None)
    run.loss = float(sum(values[root].sum() for root in step.roots))
    return run
