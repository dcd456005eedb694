"""Parameters that the loss does not depend on."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.wiring import followed, named
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace


class UnusedParameters(Detector):
    """Parameters in the optimizer never take part in the forward pass.

    ## What it finds

    Parameters that an optimizer holds and that require gradients, which no operation of the first step used and
    which have not got a gradient in all the steps since.

    ## Why it breaks training

    It need not: auxiliary heads are often left out on purpose. But a layer that was made and forgotten in `forward`
    looks the same, and the network is smaller than its author thinks. Therefore it is a note.

    ## Broken

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 16)
            self.second = nn.Linear(16, 16)  # <- unused-parameters
            self.out = nn.Linear(16, 3)

        def forward(self, x):
            x = torch.relu(self.first(x))
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

    ## Repaired

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 16)
            self.second = nn.Linear(16, 16)
            self.out = nn.Linear(16, 3)

        def forward(self, x):
            x = torch.relu(self.first(x))
            x = torch.relu(self.second(x))
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

    Two branches that take turns: each gets its gradient in time.

    ```python
    import torch
    from torch import nn


    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.even = nn.Linear(6, 3)
            self.odd = nn.Linear(6, 3)

        def forward(self, x, step):
            return self.even(x) if step % 2 == 0 else self.odd(x)


    torch.manual_seed(0)
    model = Branches()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x, step), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Looked at after 4, 8, 16 … steps: a parameter whose gradient is cleared whenever we look is taken for unused.
    """

    name = "unused-parameters"
    needs = frozenset({"census"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        looks = followed(trace)
        for census in trace.of(ParameterCensus):
            unused = [
                one
                for one in census.parameters
                if one.in_optimizer
                and one.requires_grad
                and one.registered
                and one.gradient == "none"
                and not one.used
                and one.name in looks
                and not looks[one.name].gradient
                and not looks[
                    one.name
                ].changed  # trained between the looks, by a task that came later
            ]
            trained = any(
                one.gradient == "nonzero" for one in census.parameters if one.in_optimizer
            )
            if unused and trained:
                yield Finding(
                    detector=self.name,
                    severity="note",
                    message=_message(unused),
                    step=census.step,
                    rank=trace.rank,
                    location=unused[0].made_at,
                    evidence=(
                        Evidence(
                            "no operation of its first step used them, and none has got a gradient since",
                            value=float(len(unused)),
                            step=census.step,
                        ),
                    ),
                    fixes=(Fix("use the layer in forward, or remove it", safety="show-only"),),
                )


def _message(unused: list[ParameterSeen]) -> str:
    verb, them = ("is", "it") if len(unused) == 1 else ("are", "them")
    return f"{named(unused)} {verb} in the optimizer, but the loss does not depend on {them}"
