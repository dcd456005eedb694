from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

LARGE_BYTES = 32_000_000  # what is smaller matters on no machine that trains
LARGE_SHARE = 0.4  # of all that the forward pass of the step made
BLOWN_UP = 8  # times its largest operand: made large by the operation itself, not by a large batch
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


class OversizedActivation(Detector):
    """A single intermediate result is many times larger than what it was made from, and dominates the step."""

    name = "oversized-activation"
    needs = frozenset({"operation"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        operations = [one for one in trace.of(GraphOperation) if not is_view(one)]
        first = min((one.step for one in operations), default=0)
        made = [one for one in operations if one.step == first]
        total = sum(map(size_of, made))
        large = [one for one in made if is_oversized(one, total)]
        if large:
            yield finding_about(
                min(large, key=lambda one: one.order), made, trace=trace, detector=self.name
            )


def is_view(operation: GraphOperation) -> bool:
    """Tell whether the operation only looks at its operand's memory in another way."""
    name = operation.op.split(".")[1] if operation.op.count(".") else operation.op
    return name.lstrip("_") in VIEWS


def size_of(operation: GraphOperation) -> int:
    """Return the bytes of an operation's output."""
    width = 1 if operation.dtype in ONE_BYTE else BYTES.get(operation.dtype, 4)
    return math.prod(operation.shape) * width


def is_oversized(operation: GraphOperation, total: int) -> bool:
    """Tell whether an output is large, blown up by the operation itself, and a large part of the whole."""
    size = size_of(operation)
    if size < LARGE_BYTES or operation.location is None or not operation.input_shapes:
        return False
    largest = max(map(math.prod, operation.input_shapes), default=0)
    blown_up = 0 < BLOWN_UP * largest <= math.prod(operation.shape)
    return blown_up and size >= LARGE_SHARE * total


def finding_about(
    operation: GraphOperation, made: list[GraphOperation], *, trace: Trace, detector: str
) -> Finding:
    """Return the note: which expression, how large, out of what."""
    size, total = size_of(operation), sum(map(size_of, made))
    expression = (
        short(operation.location.expression or operation.op) if operation.location else operation.op
    )
    alike = sum(1 for one in made if size_of(one) >= size)
    operands = " and ".join(str(shape) for shape in operation.input_shapes)
    return Finding(
        detector=detector,
        severity="note",
        message=f"`{expression}` makes a tensor of {size / MEGABYTE:.3g} MB out of operands of shape {operands}; "
        f"that is {size / total:.0%} of all that the forward pass of a step makes",
        step=operation.step,
        rank=trace.rank,
        location=operation.location,
        evidence=(
            Evidence(f"its shape is {operation.shape}, {operation.dtype}", value=float(size)),
            Evidence(f"{alike} results of the step are at least as large", value=float(alike)),
        ),
        fixes=(
            Fix(
                "compute it without the large intermediate (`torch.cdist`, a matrix product, `einsum`), "
                "or in pieces",
                safety="show-only",
            ),
        ),
    )
