"""Divergence in a program that updates its weights by hand: no optimizer is known, only its losses and its line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from torchwhy.detect.views.nonfinite.birth_facts import certainty_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, OptimizerMade, Step
from torchwhy.record.learning import HandUpdate
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

GROWTH = 1e6  # between two losses: what no batch of a run that goes well does
STEADY = 3  # steps in a row that rose before the end; a bad batch makes one
RISE = 1.1  # a rise that is more than the noise between two batches


def diverged_by_hand(trace: Trace, births: list[Birth], detector: str) -> Iterator[Finding]:
    """Yield the line that changes the weights, if the losses before the failing births grew without end."""
    update = next(iter(trace.of(HandUpdate)), None)
    if update is None or trace.of(OptimizerMade):
        return
    losses = losses_before(trace, births[0].step)
    if not has_run_away(losses):
        return
    shown = " → ".join(
        f"{loss:.3g}" for loss in (losses if len(losses) < 6 else [*losses[:3], *losses[-2:]])
    )
    expression = update.location.expression if update.location is not None else None
    yield Finding(
        detector=detector,
        severity="error",
        message=f"the updates of `{expression or 'this line'}` are too long: the loss went {shown} → {births[0].value}",
        step=births[0].step,
        rank=trace.rank,
        location=update.location,
        evidence=(
            Evidence(
                "loss of each step before the failure", value=losses[-1], series=tuple(losses)
            ),
        ),
        certainty=certainty_of(trace, births[0]),
        fixes=(
            Fix(
                title="lower the rate of this update by a factor of 10 or more", safety="show-only"
            ),
        ),
        births=tuple(birth.id for birth in births),
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
    """Tell whether the loss grew by orders of magnitude, step by step until the end, or within the first few steps."""
    sizes = [abs(loss) for loss in losses]
    smallest = min(sizes, default=0.0)
    if len(sizes) < 2 or not smallest or sizes[-1] < GROWTH * smallest:
        return False
    rises = [after >= RISE * before for before, after in pairwise(sizes)]
    return all(rises[-STEADY:])
