"""Does one row outweigh its batch? The gradient of a batch without the row that lies farthest from all others.

The control: the same batch without other rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.allowance import Allowance, CannotAsk
from torchwhy.replay.rehearsal.answer import Answer
from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Tensors
from torchwhy.replay.rehearsal.step_collection import CapturedSteps

SLUG = "rows-weigh-alike"
FEWEST_ROWS = 8  # of a batch
FEWEST_IN_ALL = 64
CONTROLS = 6  # other rows of the batch that are left out, one at a time
MOST_ELEMENTS = 2**22  # of a slot in all steps
MOST_COLUMNS = 256  # that are measured one by one; a larger row is measured as a whole
QUANTILES = (0.1, 0.5, 0.9)  # Distances from the median are measured in widths of the middle.
USUAL = 0.99  # of the rows are not farther away than this


@dataclass(frozen=True)
class Farthest:
    """The row of a slot that is farthest from the median, in widths of the middle of its column, and its value."""

    slot: int
    step: CapturedStep
    row: int
    distance: float
    usual: float
    value: float
    median: float


def ask(steps: CapturedSteps) -> Answer:
    """Return how long the gradient of a batch is with and without its farthest row, and without others."""
    group = steps.main
    alike = group.alike()
    size = _batch_size(alike[0])
    slots = [
        n
        for n, slot in enumerate(alike[0].slots)
        if slot.role in ("input", "target") and slot.tensor.shape[:1] == (size,)
    ]
    if size * len(alike) < FEWEST_IN_ALL:
        raise CannotAsk("the captured batches hold too few samples")
    found = [one for n in slots if (one := _farthest(alike, n)) is not None]
    if not found:
        raise CannotAsk("nothing in the batches is a measured number")
    far = max(found, key=lambda one: one.distance / max(one.usual, 1e-12))
    weights = far.step.weights or steps.initial_weights(group)
    batch = OneBatch(far.step, weights, steps.trainable(group), slots, steps.allowance)
    others = [n * size // (CONTROLS + 1) for n in range(CONTROLS + 1)]
    others = [n for n in others if n != far.row][:CONTROLS]
    facts = {
        "distance": far.distance,
        "usual": far.usual,
        "value": far.value,
        "median": far.median,
        "role": far.step.slots[far.slot].role,
        "rows": size,
        "gradient": batch.gradient({}),
        "without": batch.without(far.row, others[0]),
        "without others": [
            batch.without(row, (row + 1) % size) for row in others if (row + 1) % size != far.row
        ],
    }
    return Answer(facts, {"slot": far.step.slots[far.slot].span, "loss": far.step.place})


def _batch_size(step: CapturedStep) -> int:
    sizes = Counter(
        slot.tensor.shape[0]
        for slot in step.slots
        if slot.role in ("input", "target") and slot.tensor.dim()
    )
    if not sizes or sizes.most_common(1)[0][0] < FEWEST_ROWS:
        raise CannotAsk(f"no batch of {FEWEST_ROWS} rows or more was captured")
    return sizes.most_common(1)[0][0]


def _farthest(steps: Sequence[CapturedStep], slot: int) -> Farthest | None:
    """Return the farthest row of a slot; None if it holds no measured numbers."""
    tensors = [step.slots[slot].tensor for step in steps]
    if not tensors[0].is_floating_point() or tensors[0].numel() * len(tensors) > MOST_ELEMENTS:
        return None
    size = tensors[0].shape[0]
    rows = precise(torch.cat(tensors).reshape(size * len(tensors), -1))
    if not bool(rows.isfinite().all()) or not rows.shape[1]:
        return None
    columns = rows if rows.shape[1] <= MOST_COLUMNS else rows.reshape(-1, 1)
    ordered = columns.sort(dim=0).values
    last = len(ordered) - 1
    low, median, high = (ordered[round(last * q)] for q in QUANTILES)
    width = (high - low).reshape(1, -1)
    if not bool((width > 0).any()):
        return None
    away = ((rows - median.reshape(1, -1)) / width).abs()
    away = away.masked_fill(~(width > 0).expand_as(away), 0.0)
    distances, where = away.max(dim=1)
    place = int(distances.argmax())
    column = int(where[place])
    return Farthest(
        slot=slot,
        step=steps[place // size],
        row=place % size,
        distance=float(distances[place]),
        usual=float(distances.quantile(USUAL)),
        value=float(rows[place, column]),
        median=float(median.reshape(-1)[column if median.numel() > 1 else 0]),
    )


@dataclass(frozen=True)
class OneBatch:
    """A captured batch whose gradient is measured with other rows in it."""

    step: CapturedStep
    weights: Tensors
    trained: frozenset[int]
    slots: Sequence[int]
    allowance: Allowance

    def without(self, row: int, by: int) -> float:
        """Return the gradient's length if another row takes the place of one."""
        changed = {}
        for number in self.slots:
            tensor = self.step.slots[number].tensor.clone()
            tensor[row] = tensor[by]
            changed[number] = tensor
        return self.gradient(changed)

    def gradient(self, slots: Tensors) -> float:
        """Return the length of the gradient with some slots replaced."""
        self.allowance.spend(len(self.step.operations))
        copies = {
            n: w.detach().clone().requires_grad_(n in self.trained) for n, w in self.weights.items()
        }
        loss, _ = self.step.run(copies, slots=slots)
        asked = [copies[n] for n in self.trained if n in copies]
        found = torch.autograd.grad(loss, asked, allow_unused=True)
        return float(sum(precise(one).pow(2).sum() for one in found if one is not None) ** 0.5)
