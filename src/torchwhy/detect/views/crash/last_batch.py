"""Errors that come from the last, smaller batch of an epoch."""

from __future__ import annotations

import re

from torchwhy.detect.rules.torch_messages import numbers_in, speaks_of_sizes
from torchwhy.detect.views.crash.batch_parts import rows_of
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Crash, NamedTensor

TYPES = (
    "RuntimeError",
    "ValueError",
    "AssertionError",
    "IndexError",
)  # Types of errors about sizes.


@dataclass(frozen=True)
class LastBatch:
    """The usual batch size, the number of samples left for the last batch, and the number of all samples."""

    usual: int
    rest: int
    samples: int
    from_loader: bool


def last_batch(crash: Crash) -> LastBatch | None:
    """Return the sizes if the last batch failed because it is smaller, else None."""
    batch = _of_loader(crash) or _sliced(crash)
    if batch is None or not _is_about(crash, batch):
        return None
    return batch


def _of_loader(crash: Crash) -> LastBatch | None:
    """Return the sizes if the current batch is what the loader's batch size leaves of its dataset."""
    loader = crash.loader
    if loader is None or not loader.last_batch or "indices" in crash.facts:
        return None
    rest = rows_of(loader.last_batch)
    usual = loader.batch_size or rows_of(loader.usual_batch)
    if usual is None or rest is None or not 0 < rest < usual:
        return None
    if loader.dataset_length is not None and loader.dataset_length % usual != rest:
        return None
    samples = loader.dataset_length or usual * (loader.batches_drawn - 1) + rest
    return LastBatch(usual, rest, samples, from_loader=True)


def _sliced(crash: Crash) -> LastBatch | None:
    """Return the sizes if the program slices its batches from a tensor itself and the last slice is smaller."""
    if crash.step < 1 or not crash.frames:
        return None
    rests = {tensor.shape[0] for tensor in (*crash.operands, *crash.inputs) if tensor.shape}
    sizes = {
        int(value) for frame in crash.frames for value in frame.numbers.values() if _is_count(value)
    }
    written = _numbers_written(crash)
    for frame in crash.frames:
        for tensor in frame.tensors:
            samples = tensor.shape[0] if tensor.shape else 0
            for usual in sorted(sizes | written, reverse=True):
                if not 1 < usual < samples or samples % usual not in rests - {0}:
                    continue
                is_named = usual in sizes and usual in rests
                # A number written in the failing line is a batch size only if an epoch ends at this step.
                full = samples // usual
                if is_named or (usual in written and _ends_a_pass(crash, full)):
                    return LastBatch(usual, samples % usual, samples, from_loader=False)
    return None


def _ends_a_pass(crash: Crash, full: int) -> bool:
    """Tell whether `full` batches of the epoch came before; a caught crash makes no step of its own."""
    return crash.step % full == 0 if crash.caught else crash.step % (full + 1) == full


def _numbers_written(crash: Crash) -> set[int]:
    """Return the numbers written in the failing expression."""
    text = (crash.location.expression or "") if crash.location else ""
    return {int(number) for number in re.findall(r"\b\d{1,6}\b", text)}


def _is_count(value: object) -> bool:
    return isinstance(value, float) and value == int(value) and 1 < value < 1e6


def _is_about(crash: Crash, batch: LastBatch) -> bool:
    """Tell whether the error concerns both sizes: in its message, its tensors, or its expression."""
    text = crash.message + " " + ((crash.location.expression or "") if crash.location else "")
    numbers = numbers_in(text)
    numbers |= {size for tensor in (*crash.operands, *crash.inputs) for size in tensor.shape}
    has_rest = batch.rest in numbers or any(
        batch.rest > 1 and number and number % batch.rest == 0 and number % batch.usual != 0
        for number in numbers
    )
    has_usual = batch.usual in numbers or any(
        number and number % batch.usual == 0 and number % batch.rest != 0 for number in numbers
    )
    return has_usual and has_rest and crash.type in TYPES and speaks_of_sizes(crash.message)


def tensor_of_fixed_size(crash: Crash, batch: LastBatch) -> NamedTensor | None:
    """Return the tensor in the failing expression that was made for the usual batch size."""
    for tensor in crash.operands:
        if batch.usual in tensor.shape and tensor.origin != "batch":
            return tensor
    return None


def place_of_fixed_size(crash: Crash, batch: LastBatch) -> SourceSpan | None:
    """Return the expression that made that tensor, if it contains the usual batch size as a number or a name."""
    fixed = tensor_of_fixed_size(crash, batch)
    made = fixed.made_by if fixed is not None else None
    if made is None or not made.expression:
        return None
    named = {
        name
        for frame in crash.frames
        for name, value in frame.numbers.items()
        if value == float(batch.usual)
    }
    words = set(re.findall(r"[A-Za-z_]\w*|\d+", made.expression))
    return made if words & {str(batch.usual), *named} else None
