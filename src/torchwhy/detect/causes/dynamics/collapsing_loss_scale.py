"""The loss scale of mixed precision falls without end: every step is skipped."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ScaleChanged
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

HALVINGS = 12  # in a row, from 65536 to 16: healthy runs halve two or three times and then stay
ABSURD = 1.0  # a scale below 1 makes small gradients smaller still: it can only be a last resort


class CollapsingLossScale(Detector):
    """The GradScaler halves its scale again and again, because the gradients are never finite: no step is made.

    ## What it finds

    A loss scale that was halved a dozen times in a row, or fell below 1.

    ## Why it breaks training

    The scaler skips each step whose gradients hold inf or NaN and halves the scale, supposing that the scale was too
    high. If they are bad for another reason (a NaN of the backward pass itself) this goes on for ever: training
    looks busy and changes nothing.

    ## Broken

    The gradient of a root at zero is not finite, whatever the scale.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for step in range(60):
        x = torch.randn(32, 8)
        drift = model(x) - model(x).detach()
        loss = (drift.pow(2).sqrt() - 1).pow(2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()  # <- collapsing-loss-scale
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Repaired

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for step in range(60):
        x = torch.randn(32, 8)
        drift = model(x) - model(x).detach()
        loss = ((drift.pow(2) + 1e-3).sqrt() - 1).pow(2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Lookalike

    A scale that starts far too high comes down in a few halvings, and training begins.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, growth_interval=20)
    for step in range(60):
        x = torch.randn(32, 8)
        loss = (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Limits

    Which operation makes the gradient infinite is not said; run once without the scaler to see it.
    """

    name = "collapsing-loss-scale"
    needs = frozenset({"scale"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        changes = trace.of(ScaleChanged)
        if trace.alarms or not changes:
            return
        falling = _longest_fall(changes)
        fall = [decode(change.scale) for change in falling]
        last = decode(changes[-1].scale)
        if len(fall) <= HALVINGS and last >= ABSURD:
            return
        if last >= ABSURD and any(step.step >= falling[-1].step for step in trace.steps):
            return  # it came down, and then held: a skipped step is no step, so training goes on
        yield Finding(
            detector=self.name,
            severity="error",
            message=(
                f"the loss scale fell from {fall[0]:g} to {last:.3g}, halved {len(fall) - 1} times in "
                "a row: the gradients were "
                "never finite, so every step was skipped"
            ),
            step=changes[0].step,
            rank=trace.rank,
            location=next(
                (change.location for change in changes if change.location is not None), None
            ),
            evidence=(Evidence("loss scale", value=last, series=tuple(fall)),),
            fixes=(
                Fix(
                    title="run a step without GradScaler: torchwhy then shows which operation makes "
                    "the gradient infinite",
                    safety="show-only",
                ),
            ),
        )


def _longest_fall(changes: list[ScaleChanged]) -> list[ScaleChanged]:
    """Return the longest stretch in which each scale is lower than the one before."""
    best: list[ScaleChanged] = []
    run: list[ScaleChanged] = []
    for change in changes:
        run = [*run, change] if run and decode(change.scale) < decode(run[-1].scale) else [change]
        if len(run) >= len(best):
            best = run
    return best
