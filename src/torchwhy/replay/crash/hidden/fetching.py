"""A batch could not be made: which samples of the dataset, and which of their fields, do not fit together?

In the program's own process, the frames of torch's fetcher hold the answer. A worker process sends only the text of its
traceback; then, in a program that is ending, the samples of that batch are fetched again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.torch_features.loader_parts import (
    collate_of,
    dataset_of,
    fetched_in,
    is_loader_iterator,
)
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts
from torchwhy.source.files import scope_of, span_in
from torchwhy.source.scopes import inside

MOST_SAMPLES = 256
MOST_FIELDS = 32


@dataclass(frozen=True, eq=False)
class RefetchedBatch:
    """The failing batch of a worker, made again in this process: its samples, or the exception raised here."""

    indices: list[int]
    samples: list[Any]
    failing: int | None = None
    error: BaseException | None = None


def look(frames: list[TracebackFrame], refetched: RefetchedBatch | None) -> HiddenFacts:
    """Return the facts `indices`, `index` (the guilty sample), `field`, `sizes`, and the place `getitem`."""
    hidden = HiddenFacts()
    iterator = iterator_in(frames)
    if iterator is None:
        return hidden
    _note_getitem(dataset_of(iterator), hidden)
    seen = refetched or _in_frames(frames)
    if seen.indices:
        hidden.facts["indices"] = seen.indices[:MOST_SAMPLES]
    if seen.failing is not None:
        hidden.facts["index"] = float(seen.failing)
    missing = [place for place, sample in enumerate(seen.samples) if sample is None]
    if missing and missing[0] < len(seen.indices):
        hidden.facts.update(index=float(seen.indices[missing[0]]), is_none=True)
    if seen.samples:
        _note_missing_key(seen, hidden)
        _note_unequal(seen.samples, seen.indices, hidden)
        _note_reversed(seen.samples, hidden)
    return hidden


def refetch(batches: BatchKeeper, frames: list[TracebackFrame]) -> RefetchedBatch | None:
    """Fetch and collate the batch that failed in a worker; only in a program that is ending."""
    iterator = iterator_in(frames)
    indices = batches.next_indices(iterator) if iterator is not None else []
    if iterator is None or not indices:
        return None
    dataset, collate = dataset_of(iterator), collate_of(iterator)
    samples: list[Any] = []
    for index in indices[:MOST_SAMPLES]:
        if dataset is None:
            return RefetchedBatch(indices, [])
        try:
            samples.append(dataset[index])
        except Exception as error:
            return RefetchedBatch(indices, [], index, error)
    try:
        if collate is not None:
            collate(samples)
    except Exception as error:
        return RefetchedBatch(indices, samples, error=error)
    return RefetchedBatch(indices, samples)


def iterator_in(frames: list[TracebackFrame]) -> Any:
    """Return the loader's iterator that was making a batch at the exception."""
    for frame in frames:
        owner = frame.variables.get("self")
        if is_loader_iterator(owner):
            return owner
    return None


def _in_frames(frames: list[TracebackFrame]) -> RefetchedBatch:
    """Return indices, finished samples and the index being fetched, from the frames of torch's fetcher."""
    indices: list[int] = []
    samples: list[Any] = []
    failing: int | None = None
    for frame, called in zip(frames, [*frames[1:], None], strict=True):
        fetched = fetched_in(frame.filename, frame.variables)
        if fetched is None:
            continue
        wanted, made, index = fetched
        if isinstance(wanted, (list, tuple)):
            indices = [index for index in wanted if isinstance(index, int)]
        elif isinstance(wanted, int):
            indices = [wanted]
        if isinstance(made, list):
            samples = made
        if index is None and called is not None:
            index = _index_given(called)
        if isinstance(index, int):
            failing = index
    return RefetchedBatch(indices, samples, None if samples else failing)


def _index_given(frame: TracebackFrame) -> Any:
    """Return the index that a dataset's `__getitem__` was called with; None if it may have changed since.

    Since Python 3.12 the fetcher's comprehension has no frame, and an exception takes its variable away.
    """
    code = frame.code
    if code.co_name != "__getitem__" or code.co_argcount != 2:
        return None
    name, scope = code.co_varnames[1], scope_of(code)
    if scope is None or any(_is_name_set(node, name) for node in ast.walk(scope)):
        return None
    return frame.variables.get(name)


def _is_name_set(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _note_getitem(dataset: Any, hidden: HiddenFacts) -> None:
    """Note where the user's dataset returns a sample."""
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    scope = scope_of(code) if code is not None else None
    if scope is None or code is None or "site-packages" in code.co_filename:
        return
    returns = [node for node in inside(scope) if type(node).__name__ == "Return"]
    if returns:
        hidden.places["getitem"] = span_in(code, returns[-1])


def _note_missing_key(seen: RefetchedBatch, hidden: HiddenFacts) -> None:
    """Name the first sample that lacks a key of the first one in the batch."""
    first = seen.samples[0]
    if not isinstance(first, Mapping):
        return
    for index, sample in zip(seen.indices, seen.samples, strict=False):
        missing = [key for key in first if isinstance(sample, Mapping) and key not in sample]
        if missing:
            hidden.facts.update(
                index=float(index), missing_key=repr(missing[0]), first_index=float(seen.indices[0])
            )
            return


def _note_unequal(samples: list[Any], indices: list[int], hidden: HiddenFacts) -> None:
    """Find the first field whose size is not the same in all samples."""
    fields: dict[str, list[list[int] | None]] = {}
    for number, sample in enumerate(samples[:MOST_SAMPLES]):
        for path, shape in sizes_in(sample):
            fields.setdefault(path, [None] * number).append(shape)
    for path, shapes in fields.items():
        known = [shape for shape in shapes if shape is not None]
        if len({tuple(shape) for shape in known}) < 2:
            continue
        first = known[0]
        other = next(
            number for number, shape in enumerate(shapes) if shape is not None and shape != first
        )
        # The path of a sample that is itself an array is empty.
        hidden.facts.update(field=path, first_size=first, other_size=list(shapes[other] or []))
        hidden.facts["different"] = float(len({tuple(shape) for shape in known}))
        if other < len(indices):
            hidden.facts.update(first_index=float(indices[0]), other_index=float(indices[other]))
        return


def sizes_in(sample: Any, path: str = "") -> Iterator[tuple[str, list[int]]]:
    """Yield the size of every field of a sample: shapes of tensors and arrays, lengths of lists of numbers."""
    if hasattr(sample, "shape") and not isinstance(sample, type):
        yield path, [int(size) for size in sample.shape]
    elif isinstance(sample, Mapping):
        for key, value in list(sample.items())[:MOST_FIELDS]:
            yield from sizes_in(value, f"{path}[{key!r}]")
    elif isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        if path and sample and all(isinstance(item, (int, float)) for item in sample[:8]):
            yield path, [len(sample)]
            return
        for position, value in enumerate(sample[:MOST_FIELDS]):
            yield from sizes_in(value, f"{path}[{position}]")


def _note_reversed(samples: list[Any], hidden: HiddenFacts) -> None:
    """Name the first field that is an array read backwards."""
    for path, array in _arrays_in(samples[0]):
        if any(stride < 0 for stride in array.strides):
            hidden.facts["reversed"] = path
            return


def _arrays_in(sample: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if type(sample).__module__ == "numpy" and hasattr(sample, "strides"):
        yield path, sample
    elif isinstance(sample, Mapping):
        for key, value in list(sample.items())[:MOST_FIELDS]:
            yield from _arrays_in(value, f"{path}[{key!r}]")
    elif isinstance(sample, (list, tuple)):
        for position, value in enumerate(sample[:MOST_FIELDS]):
            yield from _arrays_in(value, f"{path}[{position}]")
