"""Layers or parameters in a plain list or dictionary."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.crashes import crashes, finding_of, idea
from torchwhy.detect.cures import modules
from torchwhy.detect.edits import Source
from torchwhy.detect.wiring import named, untrained
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.crashes import Crash
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace


class UnregisteredSubmodules(Detector):
    """Layers run inside a model's forward, but the model does not know them.

    ## What it finds

    Modules that were called in the forward of another module, that no known model reaches through its attributes,
    whose parameters get gradients, are in no optimizer and never change: they live in a Python list or dictionary.
    The same of an `nn.Parameter` that lies in such a list or dictionary of a module. A model that has nothing else
    leaves the optimizer with an empty list of parameters, and the program dies of that.

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

    Parameters of one's own in lists:

    ```python
    import torch
    from torch import nn


    class LowRank(nn.Module):
        def __init__(self, size, rank, count):
            super().__init__()
            self.base = nn.Linear(size, size)
            self.left = [nn.Parameter(torch.randn(size, rank)) for _ in range(count)]  # <- unregistered-submodules
            self.right = [nn.Parameter(torch.zeros(rank, size)) for _ in range(count)]

        def forward(self, x):
            return self.base(x) + sum(x @ a @ b for a, b in zip(self.left, self.right))


    torch.manual_seed(0)
    model = LowRank(6, 2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x.flip(dims=[1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
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

    Parameters in a list that are registered one by one, or that the optimizer is given by hand.

    ```python
    import torch
    from torch import nn


    class Polynomial(nn.Module):
        def __init__(self, degree):
            super().__init__()
            self.terms = [nn.Parameter(torch.randn(1) * 0.1) for _ in range(degree)]
            for number, term in enumerate(self.terms):
                self.register_parameter(f"term{number}", term)
            self.shifts = {"x": nn.Parameter(torch.zeros(1))}

        def forward(self, x):
            return sum(term * (x - self.shifts["x"]) ** k for k, term in enumerate(self.terms))


    torch.manual_seed(0)
    model = Polynomial(4)
    optimizer = torch.optim.Adam([*model.parameters(), *model.shifts.values()], lr=1e-2)
    for step in range(30):
        x = torch.rand(32)
        loss = nn.functional.mse_loss(model(x), x.sin())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Plain tensors in a list (`self.weights = [torch.randn(3, 3, requires_grad=True)]`) are no parameters and not seen:
    they may be inputs by which somebody differentiates.
    """

    name = "unregistered-submodules"
    needs = frozenset({"census", "crash"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if "hidden_in" in crash.facts:
                yield _no_parameters(trace, crash)
        for census in trace.of(ParameterCensus):
            # A matrix of zeros behind another one keeps the gradient of that one at 0 in the first step.
            hidden = [
                one
                for one in untrained(trace, census, ("nonzero", "zero"))
                if one.inside is not None and not one.registered and one.written_by != "loaded"
            ]
            if any(one.gradient == "nonzero" for one in hidden):
                yield self._finding(trace, census, hidden)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        family = "Parameter" if finding.message.startswith("parameters") else "Module"
        yield from modules.registered(finding, source, family)

    def _finding(
        self, trace: Trace, census: ParameterCensus, hidden: list[ParameterSeen]
    ) -> Finding:
        first = next((one for one in hidden if one.made_at is not None), hidden[0])
        places = list(dict.fromkeys(one.made_at for one in hidden if one.made_at is not None))
        kinds = ", ".join(dict.fromkeys(str(one.owner) for one in hidden))
        are_parameters = kinds == "Parameter"
        who = (
            f"parameters in a plain list or dictionary ({named(hidden)}) are used"
            if are_parameters
            else f"layers ({kinds}) run"
        )
        tensors = "tensors" if are_parameters else f"tensors of {kinds}"
        what, container = ("parameters", "Parameter") if are_parameters else ("layers", "Module")
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"{who} inside `{first.inside}`, but it does not know them: "
                f"{len(hidden)} tensors are trained by nobody"
            ),
            step=census.step,
            rank=trace.rank,
            location=first.made_at,
            evidence=(
                Evidence(
                    f"{len(hidden)} {tensors} get gradients, are in no optimizer and never change",
                    value=float(len(hidden)),
                    step=census.step,
                ),
                *(
                    Evidence(f"made here: {place.expression}", location=place)
                    for place in places[:3]
                ),
            ),
            fixes=(
                Fix(
                    f"keep the {what} in an nn.{container}List or nn.{container}Dict",
                    safety="show-only",
                ),
            ),
        )


def _no_parameters(trace: Trace, crash: Crash) -> Finding:
    """Describe a model all of whose layers are hidden: the optimizer finds nothing to train."""
    kinds, place = crash.facts["hidden"], crash.facts["hidden_in"]
    family = "Parameter" if kinds == "Parameter" else "Module"
    what = "parameters" if kinds == "Parameter" else f"layers ({kinds})"
    return finding_of(
        trace,
        crash,
        detector=UnregisteredSubmodules.name,
        message=(
            f"{what} are kept in the plain list or dictionary `{place}`, so the model does not know them, and the "
            "optimizer gets no parameters"
        ),
        location=crash.places.get("hidden"),
        fixes=[idea(f"keep them in an nn.{family}List or nn.{family}Dict")],
    )
