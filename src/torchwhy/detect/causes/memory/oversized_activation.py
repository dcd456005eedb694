from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

LARGE_BYTES = 32_000_000  # A smaller tensor matters on no machine used for training.
LARGE_SHARE = 0.4  # Share of the memory of all results of the forward pass.
BLOWN_UP = 8  # Result over its largest operand; a large batch makes the operands large as well.
BYTES = {
    "float64": 8,
    "int64": 8,
    "complex64": 8,
    "complex128": 16,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
}
ONE_BYTE = {"bool", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"}
MEGABYTE = 1_000_000
VIEWS = {
    "expand",
    "view",
    "t",
    "transpose",
    "permute",
    "unsqueeze",
    "squeeze",
    "slice",
    "select",
    "detach",
    "alias",
}


class OneLargeResult(Diagnosis):
    """One operation makes a tensor many times larger than its operands, which takes most of the memory of a step."""

    expression: str
    size_bytes: int
    share: float  # Share of the memory of all results of the forward pass.
    shape: Shape
    dtype: str
    operands: list[Shape]
    as_large: int  # The number of results of the step that are at least as large.
    message = (
        "`{expression}` makes a tensor of {megabytes:.3g} MB from operands of shape {shapes}; "
        "that is {share:.0%} of the memory that the forward pass of a step allocates"
    )
    advice = "compute it without the large intermediate (`torch.cdist`, a matrix product, `einsum`), or in chunks"

    @property
    def megabytes(self) -> float:
        """Return the size of the result."""
        return self.size_bytes / MEGABYTE

    @property
    def shapes(self) -> str:
        """Return the shapes of the operands."""
        return " and ".join(map(str, self.operands))

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"its shape is {self.shape}, {self.dtype}", value=float(self.size_bytes))
        yield Evidence(
            f"{self.as_large} results of the step are at least as large", value=float(self.as_large)
        )


class OversizedActivation(Detector):
    """A single intermediate result is many times larger than its operands and dominates the memory of the step."""

    name = "oversized-activation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        operations = [one for one in trace.of(GraphOperation) if not is_view(one)]
        first = min((one.step for one in operations), default=0)
        made = [one for one in operations if one.step == first]
        total = sum(map(size_of, made))
        large = [one for one in made if is_oversized(one, total)]
        if large:
            first_made = min(large, key=lambda one: one.order)
            yield self.found(
                trace,
                diagnosed(first_made, made, total),
                severity="note",
                step=first_made.step,
                location=first_made.location,
            )


def is_view(operation: GraphOperation) -> bool:
    """Tell whether the result shares the memory of its operand."""
    name = operation.op.split(".")[1] if operation.op.count(".") else operation.op
    return name.lstrip("_") in VIEWS


def size_of(operation: GraphOperation) -> int:
    """Return the bytes of an operation's output."""
    width = 1 if operation.dtype in ONE_BYTE else BYTES.get(operation.dtype, 4)
    return math.prod(operation.shape) * width


def is_oversized(operation: GraphOperation, total: int) -> bool:
    """Tell whether an output is large, far larger than its operands, and a large part of the whole."""
    size = size_of(operation)
    if size < LARGE_BYTES or operation.location is None or not operation.input_shapes:
        return False
    largest = max(map(math.prod, operation.input_shapes), default=0)
    blown_up = 0 < BLOWN_UP * largest <= math.prod(operation.shape)
    return blown_up and size >= LARGE_SHARE * total


def diagnosed(operation: GraphOperation, made: list[GraphOperation], total: int) -> OneLargeResult:
    """Return the diagnosis of an oversized result."""
    size, place = size_of(operation), operation.location
    return OneLargeResult(
        expression=short((place.expression if place is not None else None) or operation.op),
        size_bytes=size,
        share=size / total,
        shape=operation.shape,
        dtype=operation.dtype,
        operands=operation.input_shapes,
        as_large=sum(1 for one in made if size_of(one) >= size),
    )
