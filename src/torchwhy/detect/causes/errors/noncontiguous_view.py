"""`view` of a tensor whose elements do not lie in memory in the order that the new shape needs."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    operand_evidence,
    says,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace

INCOMPATIBLE = r"view size is not compatible with input tensor's size and stride"


class NoncontiguousView(Detector):
    """`view` was asked to join dimensions that a `transpose` or `permute` has put out of order.

    ## What it finds

    A `view` whose new shape joins dimensions that are not neighbours in memory, because a `transpose`, `permute`,
    `expand` or a slice came before. Told are the tensor, its shape, and the place that made it; that `reshape`
    goes through is tried on the real tensor.

    ## Why it breaks training

    `view` never copies: it reads the same memory with other strides. Where no strides give the new shape it
    raises; `reshape` copies in that case.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(12, 12)

        def forward(self, x):
            split = self.project(x).view(x.shape[0], x.shape[1], 3, 4).transpose(1, 2)
            joined = split.softmax(-1).transpose(1, 2)
            return joined.view(x.shape[0], x.shape[1], 12)  # <- noncontiguous-view


    torch.manual_seed(0)
    model = Heads()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        loss = model(torch.randn(2, 5, 12)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(12, 12)

        def forward(self, x):
            split = self.project(x).view(x.shape[0], x.shape[1], 3, 4).transpose(1, 2)
            joined = split.softmax(-1).transpose(1, 2)
            return joined.reshape(x.shape[0], x.shape[1], 12)


    torch.manual_seed(0)
    model = Heads()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        loss = model(torch.randn(2, 5, 12)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A helper that views where it can and copies where it must:

    ```python
    import torch


    def flat(x):
        try:
            return x.view(x.shape[0], -1)
        except RuntimeError:
            return x.contiguous().view(x.shape[0], -1)


    torch.manual_seed(0)
    model = torch.nn.Linear(12, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(4):
        x = torch.randn(6, 4, 3).transpose(1, 2)
        loss = model(flat(x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    That `reshape` goes through does not mean that the order of the elements is the one you want: a `reshape` in
    place of a `permute` mixes up axes without an error; see `samples-mixed`.
    """

    name = "noncontiguous-view"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, INCOMPATIBLE) is None:
                continue
            tensor = next(iter(crash.operands), None)
            what = f"`{tensor.name}`" if tensor is not None else "the tensor"
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=f"`{expression_of(crash)}` needs the elements of {what} in order, and in memory they are not",
                evidence=[
                    Evidence(
                        "`transpose`, `permute`, `expand` and slices change only the strides; `view` cannot join such "
                        "dimensions, `reshape` copies them"
                    ),
                    *operand_evidence(crash),
                    *walk_evidence(crash),
                ],
                fixes=fixes_of(crash, "use-reshape")
                or [idea("write `reshape` in place of `view`, or call `.contiguous()` first")],
            )
