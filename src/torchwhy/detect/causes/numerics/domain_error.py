"""A function outside, or its gradient at the edge, of the interval where it is defined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchwhy.detect.base import Detector
from torchwhy.detect.births import op_name, show
from torchwhy.detect.cures import operands
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.operands import (
    DOMAIN_NODES,
    argument,
    is_formula,
    is_masked,
    node_of,
    value_of,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


@dataclass(frozen=True)
class Domain:
    """Where a function is finite: between `low` and `high`; `closed` if it is finite at the edges, too."""

    low: float
    high: float
    words: str
    closed: bool = False

    def holds(self, value: float) -> bool:
        """Tell whether the function is finite at `value`."""
        return self.low <= value <= self.high if self.closed else self.low < value < self.high


INFINITY = float("inf")
DOMAINS = {
    "acos": Domain(-1, 1, "[-1, 1]", closed=True),
    "asin": Domain(-1, 1, "[-1, 1]", closed=True),
    "atanh": Domain(-1, 1, "(-1, 1)"),
    "acosh": Domain(1, INFINITY, "[1, inf)", closed=True),
    "erfinv": Domain(-1, 1, "(-1, 1)"),
    "logit": Domain(0, 1, "(0, 1)"),
    "special_ndtri": Domain(0, 1, "(0, 1)"),
    "lgamma": Domain(0, INFINITY, "(0, inf)"),
    "digamma": Domain(0, INFINITY, "(0, inf)"),
    "polygamma": Domain(0, INFINITY, "(0, inf)"),
    "sqrt": Domain(0, INFINITY, "[0, inf)", closed=True),
    "rsqrt": Domain(0, INFINITY, "(0, inf)"),
}
# At 0 it is finite in no sense, but there the cause is the division.
BELONGS_TO_DIVISION = frozenset({"rsqrt"})
# polygamma(n, x): the operand is the second argument.
OF_SECOND_ARGUMENT = frozenset({"polygamma"})


class DomainError(Detector):
    """A function was evaluated where it is not defined, or its gradient where that is infinite.

    ## What it finds

    `acos`, `asin`, `atanh`, `acosh`, `erfinv`, `logit`, `ndtri`, `lgamma`, `digamma`, the square root of a
    negative number, a negative number to a fractional power, each at an operand outside of its domain; and
    the gradient of `acos`, `asin`, `acosh`, `atan2` at the edge, where the value is finite and the slope is not.

    ## Why it breaks training

    Rounding is enough: the cosine of two equal directions is 1.0000001, and its `acos` is NaN; at exactly 1
    the angle is 0 and fine, but its slope is infinite, and the gradient destroys the weights.

    ## Broken

    The angle between an embedding and its class centre, which meet at step 5.

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    centres = nn.Parameter(torch.eye(4))
    encoder = nn.Linear(6, 4)
    optimizer = torch.optim.SGD([centres, *encoder.parameters()], lr=0.05)
    for step in range(8):
        x = torch.randn(12, 6)
        label = torch.randint(0, 4, (12,))
        embedding = F.normalize(encoder(x), dim=1)
        direction = F.normalize(centres, dim=1)[label]
        cosine = (embedding * direction).sum(dim=1)
        if step == 5:
            cosine = torch.cat([cosine[:-1], cosine[-1:] * 0 + 1.0])
        angle = torch.acos(cosine)  # <- domain-error
        loss = (angle**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    The variance by the formula E[x²] - E[x]², which rounds to a little below zero.

    ```python
    import torch
    from torch import nn


    class Standardise(nn.Module):
        def forward(self, x):
            mean = x.mean(dim=1, keepdim=True)
            variance = (x * x).mean(dim=1, keepdim=True) - mean * mean
            return (x - mean) / (variance.sqrt() + 1e-3)  # <- domain-error


    torch.manual_seed(0)
    net = nn.Sequential(Standardise(), nn.Linear(7, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randn(8, 7)
        if step == 3:
            x[1] = 1000.1
            x[2] = 333.3
            x[3] = 77.7
            x[4] = 1234.5678
        loss = net(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A learned exponent on data that is sometimes negative, with an update written by hand.

    ```python
    import torch

    torch.manual_seed(0)
    gamma = torch.tensor(0.7, requires_grad=True)
    for step in range(5):
        brightness = torch.rand(32)
        if step == 2:
            brightness = brightness - 0.01 * (brightness < 0.5) * brightness.max() - 0.2
        corrected = brightness**gamma  # <- domain-error
        loss = (corrected - 0.5).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            gamma -= 0.1 * gamma.grad
        gamma.grad = None
    print(float(gamma))
    ```

    ## Repaired

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    centres = nn.Parameter(torch.eye(4))
    encoder = nn.Linear(6, 4)
    optimizer = torch.optim.SGD([centres, *encoder.parameters()], lr=0.05)
    for step in range(8):
        x = torch.randn(12, 6)
        label = torch.randint(0, 4, (12,))
        embedding = F.normalize(encoder(x), dim=1)
        direction = F.normalize(centres, dim=1)[label]
        cosine = (embedding * direction).sum(dim=1)
        if step == 5:
            cosine = torch.cat([cosine[:-1], cosine[-1:] * 0 + 1.0])
        angle = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
        loss = (angle**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    `acos(1)` and `asin(-1)` without a gradient are plain numbers, `logit` with `eps` clamps by itself, and a
    negative number may have a whole power.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(5):
        x = torch.randn(8, 3)
        with torch.no_grad():
            edge = torch.acos(torch.ones(8, 1)) + torch.asin(-torch.ones(8, 1))
        target = torch.logit(torch.tensor([[0.0], [1.0]]).repeat(4, 1), eps=1e-3)
        loss = ((model(x**3) - target + edge) ** 2).mean() + torch.atan2(model(x), model(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Logarithms are `log-of-nonpositive`; the slope of a root at 0 is `root-gradient-at-zero`.
    """

    name = "domain-error"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from operands.for_domain(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a function outside of its domain, or a slope at the edge of it."""
    if birth.kind != "operation" or birth.phase == "update" or is_masked(birth):
        return None
    if node_of(birth) in DOMAIN_NODES:
        return judge_slope(birth)
    if op_name(birth) == "pow":
        return judge_power(birth)
    if op_name(birth) == "log" and node_of(birth) == "PowBackward":
        return judge_slope(
            birth, of="the exponent needs the logarithm of the base, which is not positive"
        )
    if op_name(birth) in DOMAINS:
        return judge_function(birth)
    return None


def judge_function(birth: Birth) -> Verdict | None:
    """Compare the operand with the function's domain."""
    kind = op_name(birth)
    operand = argument(birth, 1 if kind in OF_SECOND_ARGUMENT else 0)
    value = value_of(operand)
    domain = DOMAINS[kind]
    if value is None or domain.holds(value) or (value == 0 and kind in BELONGS_TO_DIVISION):
        return None
    name = name_of(operand)
    return Verdict(
        f"{expression_of(birth)} is not defined at {show(value)}: {name} was that{samples_of(birth)}, "
        f"and must stay in {domain.words}",
        (
            operand_fact(birth, operand, value),
            Evidence(f"{kind} is finite in {domain.words}", step=birth.step),
        ),
        f"clamp {name} to a range a little inside {domain.words} before it goes into {kind}",
    )


def judge_power(birth: Birth) -> Verdict | None:
    """Recognise a negative number to a power that is not whole."""
    base, exponent = value_of(argument(birth, 0)), value_of(argument(birth, 1))
    if base is None or exponent is None or base >= 0 or float(exponent).is_integer():
        return None
    name = (
        forward_operand(birth)
        if is_formula(birth)
        else name_of(argument(birth, 0), otherwise="its base")
    )
    return Verdict(
        f"{expression_of(birth)} raises a negative number to a power that is not whole: "
        f"{name} was {show(base)}, the exponent {show(exponent)}{samples_of(birth)}",
        (
            operand_fact(birth, argument(birth, 0), base),
            operand_fact(birth, argument(birth, 1), exponent),
        ),
        f"make {name} positive before taking the power: clamp it to a small positive number, or use its absolute value",
    )


def judge_slope(
    birth: Birth, *, of: str = "its slope is infinite at the edge of its domain"
) -> Verdict:
    """Describe a gradient that does not exist although the value does."""
    name = forward_operand(birth)
    return Verdict(
        f"{expression_of(birth)} has no finite gradient: {of}, and {name} was there{samples_of(birth)}",
        (
            Evidence(
                f"the gradient was computed in {birth.node} by {op_name(birth)}",
                value=birth.value,
                step=birth.step,
            ),
        ),
        f"clamp {name} a little inside the open interval before it goes into {expression_of(birth)}",
    )
