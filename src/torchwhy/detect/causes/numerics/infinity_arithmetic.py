"""NaN made of infinities: inf - inf, 0 · inf, inf / inf."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import op_name, show
from torchwhy.detect.cures import data
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.operands import arguments, is_formula, is_masked, value_of
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace

INFINITIES = (float("inf"), float("-inf"))
# Clipping and gradient accumulation have detectors of their own.
PHASES = frozenset({"data", "forward", "backward", "update"})


class InfinityArithmetic(Detector):
    """An infinity, often an intended one, met another or a zero, and the result is NaN.

    ## What it finds

    An operation that makes new NaN of operands that hold infinities: inf - inf, 0 · inf, inf / inf, a
    matrix product with both, a sine of inf; where the infinity itself is no defect, such as a mask of -inf.

    ## Why it breaks training

    -inf is a good mask for softmax: exp(-inf) is exactly 0. But 0 · -inf is NaN, and so is -inf - (-inf):
    formulas that use the masked scores a second time (entropy, KL divergence, a difference of two
    masked log-probabilities) turn the mask into NaN.

    ## Broken

    The entropy of a policy over masked actions: p · log p is 0 · -inf.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    legal = torch.tensor([True, True, False, True, False])
    for step in range(4):
        logits = policy(torch.randn(8, 4)).masked_fill(~legal, float("-inf"))
        log_p = torch.log_softmax(logits, dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1)  # <- infinity-arithmetic
        loss = -log_p[:, 0].mean() - 0.01 * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A mask that is multiplied by -inf: where it is 0 the product is NaN.

    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Linear(6, 6)

        def forward(self, x, padding):
            scores = self.query(x) @ x.transpose(1, 2)
            scores = scores + padding[:, None, :] * float("-inf")  # <- infinity-arithmetic
            return torch.softmax(scores, dim=-1) @ x


    torch.manual_seed(0)
    net = Attention()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    padding = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    for step in range(3):
        loss = net(torch.randn(2, 4, 6), padding).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The change of masked log-probabilities between two policies: -inf - (-inf).

    ```python
    import torch

    torch.manual_seed(0)
    mask = torch.tensor([0.0, float("-inf"), 0.0])
    new = torch.randn(3, requires_grad=True)
    old = torch.randn(3)
    for step in range(3):
        change = torch.log_softmax(new + mask, 0) - torch.log_softmax(old + mask, 0)  # <- infinity-arithmetic
        loss = change.exp().sum()
        loss.backward()
        with torch.no_grad():
            new -= 0.1 * new.grad
            new.grad = None
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    legal = torch.tensor([True, True, False, True, False])
    for step in range(4):
        logits = policy(torch.randn(8, 4)).masked_fill(~legal, -1e9)
        log_p = torch.log_softmax(logits, dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1)
        loss = -log_p[:, 0].mean() - 0.01 * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Masks of -inf in softmax, in a maximum and in `logsumexp`, which absorb them exactly.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 5)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    legal = torch.tensor([True, True, False, True, False])
    for step in range(4):
        logits = policy(torch.randn(8, 4)).masked_fill(~legal, float("-inf"))
        best = logits.max(dim=1).values
        weights = torch.softmax(logits, dim=1)
        loss = (torch.logsumexp(logits, dim=1) - best).mean() + weights[:, 0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    If the infinity was itself born of a defect (an overflow, a division by zero), that is the cause, and this
    its consequence. A softmax whose whole row is -inf is `fully-masked-softmax`.
    """

    name = "infinity-arithmetic"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the contract's
        yield from data.finite_mask(source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise new NaN made of infinite operands."""
    if birth.fully_infinite_row or birth.phase not in PHASES or is_masked(birth):
        return None
    if birth.kind == "source" or not has_infinity(birth):
        return None
    if birth.kind == "operation" and birth.value != "nan":
        return None
    way = f"in the gradient ({birth.node}), " if is_formula(birth) else ""
    infinite = next(
        (operand for operand in arguments(birth) if value_of(operand) in INFINITIES), None
    )
    facts = tuple(
        operand_fact(birth, operand, value_of(operand)) for operand in arguments(birth)[:3]
    )
    return Verdict(
        f"{way}{expression_of(birth)} makes NaN of infinity: {sum_of(birth)}{samples_of(birth)}",
        facts,
        f"keep the infinity out of this operation: use a large finite number in place of inf in "
        f"{name_of(infinite, otherwise='its operand')}, or put 0 there with torch.where before this line",
    )


def has_infinity(birth: Birth) -> bool:
    """Tell whether an operand is infinite: by the record's word, or because a number in the call is."""
    return birth.kind == "from-infinity" or any(
        value_of(operand) in INFINITIES for operand in arguments(birth)
    )


def sum_of(birth: Birth) -> str:
    """Return the calculation in numbers, `0 · -inf`, as far as the operands at the first bad element are known."""
    signs = {"mul": "·", "sub": "-", "add": "+", "div": "/"}
    values = [value_of(operand) for operand in arguments(birth)[:2]]
    if op_name(birth) in signs and len(values) == 2 and None not in values:
        return f"{show(values[0])} {signs[op_name(birth)]} {show(values[1])}"
    return f"{op_name(birth)} of operands that hold inf"
