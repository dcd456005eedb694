"""All rows of a weight began equal and stay equal."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import initial
from torchwhy.detect.edits import Source
from torchwhy.detect.looks import first_census, still_symmetric, weight_names
from torchwhy.detect.overshoot import loss_curve
from torchwhy.detect.training import Training, trainings
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterSeen
from torchwhy.record.trace import Trace


class ConstantInitialisation(Detector):
    """The weights of a hidden layer all start at the same value, so all its units compute and learn the same.

    ## What it finds

    A weight of a hidden layer whose rows were equal, bit for bit, when training began, and still are after ten
    or more updates.

    ## Why it breaks training

    Two units with equal weights give equal outputs and get equal gradients: they stay equal for ever, and the layer
    is worth a single unit. If all weights are zero no gradient comes through at all, and only the last bias learns.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 20)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)  # <- constant-initialisation
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    A constant other than zero lets the loss fall a little; the layer still has one unit in 32 copies.

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(6, 32)
            self.out = nn.Linear(32, 1)
            self.hidden.weight.data.fill_(0.1)  # <- constant-initialisation
            self.out.weight.data.fill_(0.1)

        def forward(self, x):
            return self.out(torch.tanh(self.hidden(x)) * 1.0)


    torch.manual_seed(0)
    net = Net()
    net.hidden.bias.data.zero_()
    x = torch.randn(200, 6)
    y = (x[:, :1] * x[:, 1:2]).sign()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(80):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 20)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A last layer, and a branch beside a random one, may well start at zero: their rows differ after a step or two.

    ```python
    import torch
    from torch import nn


    class WithAdapter(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(8, 16)
            self.down, self.up = nn.Linear(8, 4, bias=False), nn.Linear(4, 16, bias=False)
            self.head = nn.Linear(16, 3)
            nn.init.zeros_(self.up.weight)
            nn.init.zeros_(self.head.weight)

        def forward(self, x):
            return self.head(torch.relu(self.base(x) + self.up(self.down(x))))


    torch.manual_seed(0)
    model = WithAdapter()
    x = torch.randn(90, 8)
    labels = x[:, :3].argmax(dim=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        loss = nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Equal columns of a weight, and equal rows that dropout tells apart, are not reported.
    """

    name = "constant-initialisation"
    needs = frozenset({"census", "symmetry"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for training in trainings(trace):
            equal = still_symmetric(trace, training)
            hidden = [name for name in equal if name in weight_names(training)[:-1]]
            if hidden and training.moved() > 0:
                seen = first_census(trace, training)
                yield self._finding(
                    trace, training, [seen[name] for name in hidden if name in seen], hidden
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.better(finding, source)

    def _finding(
        self, trace: Trace, training: Training, seen: list[ParameterSeen], names: list[str]
    ) -> Finding:
        first = next((p for p in seen if p.made_at is not None), None)
        rows = f" ({first.shape[0]} rows)" if first is not None else ""
        kind = "all 0" if first is not None and first.rms == 0 else "equal"
        still = "" if training.never_learnt else ", and still are after all updates"
        return Finding(
            detector=self.name,
            severity="error" if training.never_learnt or training.rests else "warning",
            message=(
                f"{names[0]}{rows} started with rows that are {kind}{still}: all units of the layer compute the same "
                "and get the same gradient, so they can never become different"
            ),
            step=0,
            rank=trace.rank,
            location=first.made_at if first is not None else training.made.location,
            evidence=(
                *(
                    Evidence(f"rows of {name} are equal, bit for bit, before and after the updates")
                    for name in names[:4]
                ),
                loss_curve(training),
            ),
            fixes=(
                Fix(
                    title="draw the weights at random (nn.init.kaiming_uniform_, xavier_uniform_); "
                    "only biases may start at 0",
                    safety="show-only",
                ),
            ),
        )
