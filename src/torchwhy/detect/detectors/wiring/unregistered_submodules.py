"""Layers in a plain list or dictionary."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import untrained, where
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace


class UnregisteredSubmodules(Detector):
    """Layers run inside a model's forward, but the model does not know them.

    ## What it finds

    Modules that were called in the forward of another module, that no known model reaches through its attributes,
    whose parameters get gradients, are in no optimizer and never change: they live in a Python list or dictionary.

    ## Why it breaks training

    `model.parameters()`, `model.to(device)`, `model.eval()` and `state_dict()` pass such layers by. They stay at
    their random start, and are missing in the checkpoint.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [nn.Linear(6, 16), nn.Linear(16, 16)]  # <- unregistered-submodules
            self.out = nn.Linear(16, 3)

        def forward(self, x):
            for layer in self.hidden:
                x = torch.relu(layer(x))
            return self.out(x)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch
    from torch import nn


    class MultiTask(nn.Module):
        def __init__(self, tasks):
            super().__init__()
            self.body = nn.Linear(5, 12)
            self.heads = {}
            for task in tasks:
                self.heads[task] = nn.Linear(12, 1)  # <- unregistered-submodules

        def forward(self, x):
            features = torch.tanh(self.body(x))
            return {task: head(features) for task, head in self.heads.items()}


    def main():
        model = MultiTask(["sum", "maximum"])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(40):
            x = torch.randn(32, 5)
            out = model(x)
            loss = (out["sum"][:, 0] - x.sum(dim=1)).pow(2).mean()
            loss = loss + (out["maximum"][:, 0] - x.amax(dim=1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


    torch.manual_seed(0)
    main()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.ModuleList([nn.Linear(6, 16), nn.Linear(16, 16)])
            self.out = nn.Linear(16, 3)

        def forward(self, x):
            for layer in self.hidden:
                x = torch.relu(layer(x))
            return self.out(x)


    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A fixed network of features is hidden in a list on purpose, and an ensemble in a list is trained member by member.

    ```python
    import torch
    from torch import nn


    class WithFeatures(nn.Module):
        def __init__(self, features):
            super().__init__()
            self.features = [features.requires_grad_(False)]
            self.out = nn.Linear(16, 3)

        def forward(self, x):
            return self.out(torch.relu(self.features[0](x)))


    torch.manual_seed(0)
    models = [WithFeatures(nn.Linear(6, 16)) for member in range(3)]
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-2) for model in models]
    for step in range(20):
        x = torch.randn(32, 6)
        for model, optimizer in zip(models, optimizers):
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Limits

    Plain tensors in a list (`self.weights = [torch.randn(3, 3, requires_grad=True)]`) are no modules and not seen.
    """

    name = "unregistered-submodules"
    needs = frozenset({"census"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for census in trace.of(ParameterCensus):
            hidden = [
                one
                for one in untrained(trace, census)
                if one.inside is not None and not one.registered and one.written_by != "loaded"
            ]
            if hidden:
                yield self._finding(trace, census, hidden)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.registered(finding, source)

    def _finding(
        self, trace: Trace, census: ParameterCensus, hidden: list[ParameterSeen]
    ) -> Finding:
        first = next((one for one in hidden if one.made_at is not None), hidden[0])
        places = list(dict.fromkeys(one.made_at for one in hidden if one.made_at is not None))
        kinds = ", ".join(dict.fromkeys(str(one.owner) for one in hidden))
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"layers ({kinds}) run inside `{first.inside}`, but it does not know them: "
                f"{len(hidden)} tensors are trained by nobody"
            ),
            step=census.step,
            rank=trace.rank,
            location=first.made_at,
            evidence=(
                Evidence(
                    f"{len(hidden)} tensors of {kinds} get gradients, are in no optimizer and never change",
                    value=float(len(hidden)),
                    step=census.step,
                ),
                *(
                    Evidence(f"made here{where(place)}: {place.expression}", location=place)
                    for place in places[:3]
                ),
            ),
            fixes=(
                Fix("keep the layers in an nn.ModuleList or nn.ModuleDict", safety="show-only"),
            ),
        )
