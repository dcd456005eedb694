"""A NaN or infinity that stands in the program as a constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from
from torchwhy.detect.cures import samples
from torchwhy.detect.edits import Source
from torchwhy.detect.sources import expression_of, feeds_new_nan, sources, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


class NonfiniteLiteral(Detector):
    """A NaN or infinity that is written in the program itself reached the loss or the weights.

    ## What it finds

    A constant such as `float("nan")`, `torch.inf`, `torch.full(…, inf)`, `fill_`, `masked_fill` or
    `torch.where(…, nan)` whose value went on into the loss, a gradient, a weight or a buffer.

    ## Why it breaks training

    Constants of this kind are placeholders: "no value here", "worse than anything". Where the placeholder
    is not replaced or masked in time, it is computed with, and everything behind it is lost.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def robust_loss(prediction, target):
        error = (prediction - target).abs()
        if error.max() > 6:
            return torch.tensor(float("inf"), requires_grad=True) + error.mean()  # <- nonfinite-literal
        return error.mean()


    for step in range(10):
        x = torch.randn(8, 4) * (1 + 10 * (step == 6))
        loss = robust_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Missing values are marked as NaN and not taken out again:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(6):
        x = torch.rand(16, 4) + 0.1
        if step == 3:
            x[2, 1] = -1.0
        valid = torch.where(x > 0, x, float("nan"))  # <- nonfinite-literal
        loss = (model(torch.log(valid)) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A running minimum that starts at infinity and is added to the loss before it was ever updated:

    ```python
    import torch
    from torch import nn


    class Regularised(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)
            self.best = torch.full((1,), torch.inf)  # <- nonfinite-literal

        def loss(self, x, y):
            error = (self.layer(x) - y).pow(2).mean()
            return error + 0.1 * (self.best - error.detach()).abs().squeeze()


    torch.manual_seed(0)
    model = Regularised()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x = torch.randn(5, 3)
        loss = model.loss(x, x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def robust_loss(prediction, target):
        error = (prediction - target).abs()
        return error.clamp(max=6).mean()


    for step in range(10):
        x = torch.randn(8, 4) * (1 + 10 * (step == 6))
        loss = robust_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Infinity as the start of a running minimum, and NaN as a mark that `nanmean` and `nan_to_num` take out:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best = torch.tensor(float("inf"))
    for step in range(8):
        x = torch.rand(16, 4)
        marked = torch.where(x > 0.1, x, float("nan"))
        center = marked.nanmean(dim=0)
        filled = torch.nan_to_num(marked - center)
        loss = (model(filled) - x.sum(1, keepdim=True)).pow(2).mean()
        best = torch.minimum(best, loss.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(best.item())
    ```

    The largest of several scores with the forbidden ones at -inf:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(5):
        scores = model(torch.randn(8, 4))
        forbidden = torch.arange(6) > 3
        allowed = scores.masked_fill(forbidden, -torch.inf)
        loss = (allowed.max(dim=1).values - 1).pow(2).mean() + torch.logsumexp(allowed, 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    An infinity out of which a later operation makes NaN (a softmax of nothing but -inf, inf - inf) is
    reported at that operation: the infinity may well be meant.
    """

    name = "nonfinite-literal"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "literal"):
            if feeds_new_nan(trace, birth) or _is_torchs_own(trace, birth):
                continue
            value = word(birth.value)
            expression = expression_of(birth, "an expression on this line")
            went = where_it_went(birth)
            message = (
                f"{expression} holds {value} as a constant of the program, and it went into {went}"
            )
            fact = f"{value} is no result here: it stands in the source"
            title = f"replace the {value} of {expression} by a finite value, or mask it out before it is computed with"
            if birth.phase == "update" and _rate_is_odd(trace, birth):
                message = f"the learning rate was no finite number in {expression}, and {value} went into {went}"
                fact = _rate_before(trace, birth)
                title = "look at what sets the learning rate: a scheduler of your own, or a division by its length"
            evidence = [Evidence(fact, value=birth.value, step=birth.step)]
            found = finding_from(
                trace, birth, detector=self.name, message=message, evidence=evidence
            )
            yield replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from samples.finite_literal(finding, source)


def _is_torchs_own(trace: Trace, birth: Birth) -> bool:
    """Tell whether a torch function that failed put the constant in by itself, as `logdet` does for its NaN."""
    return birth.location is not None and any(
        other.kind == "operation"
        and other.step == birth.step
        and other.location == birth.location
        and other.order < birth.order
        for other in trace.births
    )


def _rate_is_odd(trace: Trace, birth: Birth) -> bool:
    """Tell whether the last learning rate told before an update was infinite or NaN."""
    told = [step.learning_rates for step in trace.steps if step.step <= birth.step]
    last = next((rates for rates in reversed(told) if rates), None)
    return last is not None and None in last


def _rate_before(trace: Trace, birth: Birth) -> str:
    rates = [rate for step in trace.steps if step.step < birth.step for rate in step.rates]
    if not rates:
        return "it was never a finite number before"
    return f"up to step {birth.step - 1} it was {rates[-1]:g}"
