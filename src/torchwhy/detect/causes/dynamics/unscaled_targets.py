"""The targets of a regression are so large that the first gradients throw the weights away."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.cures import initial
from torchwhy.detect.edits import Source
from torchwhy.detect.looks import training_outputs
from torchwhy.detect.overshoot import loss_curve
from torchwhy.detect.training import ADAPTIVE, Training, trainings
from torchwhy.detect.troubles import Trouble, find_trouble, target_scale
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

LARGE = 100.0  # targets beyond this; an untrained network gives outputs of about 1 or less
AWAY = 30.0  # and this many times the output


class UnscaledTargets(Detector):
    """The targets of a regression are in the hundreds or millions, and training fails because of their size.

    ## What it finds

    A squared or absolute error against targets far larger than what the network gives, in training that diverged,
    died or does not move, where the excess of the updates is gone when the targets are divided by their size.

    ## Why it breaks training

    The gradient of a squared error is proportional to the distance to the target. At targets of 100 000 the first
    update throws the weights far away. Adam, whose steps have a fixed length, does not get there at all.

    ## Broken

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(200, 6)
    price = 250_000 + 60_000 * x[:, :1]
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(100):
        loss = nn.functional.mse_loss(model(x), price)  # <- unscaled-targets
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    Adam moves each weight by 0.001 a step, and the prices are a quarter of a million away.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(200, 6)
    price = 250_000 + 60_000 * x[:, :1]
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(100):
        error = model(x) - price
        loss = (error**2).mean()  # <- unscaled-targets
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(200, 6)
    price = 250_000 + 60_000 * x[:, :1]
    target = (price - price.mean()) / price.std()
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(100):
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    Large targets, a rate that fits them, and a loss that falls.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(200, 6)
    y = 500 * x[:, :1] + 200
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(100):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Of a loss written by hand only the square of a difference is recognised; its size then tells that of the targets.
    """

    name = "unscaled-targets"
    needs = frozenset({"graph", "loss", "birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        size, place = target_scale(trace)
        outputs = training_outputs(trace, 0)
        output = decode(outputs[-1].rms) if outputs else 1.0
        if size < LARGE or size < AWAY * output:
            return
        for training in trainings(trace):
            trouble = find_trouble(trace, training)
            if trouble is not None and _targets_are_guilty(training, trouble, size):
                yield self._finding(trace, training, trouble, sizes=(size, output), place=place)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.scaled_targets(finding, source)

    def _finding(
        self,
        trace: Trace,
        training: Training,
        trouble: Trouble,
        *,
        sizes: tuple[float, float],
        place: SourceSpan | None,
    ) -> Finding:
        target, output = sizes
        evidence = [
            Evidence(
                f"targets up to {target:.3g}; the untrained network gives about {output:.2g}",
                value=target,
            )
        ]
        if trouble.excess > 1:
            evidence.append(
                Evidence(
                    f"the largest update was {trouble.excess:.3g}× the weights; with targets of about 1 it would be "
                    f"{trouble.excess / target:.2g}×",
                    value=trouble.excess,
                )
            )
        if len(training.losses) > 1:
            evidence.append(loss_curve(training))
        return Finding(
            detector=self.name,
            severity="error",
            message=f"the targets are about {target:.3g} and the network gives about {output:.2g}: {trouble.text}",
            step=0,
            rank=trace.rank,
            location=place,
            evidence=tuple(evidence),
            fixes=(
                Fix(
                    title="train on (y - y.mean()) / y.std() and scale the predictions back",
                    safety="show-only",
                ),
            ),
            births=trouble.births,
        )


def _targets_are_guilty(training: Training, trouble: Trouble, size: float) -> bool:
    """Tell whether targets of size 1 would have left the updates small; an adaptive method is too slow for them."""
    if trouble.excess > 1:
        return trouble.excess / size <= 1 and training.made.kind not in ADAPTIVE
    return (
        training.never_learnt
        and training.made.kind in ADAPTIVE
        and (training.rate or 0.0) * len(training.losses) < size
    )
