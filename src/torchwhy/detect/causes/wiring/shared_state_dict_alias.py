"""Best weights that were only referred to."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import AliasLoaded


class SharedStateDictAlias(Detector):
    """Weights that were kept to be restored later are the living weights themselves.

    ## What it finds

    When a model is given weights by `load_state_dict`, the variable that holds them refers to the very memory of
    the model's parameters, and optimizer steps have run since they were taken.

    ## Why it breaks training

    `state_dict()` copies nothing: it returns references. "The best weights" change with every step, and restoring
    them restores nothing: what is evaluated and saved is the last epoch, not the best one.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best_loss, best_state = float("inf"), None
    for epoch in range(20):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch < 10 and loss.item() < best_loss:
            best_loss = loss.item()
            best_state = model.state_dict()  # <- shared-state-dict-alias
    model.load_state_dict(best_state)
    ```

    ```python
    import torch
    from torch import nn


    class EarlyStopping:
        def __init__(self, model):
            self.model = model
            self.best = float("inf")
            self.weights = None

        def update(self, loss):
            if loss < self.best:
                self.best = loss
                self.weights = self.model.state_dict()  # <- shared-state-dict-alias

        def restore(self):
            self.model.load_state_dict(self.weights)


    def train():
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        stopping = EarlyStopping(model)
        for epoch in range(30):
            x = torch.randn(64, 4)
            loss = nn.functional.mse_loss(model(x), x.prod(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            stopping.update(loss.item() if epoch < 20 else float("inf"))
        stopping.restore()


    torch.manual_seed(0)
    train()
    ```

    ## Repaired

    ```python
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best_loss, best_state = float("inf"), None
    for epoch in range(20):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best_loss:
            best_loss = loss.item()
            best_state = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)
    ```

    ## Lookalike

    Weights that go to a file, into another network, or are cloned one by one.

    ```python
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, target = nn.Linear(4, 2), nn.Linear(4, 2)
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
    file, kept = io.BytesIO(), None
    for step in range(20):
        x = torch.randn(32, 4)
        with torch.no_grad():
            wanted = x[:, :2] + 0.5 * target(x)
        loss = nn.functional.mse_loss(policy(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            weights = policy.state_dict()
            target.load_state_dict(weights)
            file.seek(0)
            torch.save(policy.state_dict(), file)
            kept = {name: value.clone() for name, value in policy.state_dict().items()}
    policy.load_state_dict(kept)
    ```

    ## Limits

    Seen at the moment the weights are loaded back. References that are only saved or returned are not reported.
    """

    name = "shared-state-dict-alias"
    needs = frozenset({"alias-loaded"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(AliasLoaded)[:1]:
            passed = event.step - event.taken_step
            yield Finding(
                detector=self.name,
                severity="error",
                message=(
                    f"`{event.name}` is no copy of the weights: it changed with the model "
                    f"in the {passed} steps until it was loaded back"
                ),
                step=event.taken_step,
                rank=trace.rank,
                location=event.taken_at or event.location,
                evidence=(
                    Evidence(
                        f"when it was loaded{where(event.location)}, {event.tensors} of its "
                        "tensors were the memory of the model itself",
                        value=float(event.tensors),
                        step=event.step,
                        location=event.location,
                    ),
                ),
                fixes=(Fix("keep a copy: copy.deepcopy(model.state_dict())", safety="show-only"),),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.copied_weights(finding, source)
