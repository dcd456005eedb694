"""Padding in the inputs of a captured step, and the masks by which the program marks it: both by their content."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.capture.captured_program import CapturedOperation, CapturedStep
from torchwhy.replay.rehearsal.changed_runs import base_of

MOST_AXES = 3  # axes of an input with padding: samples, time, features
FAR_BELOW = -1e4  # what additive masks hold; float16 ends at -65504
SHORTEST = 3
PADDING_ARGUMENT = 2  # of an embedding


@dataclass(frozen=True)
class PaddedInput:
    """Slot `given`, in a shape of samples, time and features, has padding where `padding` (samples, time) is true."""

    given: int
    padding: torch.Tensor

    def changed(self, step: CapturedStep) -> torch.Tensor:
        """Return the input with elements of the sequences in place of the padding."""
        changed = self._by_position(step)
        real = changed[~self.padding]
        count = int(self.padding.sum())
        changed[self.padding] = real[torch.arange(count) % len(real)]
        return changed.reshape(step.slots[self.given].tensor.shape)

    def changed_sequences(self, step: CapturedStep) -> torch.Tensor:
        """Return the input with the elements of all sequences exchanged, and the padding as it was."""
        changed = self._by_position(step)
        changed[~self.padding] = changed[~self.padding].roll(1, 0)
        return changed.reshape(step.slots[self.given].tensor.shape)

    def _by_position(self, step: CapturedStep) -> torch.Tensor:
        copy = step.slots[self.given].tensor.clone()
        return copy.reshape(*self.padding.shape, -1)


@dataclass(frozen=True)
class Mask:
    """Slots that follow the padding, as one kind of operation uses them; `operation` is the first that does."""

    slots: tuple[int, ...]
    operation: CapturedOperation

    def softmaxes(self, step: CapturedStep) -> dict[int, torch.Tensor]:
        """Return the places of the softmaxes whose weights it multiplies, and where it hides them."""
        made = {n: place for place, one in enumerate(step.operations) for n in one.results if n}
        found = {}
        for operation in step.operations:
            slots = [ref.number for ref in operation.refs if ref.number in self.slots]
            if base_of(operation) != "mul" or not slots:
                continue
            for ref in operation.refs:
                place = made.get(ref.number) if ref.kind == "value" else None
                if place is not None and base_of(step.operations[place]) == "_softmax":
                    found[place] = step.slots[slots[0]].tensor == 0
        return found

    def turned(self, step: CapturedStep) -> dict[int, torch.Tensor]:
        """Return the masks the other way round."""
        return {number: turned(step.slots[number].tensor) for number in self.slots}


def padded_inputs(step: CapturedStep) -> Iterator[PaddedInput]:
    """Yield the inputs that have padding: an embedding's padding index, or ends of one value and unequal lengths."""
    indices = padding_indices(step)
    for number, slot in enumerate(step.slots):
        if slot.role not in ("input", "constant") or _is_on(slot.tensor) is not None:
            continue
        for tensor in _by_time(step, slot.tensor):
            padding = _padding(tensor, indices.get(number))
            if padding is not None:
                yield PaddedInput(number, padding)
                break


def _by_time(step: CapturedStep, tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield an input in shapes of samples, time and features; a linear layer gets all positions in one dimension."""
    if 2 <= tensor.dim() <= MOST_AXES and min(tensor.shape[:2]) > 1 and tensor.shape[1] >= SHORTEST:
        yield tensor
    if tensor.dim() != 2 or not tensor.is_floating_point():
        return
    masks = [one.tensor for one in step.slots if _is_on(one.tensor) is not None]
    sides = {(one.shape[0], size) for one in masks for size in one.shape[1:]}
    for rows, length in sorted(sides):
        if rows * length == tensor.shape[0] and rows > 1 and length >= SHORTEST:
            yield tensor.reshape(rows, length, -1)


def padding_indices(step: CapturedStep) -> dict[int, int]:
    """Return the padding index of each slot of indices that an embedding has one for."""
    found = {}
    for operation in step.operations:
        if base_of(operation) == "embedding" and len(operation.args) > PADDING_ARGUMENT:
            index = operation.args[PADDING_ARGUMENT]
            for ref in operation.refs:
                if ref.kind == "slot" and isinstance(index, int) and index >= 0:
                    found[ref.number] = index
    return found


def _padding(tensor: torch.Tensor, index: int | None) -> torch.Tensor | None:
    if tensor.dim() == MOST_AXES:
        if not tensor.is_floating_point():
            return None
        return row_ends((tensor == 0).all(-1))
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        return None
    if index is not None:
        padding = tensor == index
        some = padding.any() and not padding.all(1).any()
        return padding if bool(some) else None
    values = [int(one) for one in torch.unique(tensor[:, [0, -1]])]
    candidates = (row_ends(tensor == value) for value in values)
    return next((one for one in candidates if one is not None), None)


def row_ends(equal: torch.Tensor) -> torch.Tensor | None:
    """Return where rows end, or begin, in a value that they have nowhere else, if their lengths differ."""
    lengths = equal.sum(1)
    if int(lengths.max()) == int(lengths.min()) or int(lengths.max()) == equal.shape[1]:
        return None
    places = torch.arange(equal.shape[1])
    at_end = places[None, :] >= equal.shape[1] - lengths[:, None]
    at_start = places[None, :] < lengths[:, None]
    is_padding = torch.equal(equal, at_end) or torch.equal(equal, at_start)
    return equal if is_padding else None


def masks_of(step: CapturedStep, padded: PaddedInput) -> list[Mask]:
    """Return the masks that follow the padding, by the operation that uses them."""
    found: dict[tuple[str, bool], list[tuple[int, CapturedOperation]]] = {}
    for operation in step.operations:
        for ref in operation.refs:
            if ref.kind != "slot" or ref.number == padded.given:
                continue
            follows = _follows(step.slots[ref.number].tensor, padded.padding)
            if follows is not None:
                found.setdefault((base_of(operation), follows), []).append((ref.number, operation))
    return [
        Mask(tuple(dict.fromkeys(number for number, _ in uses)), uses[0][1])
        for uses in found.values()
    ]


def _follows(tensor: torch.Tensor, padding: torch.Tensor) -> bool | None:
    """Return whether a mask is on at the padding (true) or everywhere else (false); None if it is no such mask."""
    rows, length = padding.shape
    if tensor.dim() < 2 or tensor.numel() < padding.numel() or tensor.shape[0] % rows:
        return None
    marked = _is_on(tensor)
    if marked is None:
        return None
    parts = marked.reshape(rows, tensor.shape[0] // rows, *tensor.shape[1:])
    axes = [axis for axis, size in enumerate(parts.shape) if axis and size == length]
    if len(axes) != 1:
        return None
    by_position = parts.movedim(axes[0], 1).reshape(rows, length, -1)
    if not torch.equal(by_position.any(-1), by_position.all(-1)):
        return None
    pattern = by_position.any(-1)
    if torch.equal(pattern, padding):
        return True
    return False if torch.equal(pattern, ~padding) else None


def _is_on(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return where a mask is on: true, 1, or 0 if it is added; None for a tensor with other values."""
    if tensor.dtype == torch.bool:
        return tensor
    zero, one = tensor == 0, tensor == 1
    if bool((zero | one).all()):
        return one
    if tensor.is_floating_point() and bool((zero | (tensor <= FAR_BELOW)).all()):
        return zero
    return None


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """Return a mask the other way round."""
    if tensor.dtype == torch.bool:
        return ~tensor
    if bool((tensor <= FAR_BELOW).any()):
        return torch.where(tensor == 0, tensor.min(), torch.zeros_like(tensor))
    return 1 - tensor
