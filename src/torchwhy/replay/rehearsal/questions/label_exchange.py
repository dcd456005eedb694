"""Do the labels matter? Copies train on captured batches, labels as they are and exchanged, judged on held-out ones.

The control of a "no" is a relation that certainly exists: labels that are sorted along the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns
from torchwhy.replay.rehearsal.copy_training import Trainee, adam
from torchwhy.replay.rehearsal.data_exchange import Batch, planted, rows_of, shuffled
from torchwhy.replay.rehearsal.labelled_batches import (
    FOLD,
    LabelledBatches,
    labelled_batches,
    slots_of,
)
from torchwhy.replay.rehearsal.related_rows import (
    chance_of_neighbours,
    chances_of_columns,
    is_affine,
)
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

SLUG = "labels-matter"
UPDATES = (66, 200)  # The longer training is for what the shorter one does not answer.
EPOCHS = 6  # at least
RATE = 3e-3
EXCHANGES = 5  # enough for their spread to show what chance does to the loss

Best = Callable[[Sequence[Batch], Sequence[Batch]], tuple[float, float]]


def ask(steps: CapturedSteps) -> Answer:
    """Return the best loss on held-out batches after training with labels as they are, exchanged, and planted."""
    group = steps.only
    trained, weights = steps.trainable(group), steps.initial_weights(group)
    first = group.alike()[0]
    inputs, targets = slots_of(first)
    batches = labelled_batches(steps, group, inputs, targets)
    facts: dict[str, Any] = {}
    for updates in UPDATES:
        best = partial(_best, weights, trained, steps, updates=updates)
        is_last = updates == UPDATES[-1] or not batches.is_enough
        facts = {**_compared(batches, best, in_full=is_last), "enough": batches.is_enough}
        if _is_better(facts["true"], facts["exchanged"]) or not batches.is_enough:
            break
    else:
        facts |= _controls(batches.mixed, inputs, targets, best)
    if "planted linear" in facts:
        facts |= _relations(steps, group, batches.apart, _pairs(first, inputs, targets)[0])
    facts["before"] = _before(weights, batches.held, steps)
    places = {"target": first.slots[targets[0]].span, "loss": first.place}
    return Answer(facts, places)


def _compared(batches: LabelledBatches, best: Best, *, in_full: bool) -> dict[str, Any]:
    """Return the losses on held-out batches with labels as they are, and exchanged.

    If not `in_full`, the first exchange that leaves the labels no better is the last: further ones would not, either.
    """
    true, fitted = best(batches.train, batches.held)
    wrong: list[float] = []
    for draw in range(EXCHANGES):
        wrong.append(best(batches.exchanged(_seeded(draw)), batches.held)[0])
        if not in_full and not _is_better(true, wrong):
            break
    return {
        "true": true,
        "exchanged": wrong,
        "fitted": fitted,
        "batches": len(batches.train),
        "held out": len(batches.held),
    }


def _is_better(true: float, exchanged: Sequence[float]) -> bool:
    """Tell whether the labels beat all exchanged ones by more than these differ."""
    return true < min(exchanged) - (max(exchanged) - min(exchanged))


def _relations(
    steps: CapturedSteps, group: StepGroup, apart: Sequence[CapturedStep], pair: tuple[int, int]
) -> dict[str, Any]:
    """Return whether neighbours have like labels, labels follow columns, and the model is a straight line."""
    given, target = pair
    other = group.alike()[-1]
    runs = ChangedRuns(steps, group)
    columns, products = chances_of_columns(apart, given, target) if apart else (0.0, 0.0)
    fits = runs.step.slots[given].tensor.shape == other.slots[given].tensor.shape
    return {
        "neighbours": chance_of_neighbours(apart, given, target) if apart else 0.0,
        "columns": columns,
        "products": products,
        "affine": fits and is_affine(runs, other, given),
    }


def _seeded(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def _best(
    weights: Tensors,
    trained: frozenset[int],
    steps: CapturedSteps,
    batches: Sequence[Batch],
    judged: Sequence[Batch],
    *,
    updates: int,
) -> tuple[float, float]:
    """Return the lowest loss on the judged batches after an epoch, and the last one on those of training."""
    trainee = Trainee(weights, trained, adam(RATE), steps.allowance)
    lowest, fitted = math.inf, math.inf
    for _ in range(max(EPOCHS, math.ceil(updates / len(batches)))):
        losses = [trainee.learn(step, slots) for step, slots in batches]
        fitted = sum(losses) / len(losses)
        now = trainee.mean_loss(judged)
        lowest = min(lowest, now) if math.isfinite(now) else lowest
    return lowest, fitted


def _before(weights: Tensors, held: Sequence[Batch], steps: CapturedSteps) -> float:
    steps.allowance.spend(sum(len(step.operations) for step, _ in held))
    return sum(step.loss_with(weights) for step, _ in held) / len(held)


def _controls(
    mixed: Sequence[CapturedStep], inputs: list[int], targets: list[int], best: Best
) -> dict[str, float]:
    """Return the losses with labels that follow from the inputs: along one direction, and along a product of two."""
    pairs = _pairs(mixed[0], inputs, targets)
    facts: dict[str, float] = {}
    if len(targets) != 1 or not pairs:
        return facts
    given, target = pairs[0]
    for name, directions in (("linear", 1), ("product", 2)):
        every = planted(mixed, given, target, _seeded(7), directions=directions)
        held, train = every[::FOLD], [one for place, one in enumerate(every) if place % FOLD]
        facts[f"planted {name}"], facts[f"planted {name} fitted"] = best(train, held)
        order = shuffled(mixed, [target], _seeded(8))
        train = [(step, order[place][1]) for place, (step, _) in enumerate(every) if place % FOLD]
        facts[f"planted {name} exchanged"] = best(train, held)[0]
    return facts


def _pairs(step: CapturedStep, inputs: list[int], targets: list[int]) -> list[tuple[int, int]]:
    """Return the inputs of measured numbers with the targets that have as many rows."""
    rows = {n: rows_of(step.slots[n].tensor).shape[0] for n in (*inputs, *targets)}
    pairs = [(i, t) for t in targets for i in inputs if rows[i] == rows[t]]
    return [(i, t) for i, t in pairs if step.slots[i].tensor.is_floating_point()]
