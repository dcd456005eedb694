"""Targets that are an input shifted by one along time: the model is trained to predict the next element.

Or that are the input itself: the model is trained to say what it gets at the same position.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch

from torchwhy.observe.torch_features.tensor_parts import precise
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.capture.captured_program import CapturedOperation, CapturedStep

SHORTEST = 4  # a sequence
FEWEST = 8  # elements that must agree: fewer agree by chance
VARIED = 0.2  # share of elements that differ from the one before; constant sequences are equal to any shift of them
MOST_AXES = 4


@dataclass(frozen=True)
class ShiftedTarget:
    """Slot `target`, in the shape of `positions`, holds the next element of slot `given` along `axis` of `shape`.

    With `by` 0 it holds the element itself.

    A linear layer gets its input with all positions in one dimension, so `shape` may not be that of the slot.
    `meets` is the operation that compares the target with the value `output`, `counts` which positions have a loss.
    """

    given: int
    target: int
    axis: int
    shape: tuple[int, ...]
    positions: tuple[int, ...]
    counts: torch.Tensor
    output: int
    meets: CapturedOperation
    by: int = 1

    @property
    def length(self) -> int:
        """Return the number of elements along time."""
        return self.shape[self.axis]


def shifted_targets(step: CapturedStep, *, by: int = 1) -> Iterator[ShiftedTarget]:
    """Yield the targets of a step that are an input shifted by one, or with 0 the input itself."""
    compared = set(step.outputs)
    for operation in step.operations:
        slots = [ref.number for ref in operation.refs if ref.kind == "slot"]
        values = [ref.number for ref in operation.refs if ref.number in compared]
        if not slots or not values:
            continue
        for given in _inputs(step, apart_from=slots):
            # An input as it is agrees along every axis.
            for axis, shape, positions, counts in islice(
                _matches(step, given, slots[0], by), 1 if by else MOST_AXES
            ):
                yield ShiftedTarget(
                    given, slots[0], axis, shape, positions, counts, values[0], operation, by
                )


def _inputs(step: CapturedStep, *, apart_from: list[int]) -> Iterator[int]:
    """Yield the slots that may hold a sequence which goes into the model."""
    for number, slot in enumerate(step.slots):
        if number not in apart_from and slot.role in ("input", "constant"):
            yield number


Found = tuple[int, tuple[int, ...], tuple[int, ...], torch.Tensor]


def _matches(step: CapturedStep, given: int, target: int, by: int) -> Iterator[Found]:
    x, y = as_indices(step.slots[given].tensor), step.slots[target].tensor
    if x.is_floating_point() != y.is_floating_point() or x.dtype == torch.bool:
        return
    for shape in _shapes(x, y):
        for axis, length in enumerate(shape[:MOST_AXES]):
            if length < SHORTEST:
                continue
            for kept in (length, length - 1)[: by + 1]:
                positions = (*shape[:axis], kept, *shape[axis + 1 :])
                if y.numel() != positions_in(positions):
                    continue
                counts = _agreement(x.reshape(shape), y.reshape(positions), axis, by)
                if counts is not None:
                    yield axis, shape, positions, counts


def _shapes(x: torch.Tensor, y: torch.Tensor) -> Iterator[tuple[int, ...]]:
    """Yield the shapes that an input may have had: its own, that of the target, or one element longer."""
    yield tuple(x.shape)
    own = tuple(y.shape)
    longer = [(*own[:a], size + 1, *own[a + 1 :]) for a, size in enumerate(own[:MOST_AXES])]
    for shape in (own, *longer):
        if positions_in(shape) == x.numel() and shape != tuple(x.shape):
            yield shape


def _agreement(x: torch.Tensor, y: torch.Tensor, axis: int, by: int) -> torch.Tensor | None:
    """Return the positions with a loss if each of them has the next element, or its own, as target."""
    length = x.shape[axis]
    following, same = x.narrow(axis, 1, length - 1), x.narrow(axis, 0, length - 1)
    wanted = y.narrow(axis, 0, length - 1)
    counts = wanted >= 0 if not y.is_floating_point() else torch.ones_like(wanted, dtype=torch.bool)
    expected = following if by else same
    if int(counts.sum()) < FEWEST or not bool((wanted == expected)[counts].all()):
        return None
    varies = precise((following != same)[counts]).mean()
    return counts if float(varies) >= VARIED else None


def as_indices(tensor: torch.Tensor) -> torch.Tensor:
    """Return the indices that a one-hot tensor encodes, any other tensor as it is."""
    if not tensor.is_floating_point() or tensor.dim() < 2 or tensor.shape[-1] < 2:
        return tensor
    is_binary = bool(((tensor == 0) | (tensor == 1)).all())
    return tensor.argmax(-1) if is_binary and bool((tensor.sum(-1) == 1).all()) else tensor


def positions_in(shape: tuple[int, ...]) -> int:
    """Return the number of positions of a shape."""
    return int(torch.Size(shape).numel())


def at_positions(shift: ShiftedTarget, step: CapturedStep, by: torch.Tensor) -> torch.Tensor | None:
    """Return how much the output moved at each position, given how much each of its elements did."""
    shape = tuple(step.slots[shift.target].tensor.shape)
    named = str(getattr(shift.meets.function, "__name__", ""))
    if tuple(by.shape) == shape:
        reduced = by
    elif named.startswith("nll_loss") and by.dim() == len(shape) + 1:
        reduced = by.amax(1 if by.dim() > 1 else 0)
    elif tuple(by.shape[:-1]) == shape:
        reduced = by.amax(-1)
    elif shape and shape[-1] == 1 and tuple(by.shape[:-1]) == shape[:-1]:
        reduced = by.amax(-1, keepdim=True)
    else:
        return None
    fits = reduced.numel() == positions_in(shift.positions)
    return reduced.reshape(shift.positions) if fits else None
