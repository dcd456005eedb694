"""Finds operations that may put several samples together: reshapes that swap dimensions, a softmax over samples."""

from __future__ import annotations

from collections.abc import Sequence

from torchwhy.observe.program.frames import span_of
from torchwhy.replay.microscope.operations import Operation

RESHAPES = {"view", "_unsafe_view", "reshape", "_reshape_alias"}
WRITTEN = ("view", "reshape", "unflatten")  # methods that the program calls for it
SOFTMAXES = {"_softmax", "_log_softmax"}
COMBINED = {"add"}


def may_mix_samples(operations: list[Operation], rows: int) -> bool:
    """Tell whether any operation may put together samples of a batch with `rows` of them."""
    folded: set[int] = set()
    return any(
        _may_mix(operation, rows) or _unfolds_otherwise(operation, rows, folded)
        for operation in operations
    )


def _unfolds_otherwise(operation: Operation, rows: int, folded: set[int]) -> bool:
    """Tell whether (samples, steps, …), folded into one dimension, is unfolded as (steps, samples, …)."""
    if operation.info.base not in RESHAPES or operation.node is not None:
        return False
    before, after = operation.input_shapes[0] if operation.input_shapes else [], operation.shape
    if len(before) > 2 and before[0] == rows != before[1] and after[:1] == [rows * before[1]]:
        folded.add(before[1])
    if len(after) < 3 or after[1] != rows or after[0] not in folded:
        return False
    site = operation.place()  # torch's own layers fold and unfold correctly
    return site is not None and any(word in (span_of(site).expression or "") for word in WRITTEN)


def _may_mix(operation: Operation, rows: int) -> bool:
    """Tell whether an operation reshapes with the first two sizes swapped, or is a softmax over samples."""
    if operation.node is not None or not operation.input_shapes or rows < 2:
        return False
    before, after = operation.input_shapes[0], operation.shape
    base = operation.info.base
    if base in RESHAPES and len(before) > 1 and len(after) > 1:
        comes = before[0] != rows and before[1] == rows and after[0] == rows
        goes = before[0] == rows and after[0] != rows and after[1] == rows
        return comes or goes
    if base in COMBINED:
        return _has_rows_of_its_own(operation, rows)
    if base in SOFTMAXES and len(after) > 1:
        axis = next((value for name, value in operation.scalars if name == "1"), None)
        return isinstance(axis, int) and is_first_of_size(after, axis % len(after), rows)
    return False


def _has_rows_of_its_own(operation: Operation, rows: int) -> bool:
    """Tell whether a model adds something without a gradient that has one row for each sample: (samples, 1, …)."""
    return operation.module is not None and any(
        not tracked and list(shape[:2]) == [rows, 1] and list(operation.shape[:1]) == [rows]
        for tracked, shape in zip(operation.tracked, operation.input_shapes, strict=False)
        if len(shape) == len(operation.shape) > 2 and operation.shape[1] > 1
    )


def is_first_of_size(shape: Sequence[int], axis: int, rows: int) -> bool:
    """Tell whether a dimension has the size of the batch, and none before it has; stacked results come first."""
    return shape[axis] == rows and rows not in shape[:axis]
