"""Memory that was used before anything was written into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.births import finding_from
from torchwhy.detect.cures import data
from torchwhy.detect.edits import Source
from torchwhy.detect.sources import expression_of, sources, where_it_went, word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace


class UninitialisedMemory(Detector):
    """A tensor made by `torch.empty` was computed with before it was written.

    ## What it finds

    A NaN or infinity that came out of `torch.empty`, `torch.empty_like`, `new_empty`, `torch.Tensor(n)` or
    a grown `resize_`, and that reached the loss, a gradient or a weight.

    ## Why it breaks training

    Such memory holds whatever was there before: often zeros, now and then NaN or 1e38. The program works on
    one machine and fails on another, or on every tenth start.

    ## Broken

    With deterministic algorithms on, torch itself fills fresh memory with NaN, so that the mistake shows:

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gain = nn.Parameter(torch.empty(width))  # <- uninitialised-memory

        def forward(self, x):
            return x * self.gain


    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    model = nn.Sequential(nn.Linear(4, 6), Scale(6), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A buffer of which only a part is written:

    ```python
    import torch

    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(8, 4)
        padded = torch.Tensor(10, 3)  # <- uninitialised-memory
        padded[:8] = model(x)
        loss = padded.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * self.gain


    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    model = nn.Sequential(nn.Linear(4, 6), Scale(6), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(5):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    `torch.empty` that is filled before anybody reads it:

    ```python
    import torch

    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    weight = torch.nn.Parameter(torch.empty(3, 4))
    torch.nn.init.xavier_uniform_(weight)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for step in range(5):
        x = torch.randn(8, 4)
        out = torch.empty(8, 3)
        torch.matmul(x, weight.detach().T, out=out)
        rows = torch.empty_like(out).normal_()
        loss = (x @ weight.T - 0.1 * out - 0.01 * rows).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Only garbage that is not finite is seen. Fresh memory that happens to hold zeros or small numbers gives
    no sign; `torch.use_deterministic_algorithms(True)` makes torch fill it with NaN, and then it does.
    """

    name = "uninitialised-memory"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "uninitialised"):
            value = word(birth.value)
            expression = expression_of(birth, "a fresh tensor")
            name = f" (now `{birth.origin_name}`)" if birth.origin_name else ""
            message = (
                f"{expression}{name} was used before it was written: its memory held {value}, "
                f"which went into {where_it_went(birth)}"
            )
            fact = f"nothing was written to the elements that hold {value}"
            evidence = [Evidence(fact, value=birth.value, step=birth.step)]
            title = f"write {expression}{name} before it is read, or make it with `torch.zeros` or `torch.ones`"
            found = finding_from(
                trace, birth, detector=self.name, message=message, evidence=evidence
            )
            yield replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.filled_memory(finding, source)
