"""A loss that grows with the batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.graph import ForwardGraph, base_of, elements
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import GraphOperation, ModelOutput
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

# Which argument of a fused loss says how it is reduced, and the number torch uses for "sum".
REDUCTION = {
    "mse_loss": "2",
    "smooth_l1_loss": "2",
    "huber_loss": "2",
    "nll_loss_forward": "3",
    "nll_loss2d_forward": "3",
    "binary_cross_entropy": "3",
    "binary_cross_entropy_with_logits": "4",
}
BY_SUM = 2
SCALE_SENSITIVE = {"SGD", "ASGD"}  # Adam and its kin divide by the size of the gradient


class SumOverBatch(Detector):
    """The loss is a sum over the samples of the batch, and the optimizer's steps grow with it.

    ## What it finds

    In the graph of the first step the loss is a sum over all samples, not an average, and the optimizer is plain
    gradient descent, whose step is proportional to the gradient.

    ## Why it breaks training

    Twice the batch gives twice the gradient, so the learning rate acts as if it were multiplied by the batch size: a
    rate that works with 32 samples diverges with 256, and a smaller last batch makes a smaller step.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x.sum(dim=1, keepdim=True)
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss(reduction="sum")
    for step in range(40):
        loss = criterion(model(x), y)  # <- sum-over-batch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(320, 5)
    loader = DataLoader(TensorDataset(x, x[:, :3].argmax(dim=1)), batch_size=32)
    model = nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for epoch in range(3):
        for inputs, labels in loader:
            each = nn.functional.cross_entropy(model(inputs), labels, reduction="none")
            loss = each.sum()  # <- sum-over-batch
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x.sum(dim=1, keepdim=True)
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.MSELoss()
    for step in range(40):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A sum that is divided by the number of samples, and a sum over the features of one sample.

    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(40):
        x = torch.randn(32, 5)
        error = (model(x) - x[:, :3]) ** 2
        loss = error.sum() / len(x) + error.sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    It is a note: a sum with a rate chosen for it is fine. When training diverges, `learning-rate-too-high` says so.
    """

    name = "sum-over-batch"
    needs = frozenset({"graph"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        made = next((one for one in trace.of(OptimizerMade) if one.kind in SCALE_SENSITIVE), None)
        output = next(iter(trace.of(ModelOutput)), None)
        root = next((one for one in graph.losses if one.order is not None), None)
        if made is None or output is None or root is None or output.rows < 2:
            return
        summed = _summed(graph, graph.operation(root.order), output.rows)
        if summed is None:
            return
        rate = _rate(made)
        like = f"; a rate of {rate:g} acts like {rate * output.rows:g} on the mean" if rate else ""
        yield Finding(
            detector=self.name,
            severity="note",
            message=f"the loss is a sum over the {output.rows} samples of the batch{like}",
            step=0,
            rank=trace.rank,
            location=summed.location,
            evidence=(
                Evidence(
                    f"{made.kind} takes steps in proportion to the gradient", location=made.location
                ),
            ),
            fixes=(
                Fix("use the mean, or choose the rate for this batch size", safety="show-only"),
            ),
        )


def _summed(graph: ForwardGraph, root: GraphOperation | None, rows: int) -> GraphOperation | None:
    """Return the operation that adds up all samples, if the loss is its result, at most with its sign turned."""
    while root is not None and base_of(root) in ("neg", "_to_copy", "clone") and root.inputs:
        root = graph.source(root)
    if root is None:
        return None
    shape = root.input_shapes[0] if root.input_shapes else []
    holds_samples = bool(shape) and shape[0] == rows and elements(shape) > 1
    by_hand = base_of(root) == "sum" and not root.shape
    fused = root.scalars.get(REDUCTION.get(base_of(root), "")) == BY_SUM
    return root if holds_samples and (by_hand or fused) else None


def _rate(made: OptimizerMade) -> float | None:
    rate = made.defaults.get("lr")
    return decode(rate) if isinstance(rate, (int, float)) and not isinstance(rate, bool) else None
