"""The gradient of a branch that a mask hid in forward."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import operands
from torchwhy.detect.edits import Source
from torchwhy.detect.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    samples_of,
    short,
)
from torchwhy.detect.operands import is_masked
from torchwhy.detect.sources import word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


class MaskedBranchGradient(Detector):
    """A mask hid a bad value in forward, and its gradient came through in backward.

    ## What it finds

    A backward formula that gave NaN or inf at elements which a `torch.where`, `masked_fill`, multiplication by
    a mask, `maximum` or an index discarded in forward.

    ## Why it breaks training

    `torch.where(x > 0, torch.log(x), 0)` looks safe, and its value is. But autograd differentiates both
    branches: the hidden one receives a gradient of 0, multiplies it by the slope 1/0, and 0 · inf is NaN. The
    loss is finite; all weights behind it are lost at the next step.

    ## Broken

    The logarithm of a count that is 0 for padded rows.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        x = torch.randn(8, 4)
        if step >= 3:
            x[5:] = 0.0
        energy = model(x) ** 2
        logs = torch.where(energy > 0, torch.log(energy), torch.zeros_like(energy))  # <- masked-branch-gradient
        loss = (energy - 0.1 * logs).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A distance in a module: the root is hidden by the mask one line later.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Distance(nn.Module):
        def forward(self, output, target, present):
            squares = ((output - target) ** 2).sum(dim=1)
            distance = torch.sqrt(squares)  # <- masked-branch-gradient
            return torch.where(present, distance, torch.zeros_like(distance)).sum() / present.sum()


    torch.manual_seed(0)
    inputs = torch.randn(32, 5)
    targets = torch.randn(32, 3)
    present = torch.ones(32, dtype=torch.bool)
    inputs[19], targets[19], present[19] = 0.0, 0.0, False
    net = nn.Linear(5, 3, bias=False)
    criterion = Distance()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for x, y, here in DataLoader(TensorDataset(inputs, targets, present), batch_size=8):
        optimizer.zero_grad()
        loss = criterion(net(x), y, here)
        loss.backward()
        optimizer.step()
    ```

    A softplus written by hand: the exponential of the branch that is not taken overflows.

    ```python
    import torch

    torch.manual_seed(0)
    w = torch.randn(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    for step in range(4):
        x = torch.randn(8, 3) * (1 if step < 2 else 500)
        z = x @ w
        soft = torch.log1p(torch.exp(z))  # <- masked-branch-gradient
        loss = torch.where(z > 20, z, soft).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    An index, or a product with a mask of zeros, hides it no better.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        x = torch.randn(8, 4)
        if step == 3:
            x[6:] = 0.0
        squares = model(x).pow(2).sum(dim=1)
        lengths = squares.sqrt()  # <- masked-branch-gradient
        loss = lengths[squares > 0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        x = torch.randn(8, 4)
        valid = torch.ones(8)
        if step == 3:
            x[6:] = 0.0
            valid[6:] = 0.0
        lengths = model(x).pow(2).sum(dim=1).sqrt()  # <- masked-branch-gradient
        loss = (lengths * valid).sum() / valid.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    The operand is made safe before the root, so that the hidden branch has a finite slope.

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Distance(nn.Module):
        def forward(self, output, target, present):
            squares = ((output - target) ** 2).sum(dim=1)
            squares = torch.where(present, squares, torch.ones_like(squares))
            distance = torch.sqrt(squares)
            return torch.where(present, distance, torch.zeros_like(distance)).sum() / present.sum()


    torch.manual_seed(0)
    inputs = torch.randn(32, 5)
    targets = torch.randn(32, 3)
    present = torch.ones(32, dtype=torch.bool)
    inputs[19], targets[19], present[19] = 0.0, 0.0, False
    net = nn.Linear(5, 3, bias=False)
    criterion = Distance()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for x, y, here in DataLoader(TensorDataset(inputs, targets, present), batch_size=8):
        optimizer.zero_grad()
        loss = criterion(net(x), y, here)
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A hidden branch that has no gradient, because it is data; and one whose NaN gradient is stopped again.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        counts = torch.randint(0, 3, (8, 4)).float()
        features = torch.where(counts > 0, torch.log(counts), torch.zeros_like(counts))
        roots = torch.sqrt(torch.relu(model(features)))
        loss = torch.where(roots > 0, roots, torch.zeros_like(roots)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    The mask is recognised when it discards exactly the elements that went bad. If the bad value also reaches
    the loss by another way, the operation itself is reported.
    """

    name = "masked-branch-gradient"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from operands.for_masked(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a backward birth at elements that were discarded in forward."""
    if birth.kind == "source" or birth.forward is None or not is_masked(birth):
        return None
    mask = birth.forward.hidden_by
    by = short(mask.expression) if mask is not None and mask.expression else "a mask"
    line = f" on line {mask.line}" if mask is not None else ""
    name = forward_operand(birth)
    state = "finite" if birth.forward.output_finite else "not finite"
    return Verdict(
        f"{by}{line} hides the value of {expression_of(birth)}, but not its gradient, which is "
        f"{word(birth.value)}{samples_of(birth)}",
        (
            Evidence(
                f"the hidden value itself was {state}, and did not reach the loss",
                step=birth.step,
                location=mask,
            ),
            Evidence(
                f"{birth.node} computed the gradient of the hidden branch",
                value=birth.value,
                step=birth.step,
            ),
        ),
        f"mask {name} before {expression_of(birth)}: put a harmless value such as 1 where the result is not used, "
        "and keep the mask behind it",
    )
