"""Evaluation that records gradients."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import loops
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import training_modes
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ForwardModes
from torchwhy.record.trace import Trace

ENOUGH_FORWARDS = 3  # a single forward is a sanity check


class MissingNoGrad(Detector):
    """A model is evaluated with gradients on.

    ## What it finds

    Forward passes of a model that trains, at a place where no backward pass ever follows from them, with gradients
    recorded.

    ## Why it breaks training

    It does not, but every such pass builds a graph and keeps all activations until the result is let go: evaluation
    needs twice the memory and more time. If results are kept, memory grows with each batch. Therefore it is a note.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        for batch in range(10):
            x = torch.randn(32, 6)
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        right = 0
        for batch in range(4):
            x = torch.randn(64, 6)
            prediction = model(x)  # <- missing-no-grad
            right += (prediction.argmax(dim=1) == x[:, :3].argmax(dim=1)).sum().item()
        print(epoch, right / 256)
        model.train()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        for batch in range(10):
            x = torch.randn(32, 6)
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for batch in range(4):
                x = torch.randn(64, 6)
                prediction = model(x)
                right += (prediction.argmax(dim=1) == x[:, :3].argmax(dim=1)).sum().item()
        print(epoch, right / 256)
        model.train()
    ```

    ## Lookalike

    One loss over many forward passes of the same model: all of them feed it.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(32, 6)
        first = model(x)
        second = model(x + 0.1 * torch.randn(32, 6))
        views = [model(x + 0.1 * torch.randn(32, 6)) for view in range(4)]
        loss = (first - second).pow(2).mean() + sum((first - view).pow(2).mean() for view in views)
        loss = loss + (first.std(dim=0) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    The search for a forward pass in the graph of a loss ends after eight backward passes or 5000 nodes.
    """

    name = "missing-no-grad"
    needs = frozenset({"modes"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for mode in trace.of(ForwardModes):
            if not mode.grad or mode.backwards or mode.count < ENOUGH_FORWARDS:
                continue
            if training_modes(trace, mode.path):
                kind = "train" if mode.training else "eval"
                yield Finding(
                    detector=self.name,
                    severity="note",
                    message=(
                        f"`{mode.path}` runs here {mode.count} times with gradients "
                        "recorded, and no backward pass uses them"
                    ),
                    step=mode.first_step,
                    rank=trace.rank,
                    location=mode.location,
                    evidence=(
                        Evidence(
                            f"{mode.count} forward passes in {kind} mode, none of them in the graph of a loss",
                            value=float(mode.count),
                            step=mode.first_step,
                        ),
                    ),
                    fixes=(
                        Fix("wrap the evaluation in `with torch.no_grad():`", safety="show-only"),
                    ),
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.without_graph(finding, source)
