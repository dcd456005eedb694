"""Splits the samples of a small data set, or of one full batch, into batches to train on and others to judge by.

Batches that overlap, or are always the same, share samples. Here each sample is put on one side; batches keep their
size, so that samples recur within a side. That asks of a model that samples stand alone in it, which is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import CannotAsk
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep
from torchwhy.replay.rehearsal.changed_runs import ChangedRuns, Values
from torchwhy.replay.rehearsal.data_exchange import Batch, bytes_of_rows, rows_of

FEWEST_SAMPLES = 64
MOST_BATCHES = 16
HELD_OUT = 4  # every fourth sample
FEWEST_BATCHES = 3  # to train on, for each that is held out
ROUNDING = 1e-4  # of the largest element: sums in another order


@dataclass(frozen=True)
class SamplePool:
    """Samples, each once, of all captured steps; `size` is how many a batch holds."""

    like: CapturedStep
    rows: dict[int, torch.Tensor]
    targets: tuple[int, ...]
    size: int

    @property
    def count(self) -> int:
        """Return how many samples there are."""
        return len(next(iter(self.rows.values())))

    def batch(self, samples: torch.Tensor, labels: torch.Tensor | None = None) -> CapturedStep:
        """Return a step with these samples, and with the labels of others if they are given."""
        slots = list(self.like.slots)
        for number, rows in self.rows.items():
            chosen = labels if labels is not None and number in self.targets else samples
            shape = slots[number].tensor.shape
            slots[number] = replace(slots[number], tensor=rows[chosen].reshape(shape))
        return replace(self.like, slots=tuple(slots))

    def distinct(self) -> list[CapturedStep]:
        """Return batches in which every sample occurs once; what fills no batch is left out."""
        order = torch.arange(self.count - self.count % self.size)
        return [self.batch(part) for part in order.split(self.size)] if len(order) else []

    def split(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return the samples of the batches to train on, and of those to judge by."""
        order = torch.randperm(self.count, generator=torch.Generator().manual_seed(0))
        held, trained = order[::HELD_OUT], order[torch.arange(self.count) % HELD_OUT != 0]
        judged = _filled(held, self.size, -(-len(held) // self.size))
        wanted = max(FEWEST_BATCHES * len(judged), -(-len(trained) // self.size))
        return _filled(trained, self.size, wanted), judged

    def exchanged(self, batches: Sequence[torch.Tensor], generator: torch.Generator) -> list[Batch]:
        """Return batches in which each sample has the label of another one, the same wherever it occurs."""
        members = torch.cat(list(batches)).unique()
        label_of = torch.arange(self.count)
        label_of[members] = members[torch.randperm(len(members), generator=generator)]
        return [(self.batch(one, label_of[one]), {}) for one in batches]


def _filled(samples: torch.Tensor, size: int, count: int) -> list[torch.Tensor]:
    """Return batches that go through the samples again and again."""
    turns = -(-size * count // len(samples))
    return list(samples.repeat(turns)[: size * count].split(size))


def pool_of(
    steps: Sequence[CapturedStep], inputs: Sequence[int], targets: Sequence[int]
) -> SamplePool:
    """Return the samples of some steps; raises CannotAsk if there are few, or the data are not made of samples."""
    data = [*inputs, *targets]
    sizes = {rows_of(step.slots[n].tensor).shape[0] for step in steps for n in data}
    size = min(sizes)
    if any(one % size for one in sizes):
        raise CannotAsk("the data of the captured steps are not made of the same samples")
    parted = {n: [step.slots[n].tensor.reshape(size, -1) for step in steps] for n in data}
    known = _identities(parted, inputs)
    first = {sample: place for place, sample in reversed(list(enumerate(known)))}
    kept = torch.tensor(sorted(first.values())[: MOST_BATCHES * size])
    if len(kept) < FEWEST_SAMPLES:
        raise CannotAsk(f"the captured steps hold only {len(kept)} different samples")
    rows = {n: torch.cat(parts)[kept] for n, parts in parted.items()}
    return SamplePool(steps[0], rows, tuple(targets), size)


def _identities(
    parted: dict[int, list[torch.Tensor]], inputs: Sequence[int]
) -> list[tuple[bytes, ...]]:
    """Return what tells samples apart: the inputs that recur, if any do; others, as dropout's, are drawn anew."""
    columns = {n: [row for part in parted[n] for row in bytes_of_rows(part)] for n in inputs}
    recurring = [n for n, rows in columns.items() if len(set(rows)) < len(rows)]
    for chosen in (recurring, list(inputs)):
        known = list(zip(*(columns[n] for n in chosen), strict=True))
        if len(set(known)) >= FEWEST_SAMPLES:
            return known
    return known


def check_stands_alone(runs: ChangedRuns, pool: SamplePool) -> None:
    """Raise CannotAsk unless the values of a sample stay the same with other samples beside it in its batch."""
    if runs.step.shapes != pool.like.shapes:
        raise CannotAsk("the first captured step has another shape than most")
    order = torch.randperm(pool.size, generator=torch.Generator().manual_seed(1))
    half = pool.size // 2
    chosen = torch.cat([order[:half], order[:half], order[2 * half :]])
    own = {n: runs.step.slots[n].tensor for n in pool.rows}
    changed = {n: one.reshape(pool.size, -1)[chosen].reshape(one.shape) for n, one in own.items()}
    if _agreeing(runs.before, runs.values(changed), chosen) == 0:
        raise CannotAsk("no value of the captured step belongs to single samples")


def _agreeing(before: Values, after: Values, chosen: torch.Tensor) -> int:
    count = 0
    for number, was in before.items():
        now = after[number]
        if was.dim() == 0 or len(was) != len(chosen) or not was.numel() or torch.equal(was, now):
            continue
        expected, given = precise(was[chosen]), precise(now)
        size = float(expected.abs().nan_to_num(0.0, posinf=0.0).max())
        if float((given - expected).abs().nan_to_num(0.0).max()) > ROUNDING * size:
            raise CannotAsk("the samples of a batch do not stand alone")
        count += 1
    return count
