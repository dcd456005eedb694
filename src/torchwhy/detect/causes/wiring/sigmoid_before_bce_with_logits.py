"""A sigmoid before a loss that takes one itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.graph import ForwardGraph, base_of, expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace


class SigmoidBeforeBceWithLogits(Detector):
    """The model ends in a sigmoid, and the loss takes a sigmoid again.

    ## What it finds

    In the graph of a first step, the operand of `binary_cross_entropy_with_logits` (or of a log-sigmoid) is the
    result of a sigmoid: the probabilities of the model are taken for logits.

    ## Why it breaks training

    `BCEWithLogitsLoss` takes the sigmoid itself. The sigmoid of a number between 0 and 1 lies between 0.5 and 0.73:
    the model can never say "no", the loss has a floor of 0.31 for positive and 0.69 for negative samples, and the
    gradients shrink twice.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(128, 6)
    y = (x[:, :1] + x[:, 1:2] > 0).float()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # <- sigmoid-before-bce-with-logits
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    import torch.nn.functional as F
    from torch.utils.data import DataLoader, TensorDataset


    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Linear(8, 16)
            self.tags = torch.nn.Linear(16, 5)

        def forward(self, x):
            return torch.sigmoid(self.tags(F.gelu(self.body(x))))


    class Trainer:
        def __init__(self, model, loader):
            self.model, self.loader = model, loader
            self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def loss(self, x, y):
            scores = self.model(x)
            return F.binary_cross_entropy_with_logits(scores, y)  # <- sigmoid-before-bce-with-logits

        def fit(self):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                self.loss(x, y).backward()
                self.optimizer.step()


    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x[:, :5] > 0.5).float()
    Trainer(Tagger(), DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)).fit()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(128, 6)
    y = (x[:, :1] + x[:, 1:2] > 0).float()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A sigmoid with the loss that takes probabilities, a gate inside the model, and probabilities for a metric.

    ```python
    import torch
    from torch import nn


    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.value, self.out = nn.Linear(6, 16), nn.Linear(6, 16), nn.Linear(16, 1)

        def forward(self, x):
            return self.out(torch.sigmoid(self.gate(x)) * self.value(x))


    torch.manual_seed(0)
    x = torch.randn(128, 6)
    y = (x[:, :1] > 0).float()
    model = Gated()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(60):
        logits = model(x)
        accuracy = ((torch.sigmoid(logits) > 0.5).float() == y).float().mean()
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        loss = loss + 0.1 * nn.functional.binary_cross_entropy(torch.sigmoid(logits), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Only a sigmoid directly before the loss counts; one that is scaled or shifted first is taken for intended.
    """

    name = "sigmoid-before-bce-with-logits"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations("binary_cross_entropy_with_logits", "log_sigmoid_forward"):
            sigmoid = graph.source(loss)
            if sigmoid is None or base_of(sigmoid) != "sigmoid" or not graph.trains(sigmoid):
                continue
            given = expression_of(sigmoid.location, "what it gets")
            yield Finding(
                detector=self.name,
                severity="warning",
                message=f"{given} is a sigmoid already, and this loss takes a sigmoid again",
                step=0,
                rank=trace.rank,
                location=loss.location,
                evidence=tuple(_facts(loss, sigmoid)),
                fixes=(
                    Fix(
                        "remove the sigmoid from the model and give the loss its logits",
                        safety="show-only",
                    ),
                    Fix("or keep the sigmoid and use BCELoss", safety="show-only"),
                ),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.without_activation(finding, source, "sigmoid")


def _facts(loss: GraphOperation, sigmoid: GraphOperation) -> Iterator[Evidence]:
    yield Evidence("the sigmoid is taken here", step=0, location=sigmoid.location)
    facts = loss.facts[0] if loss.facts else None
    if facts is not None and facts.minimum is not None and facts.maximum is not None:
        yield Evidence(
            f"what the loss got as logits lies in {facts.minimum:.3g}…{facts.maximum:.3g}; "
            "after its own sigmoid no probability can be below 0.5 or above 0.73",
            step=0,
        )
