"""Divergence in a program that updates its weights without an optimizer: only the losses and the line are known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, SourceSpan
from torchwhy.record.events import Birth, OptimizerMade, Step
from torchwhy.record.learning import ManualUpdate
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

GROWTH = 1e6  # Last loss over the smallest one; no batch of a healthy run causes that.
STEADY = 3  # The loss must rise this many steps in a row at the end; a bad batch makes one rise.
RISE = 1.1  # A rise beyond the noise between two batches.


class ManualDivergence(Diagnosis):
    """The losses grew without bound under updates that the program computes itself."""

    expression: str | None
    losses: list[float]
    ending: str | None
    at: SourceSpan | None
    message = "the updates of `{what}` are too long: the loss went {loss_path} → {ending}"
    advice = "lower the learning rate of this update by a factor of 10 or more"

    @property
    def what(self) -> str:
        """Return the update as the program writes it."""
        return self.expression or "this line"

    @property
    def loss_path(self) -> str:
        """Return the losses as `1 → 1e+04 → 1e+08`; of many, the first three and the last two."""
        shown = self.losses if len(self.losses) < 6 else [*self.losses[:3], *self.losses[-2:]]
        return " → ".join(f"{loss:.3g}" for loss in shown)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "loss of each step before the failure",
            value=self.losses[-1],
            series=tuple(self.losses),
        )


def find_manual_divergence(trace: Trace, birth: Birth) -> ManualDivergence | None:
    """Return the divergence of updates without an optimizer, if the losses before the birth grew without bound."""
    update = next(iter(trace.of(ManualUpdate)), None)
    if update is None or trace.of(OptimizerMade):
        return None
    losses = losses_before(trace, birth.step)
    if not has_run_away(losses):
        return None
    return ManualDivergence(
        expression=update.location.expression if update.location is not None else None,
        losses=losses,
        ending=None if birth.value is None else str(birth.value),
        at=update.location,
    )


def losses_before(trace: Trace, failing_step: int) -> list[float]:
    """Return the finite losses of the steps before the failing one."""
    found = [
        decode(step.losses[-1])
        for step in trace.of(Step)
        if step.losses and step.step < failing_step
    ]
    return [loss for loss in found if math.isfinite(loss)]


def has_run_away(losses: list[float]) -> bool:
    """Tell whether the loss grew by orders of magnitude and rose at each of the last steps."""
    sizes = [abs(loss) for loss in losses]
    smallest = min(sizes, default=0.0)
    if len(sizes) < 2 or not smallest or sizes[-1] < GROWTH * smallest:
        return False
    rises = [after >= RISE * before for before, after in pairwise(sizes)]
    return all(rises[-STEADY:])
