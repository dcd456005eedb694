"""The loss does not move although it has a slope, and nothing else explains it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.candidates import judged_among, outdone_by
from torchwhy.detect.looks import Measured, curvatures
from torchwhy.detect.overshoot import loss_curve
from torchwhy.detect.training import (
    ERRORS,
    SAME,
    THROWN_UP,
    Training,
    is_lower,
    ranks_lower,
    trainings,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import LossRoot
from torchwhy.record.trace import Trace

WORTH_IT = 0.05  # share of the loss that one step at the stable rate would take off
STABLE = 0.99  # rate over stable rate: a loss that jumps across its minimum at each step repeats itself, too
LONG = 100  # steps after which a noisy loss that did not fall is worth a note


class StuckLoss(Detector):
    """The loss is the same at every step although its gradient says that it could fall.

    ## What it finds

    The last resort when no other cause is found: a loss that repeats itself to the last digit for the second half
    of the run, while its slope and curvature, measured in the run, promise a lower one for the next step. A noisy
    loss that does not fall gets a note only: it may be at its floor.

    ## Why it breaks training

    Whatever the updates do, the loss does not see it: weights that are overwritten after the step, a loss of a copy
    of the model, a rate of zero.

    ## Broken

    The weights are loaded again in every epoch.

    ```python
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(128, 8)
    y = x.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    checkpoint = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(100):
        model.load_state_dict(checkpoint)
        loss = nn.functional.mse_loss(model(x), y)  # <- stuck-loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Repaired

    ```python
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(128, 8)
    y = x.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    checkpoint = copy.deepcopy(model.state_dict())
    model.load_state_dict(checkpoint)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(100):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Lookalike

    A model at its minimum: the loss repeats itself because there is nothing left to learn.

    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 3)
    y = x @ torch.tensor([[1.0], [2.0], [3.0]]) + 0.5 * torch.randn(256, 1)
    model = nn.Linear(3, 1, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.linalg.lstsq(x, y).solution.T)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(100):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Limits

    Where the curvature cannot be measured, and where every batch is another, it says nothing or gives a note.
    """

    name = "stuck-loss"
    needs = frozenset({"loss", "curvature"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        courses = list(trainings(trace))
        for training in courses:
            if not training.never_learnt:
                continue
            measured = next((m for m in curvatures(trace, training) if m.ratio < STABLE), None)
            if _repeats(training) and measured is not None and measured.possible >= WORTH_IT:
                yield judged_among(self._finding(trace, training, measured), training, trace)
            elif (
                len(training.losses) >= LONG
                and training.can_be_told
                and not _repeats(training)
                and median(training.tail) <= THROWN_UP * median(training.head)
                and not _carries_on(training, courses)
                and not _fell_before(training)
                and outdone_by(training, trace) is None
            ):
                yield self._note(trace, training)

    def _finding(self, trace: Trace, training: Training, measured: Measured) -> Finding:
        root = next(iter(trace.of(LossRoot)), None)
        zero = " (lr is 0)" if not training.rate else ""
        return Finding(
            detector=self.name,
            severity="warning",
            message=(
                f"the loss is {training.values[-1]:.6g} at every step{zero}, though one update at the "
                "stable rate would lower it "
                f"by about {measured.possible:.0%}: the updates do not reach what the loss is computed from"
            ),
            step=training.losses[len(training.losses) // 2][0],
            rank=trace.rank,
            location=root.location if root is not None else training.made.location,
            evidence=(
                Evidence(
                    "part of the loss that one step can take off",
                    value=measured.possible,
                    step=measured.step,
                ),
                loss_curve(training),
            ),
            fixes=(
                Fix(
                    title="compare a weight before and after a step, and in the next forward: who puts it back?",
                    safety="show-only",
                ),
            ),
        )

    def _note(self, trace: Trace, training: Training) -> Finding:
        first, last = median(training.head), median(training.tail)
        half = len(training.losses) // 2
        falls_on = ranks_lower(training.tail, than=training.values[:half]) > ERRORS
        message = (
            f"the loss {'hardly fell' if last < first else 'did not fall'} in {len(training.losses)} steps: "
            f"{first:.4g} at first, {last:.4g} in the second half; "
            f"{'it still falls, but slowly' if falls_on else 'it may be at its floor'}"
        )
        if not any(training.values):
            message = f"the loss is 0 in all {len(training.losses)} steps: there is nothing to learn from it"
        return Finding(
            detector=self.name,
            severity="note",
            message=message,
            step=training.losses[len(training.losses) // 2][0],
            rank=trace.rank,
            location=training.made.location,
            evidence=(loss_curve(training),),
        )


def _carries_on(training: Training, courses: list[Training]) -> bool:
    """Tell whether it starts below where an earlier optimizer of the run started: the falling was done before."""
    return any(
        earlier.losses
        and earlier.losses[0][0] < training.losses[0][0]
        and is_lower(training.head, than=earlier.head)
        for earlier in courses
    )


def _fell_before(training: Training) -> bool:
    """Tell whether the loss did fall in the first half: what it rose by later is another story."""
    quarter = len(training.losses) // 4
    return is_lower(training.values[quarter : 2 * quarter], than=training.head)


def _repeats(training: Training) -> bool:
    """Tell whether the losses of the second half are all the same, and are not zero."""
    tail = training.tail
    return max(tail) > 0 and max(tail) - min(tail) <= SAME * max(tail)
