"""Do the labels matter? Copies train on captured batches, labels as they are and exchanged, judged on held-out ones.

The control of a "no" is a relation that certainly exists: labels that are sorted along the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns
from torchwhy.replay.rehearsal.copy_training import Trainee, adam
from torchwhy.replay.rehearsal.data_exchange import (
    Batch,
    as_they_are,
    planted,
    rebatched,
    rows_of,
    shuffled,
    without_repeats,
)
from torchwhy.replay.rehearsal.related_rows import chance_of_neighbours, is_affine
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

SLUG = "labels-matter"
FEWEST_BATCHES = 4
ENOUGH_BATCHES = 6  # With fewer, labels that do not help may be hard to learn from.
FEWEST_HELD_OUT_ROWS = 16
MOST_BATCHES = 16
UPDATES = (66, 200)  # The longer training is for what the shorter one does not answer.
EPOCHS = 6  # at least
RATE = 3e-3
EXCHANGES = 5  # enough for their spread to show what chance does to the loss

Best = Callable[[Sequence[Batch], Sequence[Batch]], tuple[float, float]]


def ask(steps: CapturedSteps) -> Answer:
    """Return the best loss on held-out batches after training with labels as they are, exchanged, and planted."""
    group = steps.only
    trained, weights = steps.trainable(group), steps.initial_weights(group)
    alike = group.alike()
    first = alike[0]
    inputs, targets = _data(first, "input"), _data(first, "target")
    if not targets:
        raise CannotAsk("nothing that differs between steps is compared with the model's output")
    if not inputs:
        raise CannotAsk("nothing that differs between steps goes into the model")
    apart = without_repeats(alike, inputs)[:MOST_BATCHES]
    if len(apart) < ENOUGH_BATCHES:
        apart = rebatched(alike, inputs, targets)[:MOST_BATCHES] or apart
    if len(apart) < FEWEST_BATCHES:
        raise CannotAsk(f"the samples of the captured steps fill only {len(apart)} batches")
    held, train = apart[::4], [step for place, step in enumerate(apart) if place % 4]
    if (
        len(held) * max(rows_of(held[0].slots[n].tensor).shape[0] for n in targets)
        < FEWEST_HELD_OUT_ROWS
    ):
        raise CannotAsk("the captured batches hold too few samples")

    enough = len(apart) >= ENOUGH_BATCHES
    facts: dict[str, Any] = {}
    for updates in UPDATES:
        best = partial(_best, weights, trained, steps, updates=updates)
        facts = {**_compared(train, held, targets, best), "enough": enough}
        if _is_better(facts) or not enough:
            break
    else:
        facts |= _controls(apart, inputs, targets, best)
    if "planted linear" in facts:
        facts |= _relations(steps, group, apart, _pairs(apart, inputs, targets)[0])
    facts["before"] = _before(weights, held, steps)
    places = {"target": first.slots[targets[0]].span, "loss": first.place}
    return Answer(facts, places)


def _compared(
    train: Sequence[CapturedStep], held: Sequence[CapturedStep], targets: list[int], best: Best
) -> dict[str, Any]:
    """Return the losses on held-out batches with labels as they are, and exchanged."""
    true, fitted = best(as_they_are(train), as_they_are(held))
    wrong = [
        best(shuffled(train, targets, _seeded(draw)), as_they_are(held))[0]
        for draw in range(EXCHANGES)
    ]
    return {
        "true": true,
        "exchanged": wrong,
        "fitted": fitted,
        "batches": len(train),
        "held out": len(held),
    }


def _is_better(facts: dict[str, Any]) -> bool:
    """Tell whether the labels beat all exchanged ones by more than these differ."""
    wrong = facts["exchanged"]
    return bool(facts["true"] < min(wrong) - (max(wrong) - min(wrong)))


def _relations(
    steps: CapturedSteps, group: StepGroup, apart: Sequence[CapturedStep], pair: tuple[int, int]
) -> dict[str, Any]:
    """Return whether neighbours have like labels, and whether the model is a straight line."""
    given, target = pair
    other = group.alike()[-1]
    runs = ChangedRuns(steps, group)
    fits = runs.step.slots[given].tensor.shape == other.slots[given].tensor.shape
    return {
        "neighbours": chance_of_neighbours(apart, given, target),
        "affine": fits and is_affine(runs, other, given),
    }


def _data(step: CapturedStep, role: str) -> list[int]:
    """Return the slots of one role with something to exchange."""
    found = [n for n, slot in enumerate(step.slots) if slot.role == role]
    return [n for n in found if step.slots[n].tensor.numel()]


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


def _before(weights: Tensors, held: Sequence[CapturedStep], steps: CapturedSteps) -> float:
    steps.allowance.spend(sum(len(step.operations) for step in held))
    return sum(step.loss_with(weights) for step in held) / len(held)


def _controls(
    apart: Sequence[CapturedStep], inputs: list[int], targets: list[int], best: Best
) -> dict[str, float]:
    """Return the losses with labels that follow from the inputs: along one direction, and along a product of two."""
    pairs = _pairs(apart, inputs, targets)
    facts: dict[str, float] = {}
    if len(targets) != 1 or not pairs:
        return facts
    given, target = pairs[0]
    for name, directions in (("linear", 1), ("product", 2)):
        every = planted(apart, given, target, _seeded(7), directions=directions)
        held, train = every[::4], [one for place, one in enumerate(every) if place % 4]
        facts[f"planted {name}"], facts[f"planted {name} fitted"] = best(train, held)
        order = shuffled(apart, [target], _seeded(8))
        train = [(step, order[place][1]) for place, (step, _) in enumerate(every) if place % 4]
        facts[f"planted {name} exchanged"] = best(train, held)[0]
    return facts


def _pairs(
    apart: Sequence[CapturedStep], inputs: list[int], targets: list[int]
) -> list[tuple[int, int]]:
    """Return the inputs of measured numbers with the targets that have as many rows."""
    rows = {n: rows_of(apart[0].slots[n].tensor).shape[0] for n in (*inputs, *targets)}
    pairs = [(i, t) for t in targets for i in inputs if rows[i] == rows[t]]
    return [(i, t) for i, t in pairs if apart[0].slots[i].tensor.is_floating_point()]
