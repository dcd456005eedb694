from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.nonfinite.birth_facts import show
from torchwhy.detect.views.training.looks import Measured, curvatures
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.sweeps import judged_among
from torchwhy.detect.views.training.training import ADAPTIVE, Training, trainings
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ScaleChanged
from torchwhy.record.learning import CallSeen, StepCalls
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

HARDLY = 1e-3  # share of their own size that the weights went in the whole run: no layer can learn within that
FAR_BELOW = 1e-3  # rate over stable rate; sensible rates lie between 0.01 and 1 of it
FAR_BELOW_A_PART = 1e-4  # the same along a part of the weights, which is less curved than the whole
SHORTENED = 0.01  # share of the gradient that a clipping leaves; against explosions it cuts single steps, not all
WORTH_IT = 1e-4  # share of the loss that one step at the stable rate would take off: at a minimum it is below 1e-8


class LearningRateTooLow(Detector):
    """The learning rate is so low that the weights hardly move in the whole run, though the loss has a slope."""

    name = "learning-rate-too-low"
    needs = frozenset({"loss", "weights", "curvature", "calls"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for training in trainings(trace):
            if not training.never_learnt or not training.rate or training.moved() > HARDLY:
                continue
            if training.rates[-1][1] > training.rates[0][1]:
                continue
            measured = next(iter(curvatures(trace, training, in_part=True)), None)
            if measured is None or not measured.possible > WORTH_IT:
                continue
            if measured.ratio < (FAR_BELOW_A_PART if measured.partial else FAR_BELOW):
                clip = _shortened_by(trace, measured)
                found = (
                    self._finding(trace, training, measured)
                    if clip is None
                    else self._clipped(trace, training, measured, clip=clip)
                )
                yield judged_among(found, training, trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        clips = tuple(optimizers.looser_clip(finding, source))
        yield from clips or optimizers.raise_rate(finding, source)

    def _clipped(
        self, trace: Trace, training: Training, measured: Measured, *, clip: CallSeen
    ) -> Finding:
        rate, moved = show(training.rate), training.moved()
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"{clip.target} leaves {measured.arrived:.1g} of the gradient: in {len(training.losses)} steps the "
                f"weights moved by {moved:.1g} of their size, and the loss stayed at {training.values[-1]:.4g}"
            ),
            step=0,
            rank=trace.rank,
            location=clip.location,
            evidence=(
                Evidence(
                    f"lr={rate} itself is no lower than usual: with the whole gradient, rates up to "
                    f"{measured.stable_rate * measured.arrived:.2g} are stable",
                    value=measured.arrived,
                    step=measured.step,
                ),
                loss_curve(training),
            ),
            fixes=(Fix(title="clip at a norm near 1, or not at all", safety="show-only"),),
        )

    def _finding(self, trace: Trace, training: Training, measured: Measured) -> Finding:
        rate, moved = show(training.rate), training.moved()
        # Measured was the first group, whose rate may be 0.
        ratio = measured.ratio or (training.rate or 0.0) / measured.stable_rate
        where = "for the last layers" if measured.partial else "here"
        sensible = "1e-3" if training.made.kind in ADAPTIVE else f"{measured.stable_rate / 10:.1g}"
        return Finding(
            detector=self.name,
            severity="error",
            message=(
                f"lr={rate} is too low for this {training.made.kind}: in {len(training.losses)} steps "
                "the weights moved by "
                f"{moved:.1g} of their size, and the loss stayed at {training.values[-1]:.4g}"
            ),
            step=0,
            rank=trace.rank,
            location=training.made.location,
            evidence=(
                Evidence(
                    f"rates up to {measured.stable_rate:.2g} are stable {where}; lr={rate} is "
                    f"{ratio:.1g} of that",
                    value=ratio,
                    step=measured.step,
                ),
                Evidence(
                    f"one step at the best stable rate would lower the loss by about {measured.possible:.2g} of itself",
                    value=measured.possible,
                    step=measured.step,
                ),
                loss_curve(training),
            ),
            fixes=(Fix(title=f"raise lr={rate}, for instance to {sensible}", safety="show-only"),),
        )


def _shortened_by(trace: Trace, measured: Measured) -> CallSeen | None:
    """Return the clipping that made the steps short, if the rate would do for the gradient as it was.

    Under a GradScaler the gradient is divided by the loss scale on its way, too.
    """
    if measured.arrived > SHORTENED or measured.ratio < FAR_BELOW * measured.arrived:
        return None
    if any(True for _ in trace.of(ScaleChanged)):
        return None
    calls = (call for event in trace.of(StepCalls) for call in event.calls)
    return next((call for call in calls if call.name == "clip"), None)
