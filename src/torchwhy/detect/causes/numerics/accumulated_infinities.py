"""Gradients that were +inf in one part of the step and -inf in another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


class AccumulatedInfinities(Detector):
    """A gradient of +inf and one of -inf were added while gradients were accumulated.

    ## What it finds

    A NaN that was born where a gradient is added to what the parameter or tensor already had: over several
    backward passes (micro-batches), or where one tensor is used twice in a backward pass.

    ## Why it breaks training

    An infinite gradient can be lived with: clipping by value turns it into the largest step allowed. The
    sum of +inf and -inf is NaN, which no clipping cures, and the weight is lost.

    ## Broken

    A barrier whose gradient is infinite on purpose, cut to 1 by `clip_grad_value_`; with two micro-batches
    the two infinities meet before they are clipped:

    ```python
    import torch


    class Barrier(torch.autograd.Function):
        @staticmethod
        def forward(ctx, position):
            ctx.save_for_backward(position)
            return position.clamp(-1, 1)

        @staticmethod
        def backward(ctx, gradient):
            (position,) = ctx.saved_tensors
            wall = torch.where(position > 1, torch.inf, gradient)
            return torch.where(position < -1, -torch.inf, wall)


    torch.manual_seed(0)
    center = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([center], lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        for offset in (0.5, -0.5) if step < 4 else (3.0, -3.0):
            loss = Barrier.apply(center + offset).pow(2).sum() / 2
            loss.backward()  # <- accumulated-infinities
        torch.nn.utils.clip_grad_value_([center], 1.0)
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch


    class Barrier(torch.autograd.Function):
        @staticmethod
        def forward(ctx, position):
            ctx.save_for_backward(position)
            return position.clamp(-1, 1)

        @staticmethod
        def backward(ctx, gradient):
            (position,) = ctx.saved_tensors
            wall = torch.where(position > 1, 1e4, gradient)
            return torch.where(position < -1, -1e4, wall)


    torch.manual_seed(0)
    center = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([center], lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        for offset in (0.5, -0.5) if step < 4 else (3.0, -3.0):
            loss = Barrier.apply(center + offset).pow(2).sum() / 2
            loss.backward()
        torch.nn.utils.clip_grad_value_([center], 1.0)
        optimizer.step()
    ```

    ## Lookalike

    Plain gradient accumulation over micro-batches with large gradients of both signs:

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(6):
        optimizer.zero_grad()
        for sign in (1e6, -1e6):
            loss = (model(torch.randn(8, 4)) * sign).mean() / 2
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ```

    ## Limits

    Where the infinities themselves were born by a mistake, that mistake is the root cause and this is drawn
    as its consequence.
    """

    name = "accumulated-infinities"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.phase == "accumulate" and birth.kind == "from-infinity":
                yield self._finding(trace, birth)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        target = next((name for name in birth.reaches if name.startswith("gradient")), "a gradient")
        message = f"+inf and -inf were added while {target} was accumulated, and their sum is NaN"
        evidence = [
            Evidence(
                "one part of the sum was +inf, the other -inf", value=birth.value, step=birth.step
            )
        ]
        title = f"keep the parts of {target} finite before they are added: clip after each backward pass"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        location = birth.called_from or birth.location
        return replace(found, location=location, fixes=(Fix(title, safety="show-only"),))
