from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SIZES
from torchwhy.detect.fixes.training import initial
from torchwhy.detect.views.training.network_facts import training_outputs
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import ADAPTIVE, Training, trainings
from torchwhy.detect.views.training.troubles import Trouble, find_trouble, target_scale
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix, SourceSpan
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

LARGE = 100.0  # An untrained network returns outputs of about 1 or less.
AWAY = 30.0  # The targets must also be this many times the output.


class TargetsTooLarge(Diagnosis):
    """The targets are far larger than the untrained network's output, and training failed."""

    target: float
    output: float
    excess: float
    harm: Diagnosis
    message = (
        "the targets are about {target:.3g}, but the network starts at about {output:.2g}: {harm}"
    )
    advice = "train on (y - y.mean()) / y.std() and scale the predictions back"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"targets up to {self.target:.3g}; the untrained network returns about {self.output:.2g}",
            value=self.target,
        )
        if self.excess > 1:
            yield Evidence(
                f"the largest update was {self.excess:.3g}× the weights; with targets of about 1 it would be "
                f"{self.excess / self.target:.2g}×",
                value=self.excess,
            )


class UnscaledTargets(Detector):
    """The targets of a regression are in the hundreds or more, and training fails because of their size."""

    name = "unscaled-targets"
    question = SIZES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        size, place = target_scale(trace)
        outputs = training_outputs(trace, 0)
        output = decode(outputs[-1].rms) if outputs else 1.0
        if size < LARGE or size < AWAY * output:
            return
        for training in trainings(trace):
            trouble = find_trouble(trace, training)
            if trouble is not None and (trouble.excess > 1 or _is_too_slow(training, size)):
                yield self._finding(trace, training, trouble, sizes=(size, output), place=place)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.scaled_targets(finding.location, source)

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
        return self.found(
            trace,
            TargetsTooLarge(target=target, output=output, excess=trouble.excess, harm=trouble.harm),
            severity="error",
            step=training.first_step,
            location=place,
            evidence=[loss_curve(training)] if len(training.losses) > 1 else [],
            births=trouble.births,
            account=_account(training, trouble, target),
        )


def _is_too_slow(training: Training, size: float) -> bool:
    """Tell whether an adaptive optimizer, which moves by about its learning rate per step, cannot reach the targets."""
    is_slow = training.never_learnt and training.made.kind in ADAPTIVE
    return is_slow and (training.rate or 0.0) * len(training.losses) < size


def _account(training: Training, trouble: Trouble, size: float) -> Account | None:
    """Return by how much the targets lengthened the updates; an adaptive optimizer's do not depend on them."""
    if trouble.excess <= 1:
        return None
    return Account(trouble.excess, 1.0 if training.made.kind in ADAPTIVE else size)
