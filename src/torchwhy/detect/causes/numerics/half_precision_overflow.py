"""A result beyond 65504, the largest number of float16."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import show
from torchwhy.detect.causes.numerics import exp_overflow
from torchwhy.detect.causes.numerics.float_overflow import fact_of, inner_name, size_of
from torchwhy.detect.crashes import (
    crashes,
    finding_of,
    operand_evidence,
    says,
)
from torchwhy.detect.crashes import (
    expression_of as crashed_at,
)
from torchwhy.detect.cures import data, loss_scales
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import Verdict, expression_of, findings_by_place, samples_of
from torchwhy.detect.operands import (
    LARGEST,
    arguments,
    is_formula,
    is_masked,
    output_type,
    underflowed_operand,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Crash, ScaleChanged
from torchwhy.record.trace import Trace

DOES_NOT_FIT = r"value cannot be converted to type (?:c10|at)::Half without overflow"


class HalfPrecisionOverflow(Detector):
    """A result exceeded 65504, the largest number of float16, where float32 would have been fine.

    ## What it finds

    An operation with finite operands whose float16 result is not finite, while the same operation redone in
    a wider type is: products, sums, norms, matrix products, conversions to float16, in forward or backward.

    ## Why it breaks training

    float16 ends at 65504: the square of 256 is already too large, and so is the sum of a thousand values
    of 66. A loss scale multiplies all gradients and brings them nearer to that end.

    ## Broken

    The energy of a layer, summed in float16.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(16, 64).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    for step in range(5):
        x = torch.randn(8, 16) * (1 if step < 3 else 40)
        hidden = net(x.half())
        energy = (hidden * hidden).sum(dim=1)  # <- half-precision-overflow
        loss = energy.float().mean() * 1e-4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Autocast, and large activations in one layer of a module.

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 32)
            self.second = nn.Linear(32, 1)

        def forward(self, x):
            return self.second(self.first(x) * 50)  # <- half-precision-overflow


    torch.manual_seed(0)
    net = Net()
    with torch.no_grad():
        net.second.weight.fill_(3.0)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for step in range(4):
        x = torch.rand(8, 4) * (1 if step < 2 else 2000)
        with torch.autocast("cpu", dtype=torch.float16):
            output = net(x)
        loss = output.float().pow(2).mean() * 1e-6
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A fixed loss scale, without a GradScaler that would lower it.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    scale = 2.0**16
    for step in range(4):
        x = torch.randn(8, 6) * (0.001 if step < 2 else 10)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            output = net(x)
        loss = output.float().sum() * (0.01 if step < 2 else 1)  # <- half-precision-overflow
        (loss * scale).backward()
        for parameter in net.parameters():
            parameter.grad /= scale
        optimizer.step()
    ```

    With a GradScaler: it skips every step from then on, for the loss itself is inf at any scale.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 8))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for step in range(8):
        x = torch.randn(16, 8) * (1 if step < 4 else 300)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            hidden = net(x)
            loss = (hidden**4).mean()  # <- half-precision-overflow
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    A mask value that float32 bears and float16 does not: torch refuses to write it.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(8, 6)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    keep = torch.tensor([1, 1, 1, 1, 0, 0], dtype=torch.bool)
    for step in range(4):
        x, labels = torch.randn(16, 8), torch.randint(0, 4, (16,))
        with torch.autocast("cpu", dtype=torch.float16):
            scores = net(x).masked_fill(~keep, -1e9)  # <- half-precision-overflow
            loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(16, 64).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    for step in range(5):
        x = torch.randn(8, 16) * (1 if step < 3 else 40)
        hidden = net(x.half()).float()
        energy = (hidden * hidden).sum(dim=1)
        loss = energy.mean() * 1e-4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A GradScaler starts with a scale that is too large, skips those steps and lowers it: that is its work.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    for step in range(12):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            output = net(x)
        loss = (output.float() - 1).pow(2).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    A mask value that does not fit float16 becomes -inf, which softmax turns into an exact 0.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 5).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    hidden = torch.tensor([0.0, 0.0, 1.0, 0.0, 1.0]).half()
    for step in range(4):
        scores = net(torch.randn(8, 4).half()) + hidden * -1e9
        loss = torch.softmax(scores, dim=1)[:, 0].float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    bfloat16 has the range of float32: what overflows there is `float-overflow`. An exponential too large even
    for float32 is `exp-overflow`. A GradScaler whose scale collapses is another cause.
    """

    name = "half-precision-overflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        alarmed = {alarm.step for alarm in trace.alarms}
        scaled = bool(trace.of(ScaleChanged))

        def judge_unscaled(birth: Birth) -> Verdict | None:
            # A GradScaler tries large scales on purpose, and skips the step when a gradient overflows.
            if scaled and birth.node is not None and birth.step not in alarmed:
                return None
            return judge(birth)

        yield from findings_by_place(trace, self.name, judge_unscaled)
        for crash in crashes(trace):
            if says(crash, DOES_NOT_FIT):
                yield refused(trace, crash, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.fitting_number(finding, source)
        yield from loss_scales.smaller(finding, source)
        yield from data.wider(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a float16 result that is finite in a wider type."""
    if birth.kind != "operation" or output_type(birth) != "float16" or is_masked(birth):
        return None
    if (
        birth.wider != "finite"
        or zero_divisor(birth) is not None
        or underflowed_operand(birth) is not None
    ):
        return None
    if exp_overflow.judge(birth) is not None:
        return None
    largest = max(arguments(birth), key=size_of, default=None)
    way = f"in the gradient ({birth.node}), " if is_formula(birth) else ""
    who = "its largest operand" if is_formula(birth) else inner_name(birth, largest)
    size = show(size_of(largest)) if largest is not None else "?"
    facts = (
        *(fact_of(birth, operand) for operand in arguments(birth)[:3]),
        Evidence("the same operation in a wider type is finite", step=birth.step),
    )
    return Verdict(
        f"{way}{expression_of(birth)} exceeds {LARGEST['float16']:.0f}, the largest number of float16: "
        f"{who} reached {size}{samples_of(birth)}",
        facts,
        advice_for(birth, who),
    )


def advice_for(birth: Birth, who: str) -> str:
    """Return the usual cures: in backward it is the loss scale, in forward the type of this operation."""
    if is_formula(birth):
        return "use torch.amp.GradScaler, which lowers the loss scale by itself, or bfloat16, which has float32's range"
    return f"compute {expression_of(birth)} in float32 ({who}.float()), use bfloat16, or make {who} smaller first"


def refused(trace: Trace, crash: Crash, detector: str) -> Finding:
    """Return the finding about a number that torch refused to write into a float16 tensor."""
    half = [tensor.name for tensor in crash.operands if tensor.dtype == "float16"]
    into = f"{half[0]}, which is float16" if half else "a float16 tensor"
    return finding_of(
        trace,
        crash,
        detector=detector,
        message=f"`{crashed_at(crash)}` writes a number beyond {LARGEST['float16']:.0f}, the largest of float16, "
        f"into {into}",
        evidence=operand_evidence(crash),
        fixes=[
            Fix(
                f"write the type's own bound: torch.finfo({half[0] if half else 'x'}.dtype).min",
                safety="show-only",
            )
        ],
    )
