"""Do inputs of 0 to 255 train as well as of 0 to 1? Copies train on captured batches, as they are and divided."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors
from torchwhy.replay.rehearsal.copy_training import MakeOptimizer, Trainee, like
from torchwhy.replay.rehearsal.data_exchange import Batch
from torchwhy.replay.rehearsal.questions.input_exchange import meeting_parameters
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "value-range"
WHITE = 255.0  # the largest value of a byte
BRIGHT = 128.0  # Pictures reach at least half of it.
FEWEST_ELEMENTS = 16  # of a row
FEWEST_BATCHES = 4
LAST = 4  # captured steps, whose losses show how far the program itself has come
MOST_BATCHES = 16
EPOCHS = 3
ORDERS = 2  # in which the batches are learned


def ask(steps: CapturedSteps) -> Answer:
    """Return the losses on held-out batches with the inputs as they are and divided by 255, with the own optimizer."""
    group = steps.only
    alike = group.alike()
    first = alike[0]
    bytes_ = [n for n in meeting_parameters(first) if _are_bytes(alike, n)]
    inputs = [first.slots[n].tensor for n in meeting_parameters(first)]
    if not bytes_:
        return Answer(_range_of(inputs))
    if len(alike) < FEWEST_BATCHES:
        raise CannotAsk(f"fewer than {FEWEST_BATCHES} captured steps have the same shapes")
    own = like(steps.optimizer_of(group), steps.parameters.tensors)
    weights, trained = steps.initial_weights(group), steps.trainable(group)
    used = alike[:MOST_BATCHES]
    last = [step.loss for step in group.steps[-LAST:]]
    facts: dict[str, object] = {"low": 0.0, "high": WHITE, "bytes": True, "last": last}
    for name, scale in (("raw", 1.0), ("scaled", WHITE)):
        batches = [_divided(step, bytes_, scale) for step in used]
        held = batches[::4]
        train = [one for place, one in enumerate(batches) if place % 4]
        before = Trainee(weights, trained, own, steps.allowance).mean_loss(held)
        facts[f"{name} before"] = before
        facts[name] = [
            _learned(weights, trained, own, train, held, order=order, steps=steps)
            for order in range(ORDERS)
        ]
    return Answer(facts, {"input": first.slots[bytes_[0]].span, "loss": first.place})


def _range_of(inputs: Sequence[torch.Tensor]) -> dict[str, object]:
    measured = [one for one in inputs if one.is_floating_point() and one.numel()]
    if not measured:
        raise CannotAsk("no measured numbers meet a parameter")
    low = min(float(one.min()) for one in measured)
    high = max(float(one.max()) for one in measured)
    return {"low": low, "high": high, "bytes": False}


def _are_bytes(steps: Sequence[CapturedStep], slot: int) -> bool:
    """Tell whether a slot holds whole numbers from 0 to 255 as real ones, many in a row."""
    tensors = [step.slots[slot].tensor for step in steps]
    first = tensors[0]
    if not first.is_floating_point() or first.dim() < 2 or first[0].numel() < FEWEST_ELEMENTS:
        return False
    if any(bool((one < 0).any() or (one > WHITE).any()) for one in tensors):
        return False
    whole = all(bool((one == one.round()).all()) for one in tensors)
    return whole and max(float(one.max()) for one in tensors) >= BRIGHT


def _divided(step: CapturedStep, slots: Sequence[int], scale: float) -> Batch:
    return step, {n: step.slots[n].tensor / scale for n in slots}


def _learned(
    weights: Tensors,
    trained: frozenset[int],
    make: MakeOptimizer,
    train: Sequence[Batch],
    held: Sequence[Batch],
    *,
    order: int,
    steps: CapturedSteps,
) -> float:
    """Return the lowest loss on the held-out batches after an epoch."""
    trainee = Trainee(weights, trained, make, steps.allowance)
    generator = torch.Generator().manual_seed(order)
    lowest = math.inf
    for _ in range(EPOCHS):
        for place in torch.randperm(len(train), generator=generator).tolist():
            trainee.learn(*train[place])
        now = trainee.mean_loss(held)
        lowest = min(lowest, now) if math.isfinite(now) else lowest
    return lowest
