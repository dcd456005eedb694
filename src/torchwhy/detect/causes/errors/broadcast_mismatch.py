"""Tensors that are combined element by element, joined or stacked have sizes that cannot be matched."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import (
    crashes,
    expression_of,
    finding_of,
    first_line,
    fixes_of,
    idea,
    is_in_loader,
    is_loss,
    is_product,
    is_ragged_last,
    layer_of,
    operand_evidence,
    says,
    size,
    walk_evidence,
)
from torchwhy.detect.cures import shapes
from torchwhy.detect.edits import Source
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace

ELEMENTWISE = r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
JOINED = r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)"
HIDDEN = r"Expected hidden(?:\[\d\])? size \(\d+, (\d+), \d+\), got \[\d+, (\d+), \d+\]"
PATTERNS = (
    ELEMENTWISE,
    JOINED,
    r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton dimension (\d+)",
    r"Index tensor must have the same number of dimensions as",
    r"stack expects each tensor to be equal size",
    r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
    r"shape mismatch: value tensor of shape",
    r"output with shape .* doesn't match the broadcast shape",
    r"shape of the \dD attn_mask is .*, but should be",
    r"[Ee]xpect(?:ed|ing) key_padd(?:ed|ing)_mask",
    r"shape of the mask \[.*\] at index \d+ does not match the shape of the indexed tensor",
    HIDDEN,
    r"[Ee]xpected `?attn_mask`? ",
    r"Shape mismatch: objects cannot be broadcast",
)
MOST_NAMED = 3


class BroadcastMismatch(Detector):
    """Tensors that are combined element by element, or joined, have sizes that cannot be matched.

    ## What it finds

    `+`, `*`, `where`, a mask, an assignment to a slice, `torch.cat` or `torch.stack` that raised because a size of one
    tensor is neither equal to that of the other nor 1. It names the tensors as the program does, the dimension at
    which they part, the way the data took, and tries the smaller one with a dimension put in.

    ## Why it breaks training

    Broadcasting lines up shapes from the right. A weight per sample (shape n) against a table of n × k must become
    n × 1 first; two branches of a network must be brought to the same height and width before they are joined.

    ## Broken

    ```python
    import torch
    from torch import nn

    model = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weights = torch.rand(16)
    for step in range(3):
        scores = model(torch.randn(16, 6))
        weighted = scores * weights  # <- broadcast-mismatch
        loss = weighted.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A skip connection whose other branch lost a row and a column on the way.

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(1, 4, 3, padding=1)
            self.middle = nn.Conv2d(4, 4, 3, padding=1)
            self.last = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            skip = F.relu(self.down(x))
            deep = F.relu(self.middle(F.max_pool2d(skip, 2)))
            deep = F.interpolate(deep, scale_factor=2)
            both = torch.cat([skip, deep], dim=1)  # <- broadcast-mismatch
            return self.last(both)


    net = UNet()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(3):
        loss = net(torch.randn(2, 1, 25, 25)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A residual block that changes the width of its stream.

    ```python
    import torch
    from torch import nn


    class Residual(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return x + self.inner(x)  # <- broadcast-mismatch


    model = nn.Sequential(Residual(nn.Linear(8, 8)), Residual(nn.Linear(8, 12)), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(4, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    model = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weights = torch.rand(16)
    for step in range(3):
        scores = model(torch.randn(16, 6))
        weighted = scores * weights.unsqueeze(1)
        loss = weighted.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Sizes that differ and are meant to: one of them is 1, and `cat` joins along the dimension in which they differ.

    ```python
    import torch
    from torch import nn

    model = nn.Linear(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x = torch.cat([torch.randn(16, 6), torch.randn(16, 4)], dim=1)
        loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    In a loss it is `target-shape-mismatch`, in a product of matrices `matmul-size-mismatch`, in a collate function
    `ragged-batch`, and where a fixed size meets a smaller last batch `ragged-last-batch`. Sizes that fit by accident
    raise nothing.
    """

    name = "broadcast-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            found = next((match for pattern in PATTERNS if (match := says(crash, pattern))), None)
            if found is None or is_in_loader(crash) or is_loss(crash) or is_product(crash):
                continue
            numbers = [int(number) for number in found.groups() if number]
            if is_ragged_last(crash, *numbers[:3]):
                continue
            yield _judge(trace, crash)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.batch_first_where_made(finding, source)


def _judge(trace: Trace, crash: Crash) -> Finding:
    tensors = crash.operands if len(crash.operands) > 1 else crash.inputs
    shown = ", ".join(f"{tensor.name} ({size(tensor)})" for tensor in tensors[:MOST_NAMED])
    fixes = fixes_of(crash, "unsqueeze-operand")
    return finding_of(
        trace,
        crash,
        detector=BroadcastMismatch.name,
        message=f"{expression_of(crash)} cannot match the sizes of {shown or 'its tensors'}: {_difference(crash)}",
        evidence=[*_source(crash), *operand_evidence(crash), *walk_evidence(crash)],
        fixes=fixes or [_advice(crash)],
    )


def _difference(crash: Crash) -> str:
    """Say in which dimension the tensors part."""
    found = says(crash, ELEMENTWISE)
    if found:
        return f"{found[1]} against {found[2]} in dimension {found[3]}"
    found = says(crash, JOINED)
    if found:
        return (
            f"they are joined along dimension {found[1]}, and elsewhere {found[2]} meets {found[3]}"
        )
    return first_line(crash.message)


def _source(crash: Crash) -> list[Evidence]:
    """Say which of the tensors of the walk is the last that changed its size."""
    if len(crash.walk) < 2:
        return []
    last = crash.walk[-1]
    before = next((one for one in reversed(crash.walk[:-1]) if one.shape != last.shape), None)
    if before is None:
        return []
    return [Evidence(f"{last.what} gave the last of these shapes", location=last.location)]


def _advice(crash: Crash) -> Fix:
    if says(crash, JOINED):
        return idea(
            "bring the tensors to one size before joining them: interpolate to, or crop at, the other's shape"
        )
    layer = layer_of(crash)
    if layer is not None and says(crash, HIDDEN) and layer.settings.get("batch_first") is False:
        return idea(
            f"{layer.path} takes the sequence first and the batch second; if the batch is first, make it with "
            "batch_first=True"
        )
    return idea(
        "bring the tensors to one shape first, or put in a dimension of size 1 with unsqueeze"
    )
