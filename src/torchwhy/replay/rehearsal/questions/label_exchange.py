"""Do the labels matter? Copies train on captured batches, labels as they are and exchanged, judged on held-out ones.

The control of a "no" is a relation that certainly exists: labels that are sorted along the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors
from torchwhy.replay.rehearsal.copy_training import Trainee, adam
from torchwhy.replay.rehearsal.data_exchange import (
    Batch,
    as_they_are,
    planted,
    rows_of,
    shuffled,
    without_repeats,
)
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "labels-matter"
FEWEST_BATCHES = 6
FEWEST_HELD_OUT_ROWS = 16
MOST_BATCHES = 16
EPOCHS = 6
RATE = 3e-3
EXCHANGES = 5  # enough for their spread to show what chance does to the loss


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
    if len(apart) < FEWEST_BATCHES:
        raise CannotAsk(f"only {len(apart)} captured batches hold samples that no other one holds")
    held, train = apart[::4], [step for place, step in enumerate(apart) if place % 4]
    if (
        len(held) * max(rows_of(held[0].slots[n].tensor).shape[0] for n in targets)
        < FEWEST_HELD_OUT_ROWS
    ):
        raise CannotAsk("the captured batches hold too few samples")

    def best(batches: Sequence[Batch], judged: Sequence[Batch]) -> tuple[float, float]:
        return _best(weights, trained, batches, judged, steps)

    true, fitted = best(as_they_are(train), as_they_are(held))
    wrong = [
        best(shuffled(train, targets, _seeded(draw)), as_they_are(held))[0]
        for draw in range(EXCHANGES)
    ]
    facts = {
        "true": true,
        "exchanged": wrong,
        "fitted": fitted,
        "before": _before(weights, held, steps),
        "batches": len(train),
        "held out": len(held),
    }
    if true >= min(wrong) - (max(wrong) - min(wrong)):
        facts |= _controls(apart, inputs, targets, best)
    places = {"target": first.slots[targets[0]].span, "loss": first.place}
    return Answer(facts, places)


def _data(step: CapturedStep, role: str) -> list[int]:
    """Return the slots of one role with something to exchange."""
    found = [n for n, slot in enumerate(step.slots) if slot.role == role]
    return [n for n in found if step.slots[n].tensor.numel()]


def _seeded(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def _best(
    weights: Tensors,
    trained: frozenset[int],
    batches: Sequence[Batch],
    judged: Sequence[Batch],
    steps: CapturedSteps,
) -> tuple[float, float]:
    """Return the lowest loss on the judged batches after an epoch, and the last one on those of training."""
    trainee = Trainee(weights, trained, adam(RATE), steps.allowance)
    lowest, fitted = math.inf, math.inf
    for _ in range(EPOCHS):
        losses = [trainee.learn(step, slots) for step, slots in batches]
        fitted = sum(losses) / len(losses)
        now = trainee.mean_loss(judged)
        lowest = min(lowest, now) if math.isfinite(now) else lowest
    return lowest, fitted


def _before(weights: Tensors, held: Sequence[CapturedStep], steps: CapturedSteps) -> float:
    steps.allowance.spend(sum(len(step.operations) for step in held))
    return sum(step.loss_with(weights) for step in held) / len(held)


def _controls(
    apart: Sequence[CapturedStep], inputs: list[int], targets: list[int], best: object
) -> dict[str, float]:
    """Return the losses with labels that follow from the inputs: along one direction, and along a product of two."""
    assert callable(best)
    rows = {n: rows_of(apart[0].slots[n].tensor).shape[0] for n in (*inputs, *targets)}
    pairs = [(i, t) for t in targets for i in inputs if rows[i] == rows[t]]
    pairs = [(i, t) for i, t in pairs if apart[0].slots[i].tensor.is_floating_point()]
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
