from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics import learning_rate_too_high as divergence
from torchwhy.detect.fixes.training import initial
from torchwhy.detect.views.training.looks import SQUASHERS, activations, input_growth
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import FLAT, Trouble, find_trouble, first_input
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import ModelOutput
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

LARGE = 20.0  # root mean square of an input; initialisations and usual rates are made for about 1


class UnscaledInputs(Detector):
    """The inputs are numbers in the hundreds or thousands, and training fails because of their size."""

    name = "unscaled-inputs"
    needs = frozenset({"output", "loss", "curvature", "birth"})

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
            if trouble is not None and _inputs_are_guilty(trace, trouble, decode(call.given_rms)):
                yield self._finding(trace, training, call, trouble)
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from initial.scaled_inputs(finding, source)

    def _grown(self, trace: Trace, first: ModelOutput, last: ModelOutput) -> Iterator[Finding]:
        """Yield that the inputs did not stay what they were when training began, and that the run ended by it."""
        for training in trainings(trace):
            trouble = find_trouble(trace, training)
            if trouble is None:
                continue
            before, after = decode(first.given_rms), decode(last.given_rms)
            yield Finding(
                detector=self.name,
                severity="error",
                message=(
                    f"the inputs of {first.path} were about {before:.3g} at step {first.step} and {after:.3g} at step "
                    f"{last.step}: {trouble.text}"
                ),
                step=last.step,
                rank=trace.rank,
                location=last.location,
                evidence=(
                    Evidence(
                        f"root mean square of the inputs: {before:.3g}, then {after:.3g}; the rate that is stable "
                        f"falls with its square, {(after / before) ** 2:.2g}×",
                        value=after / before,
                        step=last.step,
                    ),
                    *([loss_curve(training)] if len(training.losses) > 1 else []),
                ),
                fixes=(
                    Fix(
                        title="normalise the inputs where they come in, or find why their scale changes",
                        safety="show-only",
                    ),
                ),
                births=trouble.births,
            )
            return

    def _finding(
        self, trace: Trace, training: Training, call: ModelOutput, trouble: Trouble
    ) -> Finding:
        size = decode(call.given_rms)
        given = call.given
        reach = (
            f"from {given.minimum:g} to {given.maximum:g}, "
            if given and given.minimum is not None
            else ""
        )
        evidence = [
            Evidence(
                f"input of {call.path}: {reach}root mean square {size:.3g}",
                value=size,
                step=0,
            )
        ]
        excess = trouble.growth or trouble.excess
        if excess:
            evidence.append(
                Evidence(
                    f"the updates were {excess:.3g}× too long; with inputs divided by {size:.3g} they would be "
                    f"{size**2:.2g}× shorter",
                    value=excess,
                )
            )
        if len(training.losses) > 1:
            evidence.append(loss_curve(training))
        return Finding(
            detector=self.name,
            severity="warning" if trouble.is_mild else "error",
            message=f"the inputs of {call.path} are about {size:.3g}, not about 1: {trouble.text}",
            step=0,
            rank=trace.rank,
            location=call.location,
            evidence=tuple(evidence),
            fixes=(
                Fix(
                    title="scale each feature once: x = (x - x.mean(dim=0)) / x.std(dim=0), with the "
                    "numbers of the training set",
                    safety="show-only",
                ),
            ),
            births=trouble.births,
        )


def _saturation(trace: Trace) -> Trouble | None:
    """Return the trouble of a first layer that passes on only signs, in a run that learns in spite of it."""
    squashers = activations(trace, 0, SQUASHERS)
    if not squashers or squashers[0].saturated < FLAT:
        return None
    share = f"{squashers[0].saturated:.1%} of the first {squashers[0].op} layer is saturated before any training"
    return Trouble(0, share, is_mild=True)


def _inputs_are_guilty(trace: Trace, trouble: Trouble, size: float) -> bool:
    """Tell whether inputs of size 1 would have left the updates within bounds, or the activations unsaturated."""
    excess = trouble.growth or trouble.excess
    if excess:
        return excess > 1 and excess / size**2 <= 1
    squashers = activations(trace, 0, SQUASHERS)
    return bool(squashers) and squashers[0].saturated >= FLAT
