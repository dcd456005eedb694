"""An initialiser that cannot take a tensor of one dimension."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    crashes,
    expression_of,
    finding_of,
    idea,
    operand_evidence,
    says,
    sizes,
)
from torchwhy.detect.cures import statements
from torchwhy.detect.edits import Source
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace

PATTERNS = (
    r"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
    r"Only tensors with 2 or more dimensions are supported",
    r"Only tensors with 2 dimensions are supported",
    r"Only tensors with 3, 4, or 5 dimensions are supported",
)


class UnsupportedInit(Detector):
    """A weight initialiser was given a tensor it has no rule for, mostly a bias.

    ## What it finds

    `xavier_uniform_`, `kaiming_normal_`, `orthogonal_` and the like on a bias, on the scale of a
    normalisation, or on another parameter with fewer than two dimensions, by the parameter's name.

    ## Why it breaks training

    These initialisers set the spread by the number of inputs and outputs of a layer. A bias has one dimension
    and so no such numbers.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    for parameter in model.parameters():
        torch.nn.init.xavier_uniform_(parameter)  # <- unsupported-init
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn


    def start(module):
        if hasattr(module, "weight"):
            nn.init.kaiming_normal_(module.weight)  # <- unsupported-init


    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    model.apply(start)
    print(model(torch.randn(2, 1, 5, 5)).shape)
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_uniform_(parameter)
        else:
            torch.nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Initialisers that take any shape.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    An initialiser written by hand that fails in its own way is an `unexplained-error`.
    """

    name = "unsupported-init"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if any(says(crash, pattern) for pattern in PATTERNS) and _is_initialiser(crash):
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash),
                    evidence=operand_evidence(crash),
                    fixes=[
                        idea(
                            "initialise only parameters with two or more dimensions: `if parameter.dim() > 1:`"
                        ),
                        idea("set biases to zero: `torch.nn.init.zeros_(layer.bias)`"),
                    ],
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.only_matrices(finding, source)


def _is_initialiser(crash: Crash) -> bool:
    """Tell whether an initialiser of torch said so; other functions refuse dimensions in like words."""
    if "initialiser" in crash.facts or says(crash, PATTERNS[0]):
        return True
    return "init" in f"{crash.op} {expression_of(crash)}"


def _message(crash: Crash) -> str:
    name, shape = crash.facts.get("parameter"), crash.facts.get("parameter_shape")
    how = crash.facts.get("initialiser")
    rule = f"`{how}`" if isinstance(how, str) else f"`{expression_of(crash)}`"
    what = f"`{name}`" if isinstance(name, str) else "a tensor"
    if not isinstance(shape, list):
        shape = crash.operands[0].shape if crash.operands else None
    if shape is None:
        return f"{rule} cannot initialise this tensor: it needs rows and columns to count"
    return (
        f"{rule} cannot initialise {what} of shape {sizes(shape)}: it needs at least two dimensions"
    )
