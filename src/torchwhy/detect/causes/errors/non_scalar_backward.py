"""`backward()` of a loss with more than one element."""

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
    size,
)
from torchwhy.detect.cures import statements
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace

IMPLICIT = r"grad can be implicitly created only for (?:scalar|real scalar) outputs"
TORCHS_OWN = (
    "self",
    "tensors",
    "tensors[0]",
)  # names in torch's frames, where the program's source is not known


class NonScalarBackward(Detector):
    """`backward()` was called on a tensor with more than one element.

    ## What it finds

    A loss that was not reduced to one number: a missing `.mean()`, a criterion with `reduction="none"`, a model
    output taken for the loss.

    ## Why it breaks training

    A gradient is that of one number. For several, torch cannot know how much each of them counts.

    ## Broken

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(6, 4)
        loss = (model(x)[:, 0] - x.sum(1)).pow(2)
        optimizer.zero_grad()
        loss.backward()  # <- non-scalar-backward
        optimizer.step()
    ```

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    criterion = torch.nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def update(x, labels):
        loss = criterion(model(x), labels)
        optimizer.zero_grad()
        loss.backward()  # <- non-scalar-backward
        optimizer.step()


    for step in range(3):
        update(torch.randn(6, 4), torch.randint(0, 3, (6,)))
    ```

    ## Repaired

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(6, 4)
        loss = (model(x)[:, 0] - x.sum(1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A loss of one element that has a dimension, and a gradient that says how much each element counts.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(3):
        x = torch.randn(6, 4)
        each = (model(x)[:, 0] - x.sum(1)).pow(2)
        optimizer.zero_grad()
        each.backward(gradient=torch.full((6,), 1 / 6), retain_graph=True)
        each.mean().reshape(1).backward()
        optimizer.step()
    ```

    ## Limits

    Whether the elements are to be averaged, summed or weighted, only the author knows.
    """

    name = "non-scalar-backward"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, IMPLICIT):
                loss = _loss(crash)
                yield finding_of(
                    trace,
                    crash,
                    detector=self.name,
                    message=_message(crash, loss),
                    evidence=[*_made(loss), *operand_evidence(crash)],
                    fixes=[
                        idea(f"reduce it to one number: `{_called(loss)}.mean().backward()`"),
                        idea('if the criterion was made with `reduction="none"`, leave that out'),
                    ],
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.scalar_loss(finding, source)


def _loss(crash: Crash) -> NamedTensor | None:
    many = [
        tensor
        for tensor in (*crash.operands, *crash.inputs)
        if tensor.shape and tensor.graph is not None
    ]
    return many[0] if many else None


def _message(crash: Crash, loss: NamedTensor | None) -> str:
    if loss is None:
        return (
            f"`{expression_of(crash)}` is a backward pass from a tensor with more than one element"
        )
    count = 1
    for length in loss.shape:
        count *= length
    name = "the loss" if loss.name in TORCHS_OWN else f"`{loss.name}`"
    return f"{name} has {count} elements ({size(loss)}), and a backward pass starts from one number"


def _called(loss: NamedTensor | None) -> str:
    return "loss" if loss is None or loss.name in TORCHS_OWN else loss.name


def _made(loss: NamedTensor | None) -> Iterator[Evidence]:
    if loss is not None and loss.made_by is not None:
        yield Evidence(f"{_called(loss)} was computed here", location=loss.made_by)
