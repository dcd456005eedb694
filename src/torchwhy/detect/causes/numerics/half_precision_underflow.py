"""A value that is 0 in half precision and not in float32."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import as_real, op_name, show
from torchwhy.detect.cures import data, operands
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    name_of,
    samples_of,
)
from torchwhy.detect.operands import (
    ROUNDS_TO_ZERO,
    is_formula,
    is_masked,
    output_type,
    underflowed_operand,
    vanished_constant,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace


class HalfPrecisionUnderflow(Detector):
    """A value or an epsilon became 0 in half precision, and was divided by or put into a logarithm.

    ## What it finds

    A division, logarithm, root or power in float16 or bfloat16 that fails because an operand is exactly 0,
    where the operand is not 0 when it is computed in float32; also an epsilon written in the expression that
    is too small for the type.

    ## Why it breaks training

    The smallest number of float16 is 6e-8, so the epsilon 1e-8 that protects a division in float32 is 0
    in float16 and protects nothing; probabilities below 3e-8 are 0 and their logarithm is -inf.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 4).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(5):
        x = torch.randn(8, 6).half()
        if step == 3:
            x[2] = 0
        length = x.norm(dim=1, keepdim=True)
        unit = x / (length + 1e-8)  # <- half-precision-underflow
        loss = net(unit).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A policy's log-probabilities, guarded by an epsilon that does not exist in float16.

    ```python
    import torch
    from torch import nn


    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 3)

        def forward(self, state):
            probabilities = torch.softmax(self.body(state), dim=-1)
            return torch.log(probabilities + 1e-8)  # <- half-precision-underflow


    torch.manual_seed(0)
    policy = Policy().half()
    optimizer = torch.optim.SGD(policy.parameters(), lr=1e-3)
    for step in range(5):
        state = torch.randn(16, 4) * (1 if step < 3 else 60)
        loss = -policy(state.half()).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The softmax itself underflows: in float32 the same probability is 1e-11.

    ```python
    import torch

    torch.manual_seed(0)
    logits = torch.zeros(2, 3, dtype=torch.float16, requires_grad=True)
    offset = torch.tensor([[0.0, 25.0, 3.0], [1.0, 2.0, 3.0]]).half()
    for step in range(3):
        probabilities = torch.softmax(logits + offset * step, dim=1)
        entropy = -torch.log(probabilities).mean()  # <- half-precision-underflow
        entropy.backward()
        with torch.no_grad():
            logits -= 0.01 * logits.grad
            logits.grad = None
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 4).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(5):
        x = torch.randn(8, 6).half()
        if step == 3:
            x[2] = 0
        length = x.norm(dim=1, keepdim=True)
        unit = x / (length + 1e-4)
        loss = net(unit).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    The same small epsilon in bfloat16, which has float32's range, and in float32.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(5):
        x = torch.randn(8, 6)
        x[2] = 0
        wide = x / (x.norm(dim=1, keepdim=True) + 1e-8)
        brain = x.bfloat16()
        brain = brain / (brain.norm(dim=1, keepdim=True) + 1e-8)
        half = torch.softmax(net(wide).half() * 30, dim=1)
        loss = net(wide + brain.float()).pow(2).mean() + half.float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Gradients that silently become 0 are no NaN and are not found here. Adam's epsilon in float16 is
    `optimizer-epsilon`.
    """

    name = "half-precision-underflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.larger_constant(finding, source)
        yield from operands.for_log(finding, source)
        yield from data.wider(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a birth whose decisive operand is 0 only because of its type."""
    if birth.kind != "operation" or birth.phase == "update" or is_masked(birth):
        return None
    operand = underflowed_operand(birth)
    if operand is None:
        return None
    dtype = output_type(birth)
    name = forward_operand(birth) if is_formula(birth) else name_of(operand)
    return Verdict(
        f"{expression_of(birth)} fails because {name} is 0 in {dtype} and not in float32: "
        f"{reason_for(birth, operand)}{samples_of(birth)}",
        facts_of(birth, operand),
        f"compute {expression_of(birth)} in float32, or use an epsilon that {dtype} can hold, "
        f"such as {'1e-4' if dtype == 'float16' else '1e-6'}",
    )


def reason_for(birth: Birth, operand: Operand) -> str:
    """Return how it is known: the value in float32, or the constant that vanished."""
    constant = vanished_constant(birth)
    if constant is not None:
        return f"the constant {constant:g} rounds to 0"
    wider = None if operand.wider_at_born is None else decode(operand.wider_at_born)
    return f"there it would be {show(wider)}"


def facts_of(birth: Birth, operand: Operand) -> tuple[Evidence, ...]:
    """Return the zero, the value it should have, and the smallest number of the type."""
    dtype = output_type(birth)
    facts = [
        Evidence(
            f"{name_of(operand)} was 0 in {dtype} when {op_name(birth)} ran",
            value=0.0,
            step=birth.step,
        )
    ]
    if operand.wider_at_born is not None:
        value = decode(operand.wider_at_born)
        facts.append(
            Evidence(
                f"computed in float32 it is {show(value)}", value=as_real(value), step=birth.step
            )
        )
    limit = ROUNDS_TO_ZERO[dtype]
    facts.append(Evidence(f"{dtype} rounds everything below {limit:.2g} to 0", value=limit))
    return tuple(facts)
