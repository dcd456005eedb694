"""One intermediate result that takes most of the memory of a step."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.judging import short
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
    """A single intermediate result is many times larger than what it was made from, and dominates the step.

    ## What it finds

    An operation of the first step whose output is large, is at least eight times as large as its largest operand
    and is a large share of everything the forward pass made: mostly a broadcast of all against all.

    ## Why it breaks training

    Autograd keeps the result until the backward pass, often with several others of the same size beside it.
    It grows with the product of two sizes, so a batch twice as large needs four times the memory. It is only
    noted: the program is right, it may just not fit tomorrow.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(16, 32)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(3):
        points = net(torch.randn(600, 16))
        difference = points[:, None] - points[None, :]  # <- oversized-activation
        loss = difference.mean() ** 2 + points.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(16, 32)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(3):
        points = net(torch.randn(600, 16))
        distance = torch.cdist(points, points)
        loss = distance.mean() + points.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A large batch through a plain network: large, but in proportion to what goes in.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(70000, 64)
    for step in range(2):
        loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Only the operations on the way to the loss of the first step are known, and only the sizes they had there.
    """

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
