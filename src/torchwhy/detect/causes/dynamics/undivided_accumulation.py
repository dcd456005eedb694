from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.state.accumulation_divided import QUESTION
from torchwhy.detect.fixes.training import accumulated
from torchwhy.detect.views.graph.accumulation import (
    backward_place,
    carried_over,
    is_mean,
    is_usual,
    undivided_passes,
)
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import find_trouble
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SCALE_SENSITIVE = {"SGD", "ASGD"}  # Adam and similar optimizers divide by the size of the gradient.
SURELY = 0.5  # With updates that are too long by up to this share of the passes, the mean is well within its bound.


class SumOfPasses(Diagnosis):
    """Each step uses the sum of the gradients of several mean losses."""

    passes: int
    rate: float
    optimizer: str
    made_at: SourceSpan | None
    message = (
        "each step uses the sum of {passes} mean losses, not their mean: "
        "lr={rate:g} acts like {acts_like:g}"
    )

    @property
    def acts_like(self) -> float:
        """Return the learning rate that would do the same with the mean."""
        return self.rate * self.passes

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return what makes it the mean."""
        return (f"divide the loss by {self.passes} before `backward()`",)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.passes} backward passes of one statement come before each step, "
            "and nothing divides their loss",
            value=float(self.passes),
        )
        claim = f"{self.optimizer} makes steps proportional to the gradient"
        yield Evidence(claim, location=self.made_at)


class PassesTooLong(SumOfPasses):
    """Training failed because of updates that would be short enough with the mean of the passes."""

    harm: Diagnosis
    excess: float
    message = "each step uses the sum of {passes} mean losses, not their mean: {harm}"

    def evidence(self) -> Iterator[Evidence]:
        yield from super().evidence()
        yield Evidence(
            f"the updates were {self.excess:.3g}× too long; with the mean they are {self.passes}× shorter",
            value=self.excess,
        )


class RestCarriedOver(Diagnosis):
    """The last, incomplete group of an epoch adds to the first group of the next one."""

    usual: int
    passes: int
    steps: list[int]
    message = (
        "the last incomplete group of an epoch is not applied: its gradients add to the next step, "
        "which has {passes} backward passes instead of {usual}"
    )
    advice = "step at the end of each epoch as well, or use `drop_last` and clear the gradients"

    def evidence(self) -> Iterator[Evidence]:
        shown = ", ".join(map(str, self.steps[:4]))
        yield Evidence(f"so it is at steps {shown}", step=self.steps[0])


class UndividedAccumulation(Detector):
    """The gradients of several backward passes add up before a step, and the loss is not divided by their number."""

    name = "undivided-accumulation"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            passes = undivided_passes(trace, training.made.index)
            if passes > 1 and training.made.kind in SCALE_SENSITIVE and is_mean(trace):
                found = self._finding(trace, training, passes)
                if found.severity != "note" or is_usual(trace, passes):
                    yield found
        rest = carried_over(trace)
        if rest is not None:
            usual, count, steps = rest
            yield self.found(
                trace,
                RestCarriedOver(usual=usual, passes=count, steps=steps),
                severity="note",
                step=steps[0],
                location=backward_place(trace),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case PassesTooLong(passes=passes):  # A sum with which training works needs no fix.
                yield from accumulated.divided(finding.location, source, passes=passes)

    def _finding(self, trace: Trace, training: Training, passes: int) -> Finding:
        place = backward_place(trace)
        plain = SumOfPasses(
            passes=passes,
            rate=training.rate or 0.0,
            optimizer=training.made.kind,
            made_at=training.made.location,
        )
        step = training.first_step
        note = self.found(trace, plain, severity="note", step=step, location=place)
        trouble = find_trouble(trace, training)
        excess = _excess(training.values)
        if trouble is None or excess <= 1:
            return note
        failed = PassesTooLong(**vars(plain), harm=trouble.harm, excess=excess)
        return self.found(
            trace,
            failed,
            severity="error",
            step=step,
            location=place,
            account=Account(excess, SURELY * passes, otherwise=note),
        )


def _excess(losses: list[float]) -> float:
    """Return how many times too long the updates were, by the growth of the losses; 0 if they do not grow.

    On a quadratic, a step is |1 - lr · curvature| times as long as the one before, and the loss its square.
    """
    ratios = [after / before for before, after in pairwise(losses) if before > 0 and after > 0]
    growth = median(ratios) if ratios else 0.0
    return (1 + math.sqrt(growth)) / 2 if growth > 1 else 0.0
