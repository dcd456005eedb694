"""Follows a bad value back to the samples it was computed from: rows of a batch, or rows of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope import tensor_facts
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.samples.given_batches import GivenBatch, Leaf
from torchwhy.replay.samples.operands import REORDERING, DataOperand, rows_within
from torchwhy.replay.samples.reachable_arrays import name_of_whole, rows_at

MOST_FOLLOWED = 20_000  # operations searched for the samples behind one value


@dataclass(frozen=True)
class Samples:
    """Samples that a value was computed from, one per row of its first dimension.

    `indices` are their rows in the dataset, or in the tensor `of`. They are None if unknown.
    """

    size: int
    indices: tuple[int, ...] | None = None
    of: str | None = None
    batch: GivenBatch | None = None
    rows: tuple[int, ...] | None = None  # the rows of the batch, if not all of them in order
    is_turned: bool = False  # dimensions were swapped on the way

    @property
    def is_mixed(self) -> bool:
        """Tell whether these are samples of several batches, or in an order that is not known."""
        return not self.size

    def taking(self, chosen: tuple[int, ...]) -> Samples:
        """Return those of the given rows only."""
        if any(row >= self.size for row in chosen):
            return MIXED
        rows = self.rows if self.rows is not None else tuple(range(self.size))
        return replace(
            self,
            size=len(chosen),
            indices=self.indices and tuple(self.indices[row] for row in chosen),
            rows=tuple(rows[row] for row in chosen),
        )


MIXED = Samples(0)
# Operations whose operands are broadcast to the shape of the largest one.
BROADCASTING = {
    "add",
    "add_",
    "sub",
    "mul",
    "div",
    "masked_fill",
    "masked_fill_",
    "where",
    "baddbmm",
}
TURNING = {"transpose", "permute", "t", "movedim", "swapaxes", "unfold", "as_strided"}  # dimensions


class SampleRows:
    """Answers for one operation at a time, from what was noted of the operations of its step."""

    def __init__(self, is_buffer: Callable[[int], bool]) -> None:
        self._is_buffer = is_buffer  # tells whether a registered buffer begins at an address

    def of_operation(self, operation: Operation) -> Samples | None:
        """Return the samples behind an operation's result; None if no samples are known, `MIXED` if too many."""
        root = operation if operation.node is None else operation.forward
        if root is None:
            return None
        known: dict[int, Samples | None] = {}
        stack = [root]
        while stack and len(known) < MOST_FOLLOWED:
            one = stack[-1]
            needed = [source for source in _sources(one) if source.order not in known]
            if one.order in known or not needed:
                stack.pop()
                known.setdefault(one.order, self._result(one, known))
            else:
                stack += needed
        return _told(known.get(root.order))

    def of_operand(self, operation: Operation, tensor: torch.Tensor) -> Samples | None:
        """Return the samples that a tensor which an operation was given consists of."""
        address = tensor.data_ptr() if tensor.layout is torch.strided else 0
        for operand in operation.data_operands:
            if operand.address == address and operand.size == tensor.shape[0]:
                return _told(self._of_data(operand))
        return None

    def _result(self, operation: Operation, known: dict[int, Samples | None]) -> Samples | None:
        data = {operand.position: operand for operand in operation.data_operands}
        found = []
        for position, source in enumerate(operation.inputs):
            if _is_weight(operation, position) or _is_same_for_all(operation, position):
                continue
            before = known.get(source.order) if source is not None else None
            if position in data:
                before = self._of_data(data[position], before)
            if operation.chosen is not None:
                return _chosen(operation.chosen, data.get(position), before)
            if before is not None and position not in data and _turns(operation, position):
                before = replace(before, is_turned=not before.is_turned)
            found.append(before)
        samples = _agreed(found)
        return MIXED if samples is not None and _reorders(operation) else samples

    def _of_data(self, operand: DataOperand, before: Samples | None = None) -> Samples | None:
        """Return the samples in an operand without graph; `before` are those that its memory was made of."""
        if operand.given is not None:
            return _of_batch(operand, *operand.given)
        if before is not None and (before.is_mixed or before.size == operand.size):
            return before
        rows = rows_at(operand)
        if rows is not None and before is not None and before.indices is not None:
            return before.taking(rows.indices)  # made in this step, and then taken apart
        if rows is not None:
            return Samples(len(rows.indices), rows.indices, rows.name)
        if before is None and operand.dimensions > 1 and operand.size > 1:
            return None if self._is_buffer(operand.address) else Samples(operand.size)
        if before is None or before.size >= operand.size:
            return before
        # A part of the memory was written last, such as one row of a batch.
        whole = name_of_whole(operand.address, operand.size)
        if whole is None or whole != before.of:
            return None
        return Samples(operand.size, tuple(range(operand.size)), whole)


def _chosen(
    rows: tuple[int, ...], operand: DataOperand | None, before: Samples | None
) -> Samples | None:
    """Return the samples that an index takes of a tensor."""
    if before is not None and (before.is_mixed or before.batch or before.indices is not None):
        return before.taking(rows)
    name = name_of_whole(operand.address, operand.size) if operand is not None else None
    return Samples(len(rows), rows, name) if name is not None else None


def _told(samples: Samples | None) -> Samples | None:
    """Return samples with a known row or batch only: a tensor that is used as a whole is no batch."""
    if samples is None or samples.is_mixed or samples.batch is not None:
        return samples
    return samples if samples.indices is not None else None


def _sources(operation: Operation) -> list[Operation]:
    """Return the operations that made the operands, without those that wrote weights."""
    return [
        source
        for position, source in enumerate(operation.inputs)
        if source is not None and source is not operation and not _is_weight(operation, position)
    ]


def _is_weight(operation: Operation, position: int) -> bool:
    ids = operation.parameter_ids
    return position < len(ids) and ids[position] is not None


def _is_same_for_all(operation: Operation, position: int) -> bool:
    """Tell whether an operand is broadcast over the first dimension, as a mask that all samples share."""
    shapes = operation.input_shapes
    if operation.info.base not in BROADCASTING or position >= len(shapes) or not shapes[position]:
        return False
    own, dimensions = shapes[position], max(map(len, shapes))
    return len(own) < dimensions or own[0] < max(
        shape[0] for shape in shapes if len(shape) == dimensions
    )


def _of_batch(operand: DataOperand, batch: GivenBatch, leaf: Leaf) -> Samples:
    indices = batch.indices if batch.indices and len(batch.indices) == leaf.size else None
    whole = Samples(leaf.size, indices, batch=batch)
    operand = operand.unfolded(leaf.step)
    if leaf.step <= 0 or (operand.size == leaf.size and operand.step == leaf.step):
        return whole
    rows = rows_within(operand, leaf)
    if rows is not None:
        return whole.taking(rows)
    # All of it, with its dimensions in another order.
    return replace(whole, is_turned=True) if operand.end == leaf.end else MIXED


def _agreed(found: Iterable[Samples | None]) -> Samples | None:
    """Return the samples that all operands share; batches count before rows of other tensors."""
    known = [samples for samples in found if samples is not None]
    if not known:
        return None
    told = [samples for samples in known if samples.indices is not None]
    from_batches = [samples for samples in known if samples.batch is not None]
    if any(samples.is_mixed for samples in known):
        return MIXED
    if told and not from_batches and any(samples.size != told[0].size for samples in known):
        return MIXED
    known = from_batches or told or known[:1]
    if len({samples.batch.key for samples in from_batches if samples.batch}) == 1:
        # A tensor of the batch that has no row for each sample, such as the edges of a graph, tells nothing.
        known = [samples for samples in known if samples.indices is not None] or known
    first = known[0]
    same = all(
        other.size == first.size
        and other.indices == first.indices
        and (other.batch.key if other.batch else None) == (first.batch.key if first.batch else None)
        for other in known
    )
    turned = any(samples.is_turned for samples in known)
    return replace(first, is_turned=turned) if same else MIXED


def _turns(operation: Operation, position: int) -> bool:
    """Tell whether the first dimension of an operand is another one than that of the result it is a view of."""
    turned = False
    views = operation.through
    view = views[position] if position < len(views) else None
    while view is not None:
        turned ^= _moves_rows(view)
        view = view.through[0] if view.through else None
    return turned


def _moves_rows(view: Operation) -> bool:
    """Tell whether a view puts another dimension first."""
    base, scalars = view.info.base, dict(view.scalars)
    dimensions = len(view.input_shapes[0]) if view.input_shapes else 0
    if base == "permute" and isinstance(scalars.get("1"), (list, tuple)) and dimensions:
        return bool(scalars["1"][0] % dimensions)
    if base in ("transpose", "swapaxes") and dimensions:
        pair = {scalars.get("1", 0) % dimensions, scalars.get("2", 0) % dimensions}
        return len(pair) == 2 and 0 in pair
    return base in TURNING


def _reorders(operation: Operation) -> bool:
    """Tell whether row i of the result need not be sample i of the operands."""
    base = operation.info.base
    if base in ("index", "index_select"):
        return operation.chosen is None
    if base not in REORDERING:
        return False
    before = [shape[0] for shape in operation.input_shapes if shape]
    if base in ("cat", "stack", "repeat"):
        return not operation.shape or any(size != operation.shape[0] for size in before)
    if base in ("flip", "roll"):
        dimensions = dict(operation.scalars).get(str(REORDERING[base]))
        listed = dimensions if isinstance(dimensions, (list, tuple)) else [dimensions]
        return any(one in (0, None) for one in listed) or not listed
    if base in ("sort", "topk", "gather"):
        return bool(dict(operation.scalars).get(str(REORDERING[base]), -1) == 0)
    return True


def bad_samples(mask: torch.Tensor, samples: Samples) -> list[int]:
    """Return the rows, among the samples behind a value, that have a bad element."""
    if samples.is_turned and mask.dim() and mask.shape[0] != samples.size:
        return []
    return tensor_facts.bad_rows(mask, samples.size)
