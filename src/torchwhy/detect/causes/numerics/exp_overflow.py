"""An exponential of a number too large for its type."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.births import op_name, show
from torchwhy.detect.cures import operands
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.operands import argument, is_masked, largest_exponent, output_type, value_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace

EXPONENTIALS = frozenset(
    {"exp", "expm1", "exp2", "cosh", "sinh", "special_exp2", "special_expm1", "i0", "special_i1"}
)


class ExpOverflow(Detector):
    """An exponential was taken of a number so large that the result exceeds the type's range.

    ## What it finds

    `exp`, `exp2`, `expm1`, `cosh`, `sinh` or `constant ** x` whose operand, at the element that went bad, is
    above the logarithm of the largest number of the type (88.7 in float32, 709 in float64).

    ## Why it breaks training

    exp(89) is inf in float32. Divided by another inf, or subtracted from it, or multiplied by a gradient of
    0, it becomes NaN. Formulas such as softmax, softplus, sigmoid and the KL term of a VAE are harmless on
    paper and overflow as soon as a logit or a log-variance reaches 89.

    ## Broken

    A softmax written by hand, fed with unscaled features.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(10, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(10):
        x = torch.randn(8, 10) * (1 if step < 4 else 300)
        label = torch.randint(0, 3, (8,))
        scores = model(x)
        weights = torch.exp(scores)  # <- exp-overflow
        probabilities = weights / weights.sum(dim=1, keepdim=True)
        loss = -torch.log(probabilities[torch.arange(8), label] + 1e-9).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A variational autoencoder whose log-variance is not limited.

    ```python
    import torch
    from torch import nn


    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(6, 4)
            self.decoder = nn.Linear(2, 6)

        def forward(self, x):
            mu, log_variance = self.encoder(x).chunk(2, dim=1)
            z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_variance)
            divergence = -0.5 * (1 + log_variance - mu**2 - log_variance.exp())  # <- exp-overflow
            return self.decoder(z), divergence.mean()


    torch.manual_seed(0)
    net = Vae()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randn(16, 6)
        if step == 4:
            x[9] = 120.0 * net.encoder.weight.detach()[2:].sum(0).sign()
        output, divergence = net(x)
        loss = (output - x).pow(2).mean() + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A sigmoid written by hand: the forward value is right (1 / inf is 0), the gradient is 0 · inf.

    ```python
    import torch

    torch.manual_seed(0)
    w = torch.randn(3, requires_grad=True)
    for step in range(4):
        x = torch.randn(8, 3) * (200 if step == 2 else 1)
        p = 1 / (1 + torch.exp(-(x @ w)))  # <- exp-overflow
        loss = (p - 0.5).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    print(w)
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(10, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(10):
        x = torch.randn(8, 10) * (1 if step < 4 else 300)
        label = torch.randint(0, 3, (8,))
        scores = model(x)
        weights = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
        probabilities = weights / weights.sum(dim=1, keepdim=True)
        loss = -torch.log(probabilities[torch.arange(8), label] + 1e-9).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Large operands in the stable forms, an exponential that rounds to 0, and one that overflows in a
    quantity that is limited again and needs no gradient.

    ```python
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    for step in range(6):
        scores = model(torch.randn(8, 5)) * 500
        with torch.no_grad():
            rate = torch.exp(scores.abs() + 100).clamp(max=1.0).mean()
        small = torch.exp(-scores.abs() - 100).mean()
        loss = torch.logsumexp(scores, dim=1).mean() + F.softplus(scores).mean() + small + rate
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    An operand that fits float32 and not float16 is `half-precision-overflow`. Where the learning rate drove
    the operand up, that is the cause and this finding its consequence.
    """

    name = "exp-overflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from operands.for_exp(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise an exponential whose operand is above the limit of its type."""
    if birth.kind != "operation" or is_masked(birth):
        return None
    operand = exponent_of(birth)
    value = value_of(operand)
    if value is None:
        return None
    limit = limit_of(birth)
    # An operand that float32 could bear is the fault of the half type, not of the exponential.
    bearable = limit_of(birth, "float32") if output_type(birth) == "float16" else limit
    if abs(value) <= max(limit, bearable):
        return None
    name = name_of(operand)
    return Verdict(
        f"{expression_of(birth)} overflows: {name} was {show(value)}{samples_of(birth)}, "
        f"and {op_name(birth)} of more than {limit:.4g} is infinite in {output_type(birth)}",
        (
            operand_fact(birth, operand, value),
            Evidence(
                f"the largest operand that {output_type(birth)} can bear is {limit:.4g}",
                value=limit,
            ),
        ),
        f"subtract the maximum of {name} first, use logsumexp, softmax or softplus in place of the formula, "
        f"or clamp {name} below {limit:.4g}",
    )


def exponent_of(birth: Birth) -> Operand | None:
    """Return what is exponentiated: the operand of exp and its kin, the exponent of `2.0 ** x`."""
    if op_name(birth) in EXPONENTIALS:
        return argument(birth, 0)
    if birth.op.startswith("aten.pow.Scalar"):
        base = value_of(argument(birth, 0))
        return argument(birth, 1) if base is not None and abs(base) > 1 else None
    return None


def limit_of(birth: Birth, dtype: str | None = None) -> float:
    """Return the largest operand whose exponential fits the type of the result."""
    dtype = dtype or output_type(birth)
    if op_name(birth) == "pow":
        base = value_of(argument(birth, 0)) or 2.0
        return largest_exponent("exp2", dtype) / math.log2(abs(base))
    return largest_exponent(op_name(birth), dtype)
