"""Finds where a tensor came from: the operation that made it, a batch, or the assignment that names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.torch_features.loader_parts import dataset_of
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.replay.crash.autopsy.descriptions import is_array, is_tensor
from torchwhy.replay.crash.frames.construction import class_assignments
from torchwhy.replay.crash.frames.failed_operands import FoundOperand
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.source.analyses.constructors import Written, named_in_functions
from torchwhy.source.bindings import values_given
from torchwhy.source.files import loaded
from torchwhy.source.scopes import function_at

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

DEEPEST = 3  # datasets wrapped in datasets (Subset, ConcatDataset) that are unwrapped


def producer_of(case: Case, found: FoundOperand) -> tuple[str | None, SourceSpan | None]:
    """Return what made a tensor of the failing expression, in a word, and where."""
    if isinstance(found.value, torch.Tensor):
        operation = case.microscope.operation_of(found.value)
        site = operation.place() if operation is not None else None
        if site is not None:
            return "operation", span_of(site)
        known = case.context.origin_of(found.value)
        if known.kind == "batch":
            return "batch", known.location
        if known.kind in ("parameter", "buffer"):
            return known.kind, None
    written = _assigned(case, found)
    if written is not None:
        return "assignment", written.span
    if isinstance(found.value, torch.Tensor) and known.kind != "unknown":
        return known.kind, known.location
    return None, None


def _assigned(case: Case, found: FoundOperand) -> Written | None:
    """Return the assignment of the variable in the failing frame, or in the frame that passed it."""
    if case.frame is None:
        return None
    name = found.name
    for frame in _outwards(case.frames, case.frame):
        name = _name_in(frame, found.value, name)
        written = last_assignment(frame, name) if name else None
        if written is not None:
            return written
    return None


def _outwards(frames: list[TracebackFrame], start: TracebackFrame) -> list[TracebackFrame]:
    return [frame for frame in reversed(frames[: frames.index(start) + 1]) if frame.layer == "user"]


def _name_in(frame: TracebackFrame, value: Any, name: str) -> str:
    """Return the name that a frame has for a value."""
    if frame.variables.get(name) is value:
        return name
    return next((key for key, held in frame.variables.items() if held is value), "")


def last_assignment(frame: TracebackFrame, name: str) -> Written | None:
    """Return the last assignment of a name above the line where a frame is."""
    source = loaded(frame.filename)
    if source is None:
        return None
    line = span_of(frame.site).line
    scope = function_at(source.tree, line)
    found = [node for node in values_given(scope, name) if node.lineno < line]
    return Written(source, found[-1], scope) if found else None


def dataset_source(case: Case, tensor: torch.Tensor) -> tuple[str, SourceSpan | None] | None:
    """Return the tensor or array of the dataset that determines a batch's dtype: its name, and where it was made."""
    for outermost in _datasets(case):
        dataset = outermost
        for _ in range(DEEPEST):
            found = _field_like(dataset, tensor)
            if found is not None:
                return found[0], _place_of_field(case, dataset, *found)
            dataset = getattr(dataset, "__dict__", {}).get("dataset")
    return None


def _datasets(case: Case) -> Iterator[Any]:
    """Yield the datasets that the last batches may come from."""
    for batch in reversed(case.batches.recent):
        iterator = batch.iterator()
        if iterator is not None:
            yield dataset_of(iterator)
    origin = case.batches.origin
    if origin is not None and origin.dataset is not None:
        yield origin.dataset()


def _field_like(dataset: Any, tensor: torch.Tensor) -> tuple[str, Any] | None:
    """Return the field of a dataset whose rows look like those of the tensor."""
    for name, value in list(getattr(dataset, "__dict__", {}).items()):
        values = list(value) if type(value) in (tuple, list) and len(value) <= 8 else [value]
        for position, item in enumerate(values):
            if is_tensor(item) and _same_rows(item, tensor):
                return (name if values[0] is value else f"{name}[{position}]"), item
    return None


def _same_rows(field: Any, tensor: torch.Tensor) -> bool:
    dtype = str(field.dtype).removeprefix("torch.")
    return dtype == str(tensor.dtype).removeprefix("torch.") and list(field.shape[1:]) == list(
        tensor.shape[1:]
    )


def _place_of_field(case: Case, dataset: Any, name: str, value: Any) -> SourceSpan | None:
    """Return where the field was made: the variable of the program that holds it, or the dataset class's own line."""
    for frame in reversed(case.frames):
        if frame.layer != "user":
            continue
        for variables in (frame.variables, frame.globals):
            for key, held in list(variables.items()):
                if _same_memory(held, value):
                    source = loaded(frame.filename)
                    written = named_in_functions(source, key) if source is not None else None
                    if written is not None:
                        return written.span
    found = class_assignments(type(dataset), name.partition("[")[0])
    return found[-1].span if found else None


def _same_memory(held: Any, value: Any) -> bool:
    if held is value:
        return True
    if isinstance(held, torch.Tensor) and isinstance(value, torch.Tensor):
        return storage_key(held) is not None and storage_key(held) == storage_key(value)
    if is_array(held) and isinstance(value, torch.Tensor) and value.device.type == "cpu":
        return bool(held.__array_interface__["data"][0] == value.data_ptr())
    return False
