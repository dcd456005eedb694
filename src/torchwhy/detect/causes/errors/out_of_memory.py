from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torchwhy.detect.base import Detector
from torchwhy.detect.rules.message_kinds import OutOfMemory as MemoryMessage
from torchwhy.detect.views.crash.crash_evidence import sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace

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
MOST = 0.5  # A collection that holds more of the used memory than this is named first.
BLOWN_UP = 100  # A result this many times larger than its largest operand is worth reporting.


class NotEnoughMemory(Diagnosis):
    """An operation asked for more memory than is available."""

    expression: str
    asked_bytes: float | None
    result: Shape | None
    operands: list[Shape]
    free: str | None  # memory on the accelerator
    step: int
    allocated: float | None = (
        None  # bytes in use on the accelerator; the next ones are parts of them
    )
    weights: float = 0.0
    gradients: float = 0.0
    optimizer_states: float = 0.0
    variable: str | None = None  # the one of the program that holds most besides
    in_variable: float = 0.0
    tensors: int = 0
    message = "`{expression}` asked for {amount}{made}, which is not available"

    @property
    def amount(self) -> str:
        """Return the amount of memory in words."""
        return "memory" if self.asked_bytes is None else human(self.asked_bytes)

    @property
    def made(self) -> str:
        """Return a clause with the shape of the result."""
        return f", for a result of {sizes(self.result)}" if self.result is not None else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        smaller = "use smaller batches (gradient accumulation keeps the result the same), or shorter sequences"
        if self.allocated and self.tensors > 1 and self.in_variable > MOST * self.allocated:
            release = f"release what `{self.variable}` refers to if it is no longer needed, or move it to the CPU"
            return (release, smaller)
        if self.result is None:
            return (smaller,)
        if len({len(shape) for shape in self.operands}) > 1:
            return (
                "if you do not want all pairs, give both operands the same shape: `.squeeze(1)` or `.view_as`",
                smaller,
            )
        return (
            "compute it for a part of the rows at a time, and reduce each part before the next",
            smaller,
        )

    def evidence(self) -> Iterator[Evidence]:
        if self.asked_bytes is not None:
            yield Evidence(
                f"the operation asked for {self.amount} in one piece",
                value=self.asked_bytes,
                step=self.step,
            )
        largest = max((math.prod(shape) for shape in self.operands), default=0)
        elements = math.prod(self.result) if self.result is not None else 0
        if largest and elements > BLOWN_UP * largest:
            times = f"{elements / largest:.3g}"
            yield Evidence(f"the result has {times} times the elements of its largest operand")
        if self.free is not None:
            yield Evidence(f"{self.free} were free on the device")
        if self.allocated:
            yield Evidence(self.inventory, value=self.allocated)

    @property
    def inventory(self) -> str:
        """Return what the memory of the accelerator was used for, the largest part first."""
        assert self.allocated is not None, "asked only if the device told"
        named = {
            "weights": self.weights,
            "gradients": self.gradients,
            "the states of optimizers": self.optimizer_states,
        }
        if self.variable is not None:
            several = f", {self.tensors} tensors" if self.tensors > 1 else ""
            named[f"`{self.variable}`{several}"] = self.in_variable
        rest = self.allocated - sum(named.values())
        named["the graph and all else"] = max(0.0, rest)
        parts = sorted((size, name) for name, size in named.items() if size >= 1)
        shown = ", ".join(f"{human(size)} by {name}" for size, name in reversed(parts))
        return f"{human(self.allocated)} of the device were in use: {shown}"


class OutOfMemory(Detector):
    """There was not enough memory for a tensor."""

    name = "out-of-memory"
    symptom = "memory"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            match crash.said:
                case MemoryMessage() as said:
                    yield self._finding(crash, said)
                case _ if crash.event.type in ("OutOfMemoryError", "MemoryError"):
                    yield self._finding(crash, MemoryMessage())

    def _finding(self, crash: CrashView, said: MemoryMessage) -> Finding:
        asked = said.amount * UNITS.get(said.unit, 1) if said.amount is not None else None
        diagnosis = NotEnoughMemory(
            expression=crash.expression,
            asked_bytes=asked,
            result=said.shape or (result_of(crash.tensors, asked) if asked is not None else None),
            operands=[tensor.shape for tensor in crash.event.operands],
            free=said.free,
            step=crash.event.step,
            **_inventory(crash),
        )
        found = crash.finding(self.name, diagnosis, evidence=crash.operand_evidence)
        # Catching the error and using less memory is good practice: report a note, not a warning.
        return replace(found, severity="note") if found.severity == "warning" else found


def _inventory(crash: CrashView) -> dict[str, Any]:
    """Return what was found in the memory of the accelerator, nothing if it was not looked into."""
    if "device_allocated" not in crash.event.facts:
        return {}
    return {
        "allocated": crash.real("device_allocated"),
        "weights": crash.real("held_by_weights"),
        "gradients": crash.real("held_by_gradients"),
        "optimizer_states": crash.real("held_by_optimizers"),
        "variable": crash.fact("largest_variable"),
        "in_variable": crash.real("held_by_variable") if crash.fact("largest_variable") else 0.0,
        "tensors": crash.count("tensors_of_variable") or 0,
    }


def result_of(tensors: tuple[NamedTensor, ...], asked: float) -> Shape | None:
    """Return the shape that takes exactly the requested bytes, guessed from the operands; None if none does."""
    for number, one in enumerate(tensors):
        for other in tensors[number:]:
            for shape in _results(one, other):
                if math.isclose(math.prod(shape) * _width(one), asked, rel_tol=0.001):
                    return shape
    return None


def _results(one: NamedTensor, other: NamedTensor) -> Iterator[Shape]:
    """Yield the shapes that common operations make from two tensors: broadcast, pairwise, product."""
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


def human(count: float) -> str:
    """Return a number of bytes with a fitting unit: `5.8 TB`."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
