"""A softmax before a loss that takes one itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph, base_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace


class SoftmaxBeforeCrossEntropy(Detector):
    """The model ends in a softmax, and the loss takes a softmax again.

    ## What it finds

    In the graph of a first step, the log-softmax that feeds a negative log-likelihood gets its operand from a
    softmax: the probabilities of the model are taken for logits.

    ## Why it breaks training

    `cross_entropy` expects logits. Given probabilities, its own softmax can never be sharper than e : 1, the loss
    has a floor far above 0 (1.46 for ten classes) and the gradients shrink twice. It learns, slowly, and stops early.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(dim=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for step in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # <- softmax-before-cross-entropy
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    import torch.nn.functional as F


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = torch.nn.Linear(6, 16)
            self.out = torch.nn.Linear(16, 3)

        def forward(self, x):
            return F.softmax(self.out(torch.relu(self.hidden(x))), dim=-1)


    def train(net, batches):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
        for x, y in batches:
            probabilities = net(x)
            loss = F.cross_entropy(probabilities, y)  # <- softmax-before-cross-entropy
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


    torch.manual_seed(0)
    inputs = torch.randn(40, 32, 6)
    train(Net(), [(x, x[:, :3].argmax(dim=1)) for x in inputs])
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for step in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A softmax inside the model (attention) that is followed by a layer, and one beside the loss for a metric.

    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Linear(8, 1)
            self.out = nn.Linear(8, 4)

        def forward(self, x):
            weights = torch.softmax(self.score(x), dim=1)
            return self.out((weights * x).sum(dim=1))


    torch.manual_seed(0)
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        x = torch.randn(32, 5, 8)
        y = (x.mean(dim=1)[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        with torch.no_grad():
            confidence = torch.softmax(model(x), dim=1).max(dim=1).values.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Only a softmax directly before the loss counts. Distillation that compares with softened targets is not touched,
    because targets are no operand of the log-softmax.
    """

    name = "softmax-before-cross-entropy"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations("_log_softmax"):
            softmax = graph.source(loss)
            if (
                softmax is None
                or base_of(softmax) not in ("_softmax", "_safe_softmax")
                or not graph.trains(softmax)
            ):
                continue
            classes = loss.shape[-1] if loss.shape else 0
            facts = loss.facts[0] if loss.facts else None
            evidence = [
                Evidence(
                    "the loss takes the softmax of its input once more",
                    step=0,
                    location=loss.location,
                )
            ]
            if softmax.location is not None:
                evidence.append(
                    Evidence(
                        f"its input is the result of {softmax.location.expression}",
                        step=0,
                        location=softmax.location,
                    )
                )
            if facts is not None and facts.minimum is not None and facts.maximum is not None:
                evidence.append(
                    Evidence(
                        f"that input lies in {facts.minimum:.3g}…{facts.maximum:.3g}: probabilities, not logits",
                        step=0,
                    )
                )
            yield Finding(
                detector=self.name,
                severity="warning",
                message=f"cross entropy over {classes} classes takes a softmax of what is a softmax already",
                step=0,
                rank=trace.rank,
                location=loss.location,
                evidence=tuple(evidence),
                fixes=(
                    Fix(
                        "remove the softmax from the model and give the loss its logits",
                        safety="show-only",
                    ),
                ),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.without_activation(finding, source, "softmax")
