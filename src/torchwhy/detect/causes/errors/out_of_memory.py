from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
    sizes,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace

ON_CPU = r"can't allocate memory: you tried to allocate (?P<bytes>\d+) bytes"
ON_DEVICE = r"out of memory\. Tried to allocate (?P<amount>[\d.]+) (?P<unit>[KMGT]?i?B)"
OF_NUMPY = r"Unable to allocate (?P<amount>[\d.]+) (?P<unit>[KMGTP]?i?B) for an array with shape \((?P<shape>[\d, ]+)\)"
ANY = r"(?i)\bout of memory\b|can't allocate memory|unable to allocate .* for an array"
UNITS = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "PiB": 2**50,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
}
WIDTHS = {"64": 8, "32": 4, "16": 2, "8": 1, "bool": 1, "128": 16}


class OutOfMemory(Detector):
    """There was not enough memory for a tensor."""

    name = "out-of-memory"
    symptom = "memory"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, ANY) or crash.type in ("OutOfMemoryError", "MemoryError"):
                asked = asked_bytes(crash)
                shape = shape_of(crash, asked)
                found = finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, asked, shape),
                    evidence=[*_evidence(crash, asked, shape), *operand_evidence(crash)],
                    fixes=list(_fixes(crash, shape)),
                )
                # To try, and to do with less when memory runs out, is good practice: worth knowing, no fault.
                yield replace(found, severity="note") if found.severity == "warning" else found


def asked_bytes(crash: Crash) -> float | None:
    """Return how much memory was asked for, None where the message does not say."""
    found = says(crash, ON_CPU)
    if found is not None:
        return float(found["bytes"])
    found = says(crash, ON_DEVICE) or says(crash, OF_NUMPY)
    return float(found["amount"]) * UNITS.get(found["unit"], 1) if found is not None else None


def shape_of(crash: Crash, asked: float | None) -> list[int] | None:
    """Return the shape that needs just the bytes that were asked for, guessed from the operands."""
    tensors = list(crash.operands) + list(crash.inputs)
    array = says(crash, OF_NUMPY)
    if array is not None:
        return [int(size) for size in array["shape"].split(",") if size.strip()]
    if asked is None:
        return None
    for number, one in enumerate(tensors):
        for other in tensors[number:]:
            for shape in _results(one, other):
                if math.isclose(math.prod(shape) * _width(one), asked, rel_tol=0.001):
                    return shape
    return None


def _results(one: NamedTensor, other: NamedTensor) -> Iterator[list[int]]:
    """Yield the shapes that usual operations make of two tensors: broadcast, pairwise, product."""
    longest = max(len(one.shape), len(other.shape))
    left, right = ([1] * (longest - len(t.shape)) + t.shape for t in (one, other))
    if all(a == b or 1 in (a, b) for a, b in zip(left, right, strict=True)):
        yield [max(a, b) for a, b in zip(left, right, strict=True)]
    if len(one.shape) >= 2 and len(other.shape) >= 2:
        yield [*one.shape[:-1], other.shape[-2]]
        yield [*one.shape[:-1], other.shape[-1]]


def _width(tensor: NamedTensor) -> int:
    digits = re.search(r"\d+$|bool", tensor.dtype)
    return WIDTHS.get(digits[0], 4) if digits is not None else 4


def _message(crash: Crash, asked: float | None, shape: list[int] | None) -> str:
    amount = human(asked) if asked is not None else "more memory than there is"
    made = f", for a result of {sizes(shape)}" if shape is not None else ""
    return f"`{expression_of(crash)}` asked for {amount}{made}, and there is not so much memory"


def human(count: float) -> str:
    """Return a number of bytes as people say it: `5.8 TB`."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def _evidence(crash: Crash, asked: float | None, shape: list[int] | None) -> Iterator[Evidence]:
    if asked is not None:
        yield Evidence(f"{human(asked)} in one piece were asked for", value=asked, step=crash.step)
    if shape is not None:
        largest = max((math.prod(tensor.shape) for tensor in crash.operands), default=0)
        if largest and math.prod(shape) > 100 * largest:
            yield Evidence(
                f"the result has {math.prod(shape) / largest:.3g} times the elements of its largest operand"
            )
    free = says(crash, r"(?P<free>[\d.]+ \w+) is free")
    if free is not None:
        yield Evidence(f"{free['free']} were free on the device")


def _fixes(crash: Crash, shape: list[int] | None) -> Iterator[Fix]:
    lengths = [tensor.shape for tensor in crash.operands]
    if shape is not None and any(len(a) != len(b) for a in lengths for b in lengths):
        yield idea(
            "if no table of all pairs is wanted, give both operands the same shape: `.squeeze(1)` or `.view_as`"
        )
    elif shape is not None:
        yield idea(
            "compute it in pieces over a part of the rows, and reduce each piece before the next"
        )
    yield idea(
        "use smaller batches (with gradient accumulation the result is the same), or shorter sequences"
    )
