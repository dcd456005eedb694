from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics import learning_rate_too_high as divergence
from torchwhy.detect.checks.standing_questions import SIZES
from torchwhy.detect.fixes.training import initial
from torchwhy.detect.views.training.network_facts import SQUASHERS, activations, input_growth
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import FLAT, Trouble, find_trouble, first_input
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix
from torchwhy.record.learning import ModelOutput
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

LARGE = 20.0  # RMS of an input; initialisations and usual learning rates assume about 1.


class InputsTooLarge(Diagnosis):
    """The inputs are far larger than 1, and their size accounts for how training failed."""

    path: str
    size: float
    minimum: float | None
    maximum: float | None
    excess: float
    harm: Diagnosis
    message = "the inputs of {path} are about {size:.3g} instead of about 1: {harm}"
    advice = "scale each feature once: x = (x - x.mean(dim=0)) / x.std(dim=0), with mean and std of the training set"

    @property
    def reach(self) -> str:
        """Return `from 0 to 255, `, or nothing if the range is unknown."""
        if self.minimum is None:
            return ""
        return f"from {self.minimum:g} to {self.maximum:g}, "

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"input of {self.path}: {self.reach}RMS {self.size:.3g}",
            value=self.size,
        )
        if self.excess:
            yield Evidence(
                f"the updates were {self.excess:.3g}× too long; dividing the inputs by {self.size:.3g} would make them "
                f"{self.size**2:.2g}× shorter",
                value=self.excess,
            )


class InputsGrew(Diagnosis):
    """The inputs became many times larger during the run, which then failed."""

    path: str
    before: float
    first_step: int
    after: float
    last_step: int
    harm: Diagnosis
    message = (
        "the inputs of {path} were about {before:.3g} at step {first_step} and {after:.3g} at step "
        "{last_step}: {harm}"
    )
    advice = "normalise the inputs where they enter the model, or find why their scale changes"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"RMS of the inputs: {self.before:.3g}, then {self.after:.3g}; the stable learning rate "
            f"falls with its square, {(self.after / self.before) ** 2:.2g}×",
            value=self.after / self.before,
            step=self.last_step,
        )


class FirstLayerSaturated(Diagnosis):
    """The first sigmoid or tanh layer is saturated before any training."""

    share: float
    op: str
    message = "{share:.1%} of the first {op} layer is saturated before any training"


class UnscaledInputs(Detector):
    """The inputs are in the hundreds or thousands, and training fails because of their size."""

    name = "unscaled-inputs"
    question = SIZES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        call, grown = first_input(trace), input_growth(trace)
        if grown is not None and divergence.weights_diverged(trace):
            yield from self._grown(trace, *grown)
            return
        if call is None or decode(call.given_rms) < LARGE:
            return
        for training in trainings(trace):
            trouble = find_trouble(trace, training)
            if trouble is None and not trace.alarms:
                trouble = _saturation(trace)
            if trouble is not None and _explains(trace, trouble):
                yield self._finding(trace, training, call, trouble)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.scaled_inputs(finding.location, source)

    def _grown(self, trace: Trace, first: ModelOutput, last: ModelOutput) -> Iterator[Finding]:
        """Yield the finding that the inputs grew during training and the run failed."""
        for training in trainings(trace):
            trouble = find_trouble(trace, training)
            if trouble is None:
                continue
            diagnosis = InputsGrew(
                path=first.path,
                before=decode(first.given_rms),
                first_step=first.step,
                after=decode(last.given_rms),
                last_step=last.step,
                harm=trouble.harm,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="error",
                step=last.step,
                location=last.location,
                evidence=[loss_curve(training)] if len(training.losses) > 1 else [],
                births=trouble.births,
            )
            return

    def _finding(
        self, trace: Trace, training: Training, call: ModelOutput, trouble: Trouble
    ) -> Finding:
        given = call.given
        diagnosis = InputsTooLarge(
            path=call.path,
            size=decode(call.given_rms),
            minimum=given.minimum if given is not None else None,
            maximum=given.maximum if given is not None else None,
            excess=_excess(trouble),
            harm=trouble.harm,
        )
        # The curvature of the loss, and with it the excess, grows with the square of the inputs.
        account = Account(diagnosis.excess, diagnosis.size**2) if diagnosis.excess else None
        return self.found(
            trace,
            diagnosis,
            severity="warning" if trouble.is_mild else "error",
            step=training.first_step,
            location=call.location,
            evidence=[loss_curve(training)] if len(training.losses) > 1 else [],
            births=trouble.births,
            account=account,
        )


def _saturation(trace: Trace) -> Trouble | None:
    """Return the trouble if the first layer passes on only signs, in a run that learns all the same."""
    if not _is_flat(trace):
        return None
    squashers = activations(trace, 0, SQUASHERS)
    harm = FirstLayerSaturated(share=squashers[0].saturated, op=squashers[0].op)
    return Trouble(0, harm, is_mild=True)


def _explains(trace: Trace, trouble: Trouble) -> bool:
    """Tell whether large inputs explain the harm: too long updates, or a saturated first layer."""
    excess = _excess(trouble)
    return excess > 1 if excess else _is_flat(trace)


def _excess(trouble: Trouble) -> float:
    """Return how many times too long the updates were, by the growth of the losses or else by the first update."""
    return trouble.growth or trouble.excess


def _is_flat(trace: Trace) -> bool:
    """Tell whether the first sigmoid or tanh layer passes on only signs."""
    squashers = activations(trace, 0, SQUASHERS)
    return bool(squashers) and squashers[0].saturated >= FLAT
