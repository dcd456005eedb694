"""The batches of a question about labels: some to train on, others to judge by, and the same with exchanged labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Slot
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns
from torchwhy.replay.rehearsal.data_exchange import (
    Batch,
    as_they_are,
    rows_of,
    shuffled,
    without_repeats,
)
from torchwhy.replay.rehearsal.sample_pool import (
    MOST_BATCHES,
    SamplePool,
    check_stands_alone,
    pool_of,
)
from torchwhy.replay.rehearsal.step_collection import CapturedSteps, StepGroup

FEWEST_BATCHES = 4
ENOUGH_BATCHES = 6  # With fewer, labels that do not help may be hard to learn from.
FEWEST_HELD_OUT_ROWS = 16
FOLD = 4  # Every fourth batch is held out.


@dataclass(frozen=True)
class LabelledBatches:
    """Batches to train on (`train`) and to judge by (`held`); `exchanged` gives those of training with other labels.

    `mixed` holds both, every fourth to judge by; `apart` holds no sample twice; `is_enough` allows a no.
    """

    train: Sequence[Batch]
    held: Sequence[Batch]
    mixed: Sequence[CapturedStep]
    apart: Sequence[CapturedStep]
    exchanged: Callable[[torch.Generator], list[Batch]]
    is_enough: bool


def slots_of(step: CapturedStep) -> tuple[list[int], list[int]]:
    """Return the slots of inputs and of targets: those that differ between steps, or the rows of a full batch."""
    inputs, targets = _filled(step, "input"), _filled(step, "target")
    if targets and inputs:
        return inputs, targets
    if targets:
        raise CannotAsk("nothing that differs between steps goes into the model")
    fixed = [n for n, slot in enumerate(step.slots) if slot.role == "constant" and _rows(slot) > 1]
    targets = [n for n in fixed if step.slots[n].use == "target"]
    sizes = {_rows(step.slots[n]) for n in targets}
    alike = [n for n in fixed if step.slots[n].use == "input" and _rows(step.slots[n]) in sizes]
    if not alike or len(sizes) > 1:
        raise CannotAsk("nothing that differs between steps is compared with the model's output")
    return [*inputs, *alike], targets


def _filled(step: CapturedStep, role: str) -> list[int]:
    """Return the slots of one role with something to exchange."""
    return [n for n, slot in enumerate(step.slots) if slot.role == role and slot.tensor.numel()]


def _rows(slot: Slot) -> int:
    return rows_of(slot.tensor).shape[0]


def labelled_batches(
    steps: CapturedSteps, group: StepGroup, inputs: list[int], targets: list[int]
) -> LabelledBatches:
    """Return batches of samples of which none is on both sides; raises CannotAsk if there are too few."""
    alike = group.alike()
    whole = without_repeats(alike, inputs)[:MOST_BATCHES]
    refused = CannotAsk(f"the samples of the captured steps fill only {len(whole)} batches")
    if len(whole) < ENOUGH_BATCHES:
        try:
            pool = pool_of(alike, inputs, targets)
            check_stands_alone(ChangedRuns(steps, group), pool)
            return _of_samples(pool)
        except CannotAsk as reason:
            refused = reason
    if len(whole) < FEWEST_BATCHES:
        raise refused
    return _of_batches(whole, targets)


def _of_batches(whole: list[CapturedStep], targets: list[int]) -> LabelledBatches:
    held, train = whole[::FOLD], [step for place, step in enumerate(whole) if place % FOLD]
    if len(held) * max(_rows(held[0].slots[n]) for n in targets) < FEWEST_HELD_OUT_ROWS:
        raise CannotAsk("the captured batches hold too few samples")
    return LabelledBatches(
        as_they_are(train),
        as_they_are(held),
        mixed=whole,
        apart=whole,
        exchanged=lambda generator: shuffled(train, targets, generator),
        is_enough=len(whole) >= ENOUGH_BATCHES,
    )


def _of_samples(pool: SamplePool) -> LabelledBatches:
    numbers, judged = pool.split()
    train, held = [pool.batch(one) for one in numbers], [pool.batch(one) for one in judged]
    mixed = []
    for place, one in enumerate(held):
        mixed += [one, *train[place * (FOLD - 1) : (place + 1) * (FOLD - 1)]]
    return LabelledBatches(
        as_they_are(train),
        as_they_are(held),
        mixed=mixed,
        apart=pool.distinct(),
        exchanged=lambda generator: pool.exchanged(numbers, generator),
        # Of 37 healthy programs with few rows and a faint or fast relation, at least 3 would have got a no.
        is_enough=pool.count >= ENOUGH_BATCHES * pool.size,
    )
