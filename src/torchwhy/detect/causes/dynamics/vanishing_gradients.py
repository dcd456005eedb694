from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LAYERS
from torchwhy.detect.fixes.models import activations as layers
from torchwhy.detect.views.training.network_facts import (
    SQUASHERS,
    activations,
    constant_output,
    last_observed_step,
    weight_names,
)
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import Weights
from torchwhy.record.learning import Activation
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

VANISHED = (
    1e-4  # Gradient of the first weight over that of the last; networks that learn stay above 1e-3.
)
EARLY = (
    5  # After more steps the last layer has settled on a constant, and its gradient is small, too.
)
FEWEST_LAYERS = 4  # With fewer layers there is no product of many slopes.


class GradientFades(Diagnosis):
    """The gradient of the first weight is a tiny fraction of that of the last."""

    first: str
    last: str
    ratio: float
    gradients: list[float]
    squashers: int
    squasher: str
    message = "the gradient of {first} is {ratio:.1g} of that of {last}, so the first layers do not learn{between}"
    advice = "use {instead}, skip connections, or a normalisation per layer"

    @property
    def instead(self) -> str:
        """Return the activation to use in place of those that flatten, or else the initial weights to use."""
        if self.squashers:
            return "relu or gelu instead of sigmoid and tanh"
        return "kaiming_normal_ for the initial weights"

    @property
    def between(self) -> str:
        """Return how many sigmoid or tanh activations lie between the first and the last weight."""
        if not self.squashers:
            return ""
        return f"; {self.squashers} {self.squasher} activations lie between them"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "RMS gradient of each weight, from the first layer to the last",
            series=tuple(self.gradients),
        )
        for name, size in ((self.first, self.gradients[0]), (self.last, self.gradients[-1])):
            yield Evidence(f"gradient of {name}: {size:.2g}", value=size)


class VanishingGradients(Detector):
    """The gradient shrinks on its way back through the layers until almost none reaches the first ones."""

    name = "vanishing-gradients"
    question = LAYERS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for training in trainings(trace):
            names = weight_names(training)
            if (
                len(names) < FEWEST_LAYERS
                or not training.samples
                or not _does_not_learn(trace, training)
            ):
                continue
            early = sorted(training.samples[:EARLY], key=lambda sample: _ratio(sample, names))
            middle = early[(len(early) - 1) // 2]
            if 0 < _ratio(middle, names) < VANISHED:
                yield self._finding(trace, training, names, middle)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from layers.rectified(finding.location, source)

    def _finding(
        self, trace: Trace, training: Training, names: list[str], middle: Weights
    ) -> Finding:
        squashers = activations(trace, 0, SQUASHERS)
        diagnosis = GradientFades(
            first=names[0],
            last=names[-1],
            ratio=_ratio(middle, names),
            gradients=_gradients(middle, names),
            squashers=len(squashers),
            squasher=squashers[0].op if squashers else "",
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=training.first_step,
            location=_place(trace, squashers) or training.made.location,
            evidence=[loss_curve(training)],
        )


def _does_not_learn(trace: Trace, training: Training) -> bool:
    step = last_observed_step(trace)
    collapsed = step is not None and constant_output(trace, step) is not None
    return training.never_learnt or (training.plateaued and collapsed)


def _gradients(sample: Weights, names: list[str]) -> list[float]:
    known = dict(zip(sample.names, map(decode, sample.gradient_rms), strict=True))
    return [known[name] for name in names if name in known]


def _ratio(sample: Weights, names: list[str]) -> float:
    sizes = _gradients(sample, names)
    return sizes[0] / sizes[-1] if len(sizes) >= FEWEST_LAYERS and sizes[-1] else 1.0


def _place(trace: Trace, squashers: list[Activation]) -> SourceSpan | None:
    """Return where the first sigmoid or tanh activation is, or else the first activation of any kind."""
    seen = squashers or [a for a in trace.of(Activation) if a.step == 0]
    layers = {a.module for a in seen[:1]}
    later = [a for a in trace.of(Activation) if a.made_at is not None and a.module in layers]
    seen = later or seen
    return next((a.place for a in seen if a.place is not None), None)
